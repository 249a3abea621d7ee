package io.github.redislocks.simulation.agent;

import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.lang.instrument.UnmodifiableClassException;
import java.security.ProtectionDomain;
import java.util.Set;

/**
 * Rewrites the library, and the JDK's classes that wait with a time limit, when they are loaded. The rewritten classes
 * read the simulated clock, and the library can be preempted where threads meet.
 */
public final class Agent {

    private static final Set<String> JDK = Set.of(
            "java/util/concurrent/locks/AbstractQueuedSynchronizer",
            "java/util/concurrent/locks/AbstractQueuedSynchronizer$ConditionObject",
            "java/util/concurrent/locks/AbstractQueuedLongSynchronizer",
            "java/util/concurrent/CompletableFuture",
            "java/util/concurrent/CompletableFuture$Signaller",
            "java/util/concurrent/FutureTask",
            "java/util/concurrent/LinkedTransferQueue",
            "java/util/concurrent/SynchronousQueue",
            "java/util/concurrent/TimeUnit");

    private Agent() {}

    public static void premain(String args, Instrumentation instrumentation)
            throws ClassNotFoundException, UnmodifiableClassException {
        // Load the classes of the rewriting now: they must not be loaded during a rewriting.
        Rewriting.warmUp();
        instrumentation.addTransformer(new Transformer(), true);
        for (String name : JDK) {
            instrumentation.retransformClasses(Class.forName(name.replace('/', '.'), false, null));
        }
    }

    private static final class Transformer implements ClassFileTransformer {

        @Override
        public byte[] transform(
                Module module,
                ClassLoader loader,
                String name,
                Class<?> redefined,
                ProtectionDomain domain,
                byte[] bytes) {
            boolean library = name != null && Rewriting.isLibrary(name);
            if (!library && (name == null || !JDK.contains(name))) {
                return null;
            }
            try {
                return Rewriting.rewrite(name, library, bytes);
            } catch (Throwable e) {
                // End the JVM: otherwise it would ignore the error, and the class would read the real clock.
                System.err.println("The agent could not rewrite " + name);
                e.printStackTrace();
                Runtime.getRuntime().halt(70);
                return null;
            }
        }
    }
}
