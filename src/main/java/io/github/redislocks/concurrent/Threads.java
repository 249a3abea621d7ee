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

    private Threads() {}

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
    public static void join(List<Thread> threads, @Nullable Thread one, Duration patience) {
        List<Thread> all = new ArrayList<>(threads);
        if (one != null) {
            all.add(one);
        }
        try {
            for (Thread thread : all) {
                if (thread != Thread.currentThread()) {
                    thread.join(patience.toMillis());
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
