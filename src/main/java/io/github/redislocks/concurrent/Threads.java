package io.github.redislocks.concurrent;

import java.security.AccessController;
import java.security.PrivilegedAction;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadFactory;
import org.jspecify.annotations.Nullable;

/**
 * The threads of the library: how they are made, and how they are waited for.
 *
 * <p>A thread takes much over from the thread that makes it, and that is any thread of the application which happens to
 * be the first to need it. Nothing of the kind is wanted here: values of {@link InheritableThreadLocal}, the context
 * class loader and the protection domains would keep an undeployed application in memory, the priority might be too low
 * to hear of a grant in time, and the thread group might be destroyed.
 */
public final class Threads {

    /** Daemons of the library's own making, named by their role alone. */
    public static final Threads DAEMONS = new Threads(null, "");

    private final @Nullable ThreadFactory factory;
    private final String client;

    private Threads(@Nullable ThreadFactory factory, String client) {
        this.factory = factory;
        this.client = client;
    }

    /**
     * The threads of one client.
     *
     * @param factory what the user wants them to be made by, or null
     * @param client stands at the end of their names
     */
    public static Threads of(@Nullable ThreadFactory factory, String client) {
        return new Threads(factory, "-" + client);
    }

    /**
     * A thread for a role, such as {@code watchdog}, that is not started.
     *
     * @throws IllegalStateException if the user's factory makes none, or a virtual one
     */
    public Thread make(String role, Runnable work) {
        String name = "redis-locks-" + role + client;
        if (factory == null) {
            return daemon(name, work);
        }
        Thread thread = factory.newThread(work);
        if (thread == null || VirtualThreads.isVirtual(thread)) {
            throw new IllegalStateException("The threadFactory of the builder made "
                    + (thread == null ? "no thread" : "a virtual thread") + " for " + name
                    + ": it must make platform threads, since an interrupt closes the socket that a virtual one uses.");
        }
        thread.setName(name);
        return thread;
    }

    /** Makes threads for a role, all with its name. */
    public ThreadFactory factory(String role) {
        return work -> make(role, work);
    }

    /** A daemon thread of normal priority, not started, that takes nothing over from the calling thread. */
    // Until the JDK has no security manager, a thread keeps the classes that made it; and the priority only undoes
    // another.
    @SuppressWarnings({"removal", "ThreadPriorityCheck"})
    public static Thread daemon(String name, Runnable work) {
        ThreadGroup group = rootGroup();
        PrivilegedAction<Thread> make = () -> new Thread(group, work, name, 0, false);
        Thread thread = AccessController.doPrivileged(make);
        thread.setDaemon(true);
        thread.setPriority(Thread.NORM_PRIORITY);
        thread.setContextClassLoader(Threads.class.getClassLoader());
        return thread;
    }

    /** Makes threads as {@link #daemon} does, all of this name. */
    public static ThreadFactory daemons(String name) {
        return work -> daemon(name, work);
    }

    private static ThreadGroup rootGroup() {
        ThreadGroup group = Thread.currentThread().getThreadGroup();
        while (group.getParent() != null) {
            group = group.getParent();
        }
        return group;
    }

    /** Waits for threads to end, for a time each; an interrupt ends the wait and is kept. */
    public static void join(List<Thread> threads, @Nullable Thread one, Duration limit) {
        List<Thread> all = new ArrayList<>(threads);
        if (one != null) {
            all.add(one);
        }
        try {
            for (Thread thread : all) {
                if (thread != Thread.currentThread()) {
                    thread.join(limit.toMillis());
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
