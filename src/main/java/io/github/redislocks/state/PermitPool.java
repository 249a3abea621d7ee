package io.github.redislocks.state;

import io.github.redislocks.concurrent.Shown;

/** A pool of permits as one object of a client knows it: its keys, and how many permits there should be. */
public final class PermitPool {

    /** The greatest number of permits. A script looks at all of them, which takes about a tenth of a millisecond. */
    public static final int MAX_SIZE = 1_000;

    private final LockKeys keys;
    private final int size;
    /** Whether Redis has confirmed the size once. A later change of the size is then none of the caller's mistakes. */
    private volatile boolean known;

    public PermitPool(LockKeys keys, int size) {
        this.keys = keys;
        this.size = checkSize(keys.name(), size);
    }

    public LockKeys keys() {
        return keys;
    }

    /** Checks the number of permits of a pool, and returns it. */
    public static int checkSize(String name, int size) {
        if (size < 1 || size > MAX_SIZE) {
            throw new IllegalArgumentException("The size of the permits \"" + Shown.of(name) + "\" is " + size
                    + ": it must lie between 1 and " + MAX_SIZE + ". Use several names for more.");
        }
        return size;
    }

    public String name() {
        return keys.name();
    }

    public int size() {
        return size;
    }

    /** Whether a script has to compare the size with the size in Redis. */
    public boolean isToCheck() {
        return !known;
    }

    /** Notes that Redis has answered a request that named this size, or has the size that this object has set. */
    public void isKnown() {
        known = true;
    }

    /** The exception for a request that Redis refused because of the size that it has. */
    public IllegalStateException refused(int wanted, int present) {
        return new IllegalStateException(
                wanted > present
                        ? wanted + " permits \"" + Shown.of(name()) + "\" are wanted, and there are " + present
                                + ": nobody could get them. Ask for at most " + present + ", or call resize(" + wanted
                                + ")."
                        : "The permits \"" + Shown.of(name()) + "\" are " + present
                                + " in Redis, and this object was made for "
                                + size + ": all clients have to name the same number. Name " + present
                                + ", or call resize(" + size + ") to change it for all.");
    }
}
