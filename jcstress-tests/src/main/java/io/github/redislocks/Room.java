package io.github.redislocks;

/**
 * A critical section. Its fields are plain on purpose: a lock that does not exclude other threads, or does not make a
 * holder's writes visible to the next holder, loses visits.
 */
final class Room {

    /** The length of a visit in which another visitor, if that can happen, is met now and then. */
    static final long A_MOMENT_NANOS = 20_000;
    /** The length of a visit in which another visitor is met always, for a broken lock. */
    static final long A_WHILE_NANOS = 5_000_000;

    private final long stayNanos;
    private int visits;
    private int visitor;
    private boolean disturbed;

    Room(long stayNanos) {
        this.stayNanos = stayNanos;
    }

    /**
     * Enters, stays for some time or until another visitor enters, and leaves.
     *
     * @param number the number of the visitor
     */
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

    /** Returns the outcome after the given number of visits. */
    String afterVisits(int expected) {
        return visits == expected && !disturbed ? "one at a time" : "two at once";
    }
}
