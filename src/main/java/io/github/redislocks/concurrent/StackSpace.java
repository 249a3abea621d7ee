package io.github.redislocks.concurrent;

/**
 * Room on the stack of the calling thread, made sure of before something begins that must not be cut short by a
 * {@link StackOverflowError}: half a change to a map or to a connection cannot be repaired. The JDK's own locks reserve
 * stack for that (JEP 270), which other code cannot.
 */
public final class StackSpace {

    /** With the frames of a request to Redis, of which there are about 40, well below. */
    private static final int DEPTH = 64;

    private StackSpace() {}

    /**
     * Returns if there is room for some ten kilobytes of frames.
     *
     * @throws StackOverflowError if there is not; nothing has begun then
     */
    public static void ensure() {
        if (frame(DEPTH, 1, 2, 3, 4, 5, 6, 7, 8) == 0) {
            throw new AssertionError("A sum of positive numbers is not 0");
        }
    }

    /** A frame of about 150 bytes, whose values are needed after the call, so that it is kept. */
    private static long frame(int depth, long a, long b, long c, long d, long e, long f, long g, long h) {
        if (depth == 0) {
            return a + b + c + d + e + f + g + h;
        }
        long below = frame(depth - 1, h, a, b, c, d, e, f, g);
        return (below & 7) + a + b + c + d + e + f + g + h;
    }
}
