package io.github.redislocks.concurrent;

/** A wait that an interrupt does not end, and after which the flag is set again. */
public final class Uninterruptibles {

    private Uninterruptibles() {}

    /** A wait of the JDK, with its answer. */
    @FunctionalInterface
    public interface Wait {

        /** Waits at most for a time, which may be over. */
        boolean await(long nanos) throws InterruptedException;
    }

    /** Waits until a time of {@link System#nanoTime}, begun again after each interrupt; returns what the last said. */
    public static boolean until(long deadlineNanos, Wait wait) {
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return wait.await(deadlineNanos - System.nanoTime());
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
