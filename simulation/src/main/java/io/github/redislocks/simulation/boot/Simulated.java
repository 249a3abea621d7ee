package io.github.redislocks.simulation.boot;

import java.security.SecureRandom;

/**
 * The methods that rewritten classes call instead of the JDK. On the boot class path, since classes of the JDK call
 * them too. All schedules of a JVM run on one carrier thread, so its fields are plain.
 */
public final class Simulated {

    /** The world that is running. */
    public interface World {

        /** The monotonic time of the running client. */
        long nanoTime();

        long currentTimeMillis();

        /** The next number of the seeded random source. */
        long random();

        /** A place at which the running thread may be preempted; the number says in which class. */
        void point(int place);

        /** The running thread lets others go first. */
        void giveWay();
    }

    private static World world;
    private static Thread carrier;
    /** Whether a simulated thread runs now, and not the scheduler. */
    private static boolean running;
    /** How many monitors of the JDK, which a preempted thread must not hold, the running thread is in. */
    private static int masked;

    private Simulated() {}

    /** Begins a world, whose threads the calling thread carries. */
    public static void begin(World next) {
        carrier = Thread.currentThread();
        masked = 0;
        world = next;
    }

    public static void end() {
        world = null;
    }

    /** The scheduler lets a thread run, or has control again. */
    public static void running(boolean value) {
        running = value;
        masked = 0;
    }

    private static boolean isSimulated() {
        Thread thread = Thread.currentThread();
        return world != null && (thread == carrier || thread.isVirtual());
    }

    public static boolean isPreemptible() {
        return running && masked == 0 && world != null && Thread.currentThread().isVirtual();
    }

    // Called by rewritten code

    public static long nanoTime() {
        return isSimulated() ? world.nanoTime() : System.nanoTime();
    }

    public static long currentTimeMillis() {
        return isSimulated() ? world.currentTimeMillis() : System.currentTimeMillis();
    }

    public static void point(int place) {
        if (isPreemptible()) {
            world.point(place);
        }
    }

    public static void mask() {
        masked++;
    }

    public static void unmask() {
        masked--;
    }

    public static void spin() {
        if (isPreemptible()) {
            world.giveWay();
        } else {
            Thread.onSpinWait();
        }
    }

    /** All simulated threads are virtual; the library must take them for platform threads. */
    public static boolean isVirtual(Thread thread) {
        return false;
    }

    public static long nextLong(SecureRandom random) {
        return isSimulated() ? world.random() : random.nextLong();
    }

    public static long pid(ProcessHandle process) {
        return isSimulated() ? 4711 : process.pid();
    }
}
