package io.github.redislocks.concurrent;

import java.security.AccessController;
import java.security.PrivilegedAction;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadFactory;
import org.jspecify.annotations.Nullable;

/**
 * Makes the threads of the library, and joins them.
 *
 * <p>A new thread inherits much from the thread of the application that makes it. The library's threads must inherit
 * nothing: values of {@link InheritableThreadLocal}, the context class loader and the protection domains would keep an
 * undeployed application in memory, the priority might be too low to receive a grant in time, and the thread group
 * might be destroyed.
 */
public final class Threads {

    /** Makes daemon threads without a user's factory, named by their role alone. */
    public static final Threads DAEMONS = new Threads(null, "");

    private final @Nullable ThreadFactory factory;
    private final String client;

    private Threads(@Nullable ThreadFactory factory, String client) {
        this.factory = factory;
        this.client = client;
    }

    /**
     * Makes the threads of one client.
     *
     * @param factory the user's factory, or null
     * @param client the last part of the threads' names
     */
    public static Threads of(@Nullable ThreadFactory factory, String client) {
        return new Threads(factory, "-" + client);
    }

    /**
     * The name of a thread. For a virtual thread without a name, this is its number, such as
     * {@code VirtualThread[#22]}.
     */
    public static String name(Thread thread) {
        String name = thread.getName();
        return name.isEmpty() ? thread.toString().replaceFirst("/.*", "") : name;
    }

    /**
     * Makes a thread for a role, such as {@code watchdog}, without starting it.
     *
     * @throws IllegalStateException if the user's factory returns null or a virtual thread
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

    /** A factory of threads for a role, all with the same name. */
    public ThreadFactory factory(String role) {
        return work -> make(role, work);
    }

    /** Makes a daemon thread of normal priority that inherits nothing from the calling thread, without starting it. */
    // Make the thread by doPrivileged(): in a JDK that has a security manager, a thread keeps a reference to the
    // classes of the code that made it. The priority is set only to undo an inherited one.
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

    private static ThreadGroup rootGroup() {
        ThreadGroup group = Thread.currentThread().getThreadGroup();
        while (group.getParent() != null) {
            group = group.getParent();
        }
        return group;
    }

    /** Joins threads, each for {@code limit} at most. An interrupt ends the wait; its flag is set again. */
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
