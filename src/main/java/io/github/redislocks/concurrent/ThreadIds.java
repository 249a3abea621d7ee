package io.github.redislocks.concurrent;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * Thread numbers that are unique in a JVM. Since JDK 19 {@code Thread.threadId()} is such a number. Before,
 * {@code getId()} can be overridden; a thread whose class overrides it gets a negative number from this class.
 */
public final class ThreadIds {

    private static final @Nullable MethodHandle THREAD_ID = threadId();
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

    private static @Nullable MethodHandle threadId() {
        try {
            return MethodHandles.publicLookup()
                    .findVirtual(Thread.class, "threadId", MethodType.methodType(long.class));
        } catch (ReflectiveOperationException olderJdk) {
            return null;
        }
    }

    /** The number of the calling thread. */
    public static long current() {
        Thread thread = Thread.currentThread();
        if (THREAD_ID == null) {
            return isOverridden(thread.getClass()) ? OWN.get() : thread.getId();
        }
        try {
            return (long) THREAD_ID.invokeExact(thread);
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }
}
