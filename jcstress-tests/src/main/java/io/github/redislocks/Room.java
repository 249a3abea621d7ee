package io.github.redislocks;

/**
 * A critical section. Its fields are plain on purpose: a lock that does not exclude, or that does not make the writes
 * of a holder visible to the next, loses visits.
 */
final class Room {

    /** Long enough to be met now and then, if it can happen. */
    static final long A_MOMENT_NANOS = 20_000;
    /** Long enough to be met whenever it can happen, for a broken lock. */
    static final long A_WHILE_NANOS = 5_000_000;

    private final long stayNanos;
    private int visits;
    private int visitor;
    private boolean disturbed;

    Room(long stayNanos) {
        this.stayNanos = stayNanos;
    }

    /** Goes in, stays for a moment or until somebody else comes in, and goes out; of a visitor with this number. */
    void visit(int number) {
        int before = visits;
        visitor = number;
        long end = System.nanoTime() + stayNanos;
        do {
            Thread.yield();
        } while (visitor == number && System.nanoTime() < end);
        if (visitor != number) {
            disturbed = true;
        }
        visits = before + 1;
    }

    /** In words: what became of as many visits. */
    String afterVisits(int expected) {
        return visits == expected && !disturbed ? "one at a time" : "two at once";
    }
}
