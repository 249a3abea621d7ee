package io.github.redislocks.simulation.boot;

import java.security.SecureRandom;

/**
 * The methods that rewritten classes call instead of those of the JDK. This class is on the boot class path, since
 * classes of the JDK call it, too. All schedules of a JVM run on one carrier thread, so the fields are plain.
 */
public final class Simulated {

    /** The schedule that is running. */
    public interface World {

        /** The monotonic time of the running client. */
        long nanoTime();

        long currentTimeMillis();

        /** The next number of the seeded random source. */
        long random();

        /**
         * A point at which the running thread may be preempted.
         *
         * @param place the number of the class
         */
        void point(int place);

        /** Lets other threads run before the running thread. */
        void giveWay();
    }

    private static World world;
    private static Thread carrier;
    /** Whether a simulated thread is running, and not the scheduler. */
    private static boolean running;
    /** How many monitors of the JDK the running thread holds. A preempted thread must not hold one. */
    private static int masked;

    private Simulated() {}

    /** Begins a schedule. The calling thread is the carrier of its threads. */
    public static void begin(World next) {
        carrier = Thread.currentThread();
        masked = 0;
        world = next;
    }

    public static void end() {
        world = null;
    }

    /** Notes that the scheduler lets a thread run, or has control again. */
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

    /**
     * Whether the library sees a thread as virtual. Simulated threads, which are all virtual, count as platform
     * threads.
     */
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
