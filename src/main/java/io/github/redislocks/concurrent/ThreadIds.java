package io.github.redislocks.concurrent;

import java.lang.reflect.Method;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * Thread numbers that are unique in a JVM. Since JDK 19 {@code Thread.threadId()} is such a number. Older JDKs have
 * only {@code getId()}, which a class can override; a thread of such a class gets a negative number from
 * {@code ThreadIds}.
 */
public final class ThreadIds {

    private static final @Nullable Method THREAD_ID = methodOfThreads("threadId");
    private static final AtomicLong NEXT = new AtomicLong();
    private static final ThreadLocal<Long> OWN = ThreadLocal.withInitial(NEXT::decrementAndGet);

    private ThreadIds() {}

    /**
     * Whether a class overrides {@code getId()}. Not cached, since each thread asks only once, and a {@link ClassValue}
     * may break when the stack overflows.
     */
    private static boolean isOverridden(Class<?> type) {
        try {
            return type.getMethod("getId").getDeclaringClass() != Thread.class;
        } catch (NoSuchMethodException e) {
            return true;
        }
    }

    /** A method of {@link Thread} without parameters; null if this JDK does not have it. */
    static @Nullable Method methodOfThreads(String name) {
        try {
            return Thread.class.getMethod(name);
        } catch (NoSuchMethodException olderJdk) {
            return null;
        }
    }

    /** Calls a method of a thread. */
    static Object call(Method method, Thread thread) {
        try {
            return method.invoke(thread);
        } catch (ReflectiveOperationException e) {
            // The method itself throws nothing; only a StackOverflowError is possible, which is thrown on.
            Steps.rethrow(e.getCause());
            throw new IllegalStateException(e);
        }
    }

    /** The number of the calling thread. */
    public static long current() {
        Thread thread = Thread.currentThread();
        if (THREAD_ID != null) {
            return (long) call(THREAD_ID, thread);
        }
        return isOverridden(thread.getClass()) ? OWN.get() : thread.getId();
    }
}
