package io.github.redislocks.simulation;

import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.util.concurrent.Executor;
import java.util.concurrent.ForkJoinTask;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import jdk.internal.misc.Unsafe;

/**
 * Uses internals of JDK 25: makes virtual threads on a custom scheduler, and resets state of the JDK before each
 * schedule.
 */
final class Jdk {

    private static final Unsafe UNSAFE = Unsafe.getUnsafe();
    private static final Constructor<?> BUILDER;
    private static final AtomicLong SEEDER;
    private static final AtomicInteger PROBES;
    private static final AtomicLong RUN_IDS;
    private static final Field CONTINUATION;
    private static final Field ADAPTED;
    private static final long NEXT_THREAD_ID;

    static {
        try {
            BUILDER = Class.forName("java.lang.ThreadBuilders$VirtualThreadBuilder")
                    .getDeclaredConstructor(Executor.class);
            BUILDER.setAccessible(true);
            SEEDER = (AtomicLong) field(ThreadLocalRandom.class, "seeder").get(null);
            PROBES = (AtomicInteger)
                    field(ThreadLocalRandom.class, "probeGenerator").get(null);
            RUN_IDS = (AtomicLong) field(Class.forName("io.github.redislocks.testkit.twin.Keyspace"), "RUN_IDS")
                    .get(null);
            CONTINUATION = field(Class.forName("java.lang.VirtualThread"), "runContinuation");
            ADAPTED = field(ForkJoinTask.adapt(() -> {}).getClass(), "runnable");
            NEXT_THREAD_ID = field(Class.forName("java.lang.Thread$ThreadIdentifiers"), "NEXT_TID_OFFSET")
                    .getLong(null);
        } catch (ReflectiveOperationException e) {
            throw new LinkageError("The simulation needs JDK 25", e);
        }
    }

    private Jdk() {}

    private static Field field(Class<?> owner, String name) throws NoSuchFieldException {
        Field field = owner.getDeclaredField(name);
        field.setAccessible(true);
        return field;
    }

    /** Resets the counters that earlier schedules of this JVM have changed. */
    static void reset(Seeded random) {
        SEEDER.set(random.next());
        PROBES.set(0);
        RUN_IDS.set(0xabc000);
        UNSAFE.putLong(null, NEXT_THREAD_ID, 1_000_000L);
    }

    /** Makes a virtual thread that the given executor schedules. */
    static Thread thread(Executor scheduler, String name, Runnable work, Seeded random) {
        try {
            Thread thread = ((Thread.Builder.OfVirtual) BUILDER.newInstance(scheduler))
                    .name(name)
                    .unstarted(work);
            // Set the seeds of the thread: other threads of the JVM also draw from the JDK's own source.
            UNSAFE.putLong(thread, UNSAFE.objectFieldOffset(Thread.class, "threadLocalRandomSeed"), random.next());
            UNSAFE.putInt(
                    thread, UNSAFE.objectFieldOffset(Thread.class, "threadLocalRandomProbe"), (int) random.next() | 1);
            UNSAFE.putInt(
                    thread,
                    UNSAFE.objectFieldOffset(Thread.class, "threadLocalRandomSecondarySeed"),
                    (int) random.next() | 1);
            return thread;
        } catch (ReflectiveOperationException e) {
            throw new LinkageError("The simulation needs JDK 25", e);
        }
    }

    /** The task by which the scheduler continues a virtual thread. */
    static Object continuation(Thread thread) {
        return get(CONTINUATION, thread);
    }

    /** The task from which the given task was made. */
    static Object continuation(ForkJoinTask<?> task) {
        return ADAPTED.getDeclaringClass().isInstance(task) ? get(ADAPTED, task) : task;
    }

    private static Object get(Field field, Object of) {
        try {
            return field.get(of);
        } catch (IllegalAccessException e) {
            throw new LinkageError("The simulation needs JDK 25", e);
        }
    }
}
