package io.github.redislocks.spring;

import io.github.redislocks.FencedLock;
import io.github.redislocks.LockLost;
import io.github.redislocks.LockLostException;
import io.github.redislocks.Locks;
import org.jspecify.annotations.Nullable;

/** The locks of the {@link Locked} methods that the calling thread is in, for the commits that these enclose. */
final class EnclosingLocks {

    /**
     * One of them.
     *
     * @param source what made the lock
     * @param token of its hold
     * @param depth how many of them, this one included, have this lock
     */
    private record Enclosing(
            Locks source,
            FencedLock lock,
            long token,
            int depth,
            @Nullable Enclosing outer) {

        boolean isOf(Locks itsSource, FencedLock other) {
            return source == itsSource && lock.getName().equals(other.getName());
        }
    }

    private static final ThreadLocal<@Nullable Enclosing> INNERMOST = new ThreadLocal<>();

    private EnclosingLocks() {}

    /** The calling thread, which holds the lock, begins such a method. Throws if one that encloses it lost the lock. */
    static void enter(Locks source, FencedLock lock) {
        Enclosing outer = INNERMOST.get();
        Enclosing same = of(source, lock);
        int depth = same == null ? 1 : same.depth + 1;
        if (same != null && lock.getHoldCount() < depth) {
            // It was taken anew, by this call, and not entered once more.
            throw new LockLostException(LockLost.of(
                    lock.getName(),
                    same.token,
                    "thread " + Thread.currentThread().getName(),
                    LockLost.Reason.TAKEN));
        }
        INNERMOST.set(new Enclosing(source, lock, lock.fencingToken(), depth, outer));
    }

    private static @Nullable Enclosing of(Locks source, FencedLock lock) {
        Enclosing each = INNERMOST.get();
        while (each != null && !each.isOf(source, lock)) {
            each = each.outer;
        }
        return each;
    }

    /** Throws if such a method, in which the thread is, had this lock and lost it. */
    static void ensureHeld(Locks source, FencedLock lock) {
        if (of(source, lock) != null) {
            lock.ensureHeld();
        }
    }

    /** It has ended the method that it began last. */
    static void leave() {
        Enclosing left = INNERMOST.get();
        if (left == null || left.outer == null) {
            INNERMOST.remove();
        } else {
            INNERMOST.set(left.outer);
        }
    }

    /** Throws if any of them was lost. */
    static void ensureHeld() {
        for (Enclosing each = INNERMOST.get(); each != null; each = each.outer) {
            each.lock.ensureHeld();
        }
    }
}
