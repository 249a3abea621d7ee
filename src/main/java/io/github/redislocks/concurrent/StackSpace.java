package io.github.redislocks.concurrent;

/**
 * Checks that the calling thread has enough stack left for a change that a {@link StackOverflowError} must not
 * interrupt: half a change to a map or to a connection cannot be repaired. The JDK's own locks reserve stack for that
 * (JEP 270); other code cannot.
 */
public final class StackSpace {

    /** How many frames are checked before a request to Redis, which needs about 40. */
    private static final int DEPTH = 64;

    /** How many frames are checked before a change without a request, which needs about 12. */
    private static final int LOCAL_DEPTH = 16;

    private StackSpace() {}

    /**
     * Checks that there is space for 5 kilobytes of frames where C2 has compiled this class, and for 15 kilobytes where
     * it is interpreted.
     *
     * @throws StackOverflowError if there is not
     */
    public static void ensure() {
        ensure(DEPTH);
    }

    /**
     * As {@link #ensure()}, for a change without a request: checks for a quarter of the space, in a quarter of the
     * time.
     */
    public static void ensureLocal() {
        ensure(LOCAL_DEPTH);
    }

    private static void ensure(int depth) {
        if (frame(depth, 1, 2, 3, 4, 5, 6, 7, 8) == 0) {
            throw new AssertionError("A sum of positive numbers is not 0");
        }
    }

    /**
     * Uses a frame: 70 bytes if compiled by C2, which puts two calls into one frame, and 240 if interpreted. The method
     * uses its parameters after the call, so that the compiler keeps the frame.
     */
    private static long frame(int depth, long a, long b, long c, long d, long e, long f, long g, long h) {
        if (depth == 0) {
            return a + b + c + d + e + f + g + h;
        }
        long below = frame(depth - 1, h, a, b, c, d, e, f, g);
        return (below & 7) + a + b + c + d + e + f + g + h;
    }
}
