package io.github.redislocks.concurrent;

/** Waits that an interrupt does not end. The interrupt flag is set again after the wait. */
public final class Uninterruptibles {

    private Uninterruptibles() {}

    /** An interruptible wait of the JDK. */
    @FunctionalInterface
    public interface Wait {

        /** Waits for the given time at most, which may be negative; returns what the JDK's method returns. */
        boolean await(long nanos) throws InterruptedException;
    }

    /**
     * Waits until {@code deadlineNanos} of {@link System#nanoTime}, again after each interrupt; returns the result of
     * the last wait.
     */
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
