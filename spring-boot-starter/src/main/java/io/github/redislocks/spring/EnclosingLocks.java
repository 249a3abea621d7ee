package io.github.redislocks.spring;

import io.github.redislocks.FencedLock;
import io.github.redislocks.LockHandle;
import io.github.redislocks.LockLost;
import io.github.redislocks.LockLostException;
import io.github.redislocks.Locks;
import org.jspecify.annotations.Nullable;

/** The locks of the {@link Locked} methods that the calling thread is in, for the commits that these enclose. */
final class EnclosingLocks {

    /**
     * A lock that encloses a method.
     *
     * @param source what made the lock
     * @param token of its hold
     * @param depth how many of them, this one included, have this lock; 0 if a handle holds it
     * @param check throws if the lock is lost
     */
    private record Enclosing(
            Locks source,
            String name,
            long token,
            int depth,
            Runnable check,
            @Nullable Enclosing outer) {}

    private static final ThreadLocal<@Nullable Enclosing> INNERMOST = new ThreadLocal<>();

    private EnclosingLocks() {}

    /**
     * The calling thread begins a method that has taken a lock. Returns the token. Throws if a method that encloses
     * this one has lost the lock.
     *
     * @param handle holds the lock; null if the thread holds it
     */
    static long enter(Locks source, FencedLock lock, @Nullable LockHandle handle) {
        Enclosing same = of(source, lock.getName());
        int depth = handle != null ? 0 : same == null ? 1 : same.depth + 1;
        if (same != null && lock.getHoldCount() < depth) {
            // This call has taken the lock anew, instead of entering it once more.
            Thread thread = Thread.currentThread();
            // A virtual thread has no name as a rule.
            String name = thread.getName().isEmpty() ? thread.toString().replaceFirst("/.*", "") : thread.getName();
            throw new LockLostException(
                    LockLost.of(lock.getName(), same.token, "thread " + name, LockLost.Reason.TAKEN));
        }
        long token = handle == null ? lock.fencingToken() : handle.fencingToken();
        Runnable check = handle == null ? lock::ensureHeld : handle::ensureHeld;
        INNERMOST.set(new Enclosing(source, lock.getName(), token, depth, check, INNERMOST.get()));
        return token;
    }

    private static @Nullable Enclosing of(Locks source, String name) {
        Enclosing each = INNERMOST.get();
        while (each != null && !(each.source == source && each.name.equals(name))) {
            each = each.outer;
        }
        return each;
    }

    /**
     * The token of the handle of such a method, in which the thread is; 0 if none of them has this lock by a handle.
     * Throws if one of them had this lock and lost it.
     */
    static long tokenOfHandle(Locks source, String name) {
        Enclosing same = of(source, name);
        if (same == null) {
            return 0;
        }
        same.check.run();
        return same.depth == 0 ? same.token : 0;
    }

    /** Call when the thread has ended the method that it began last. */
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
            each.check.run();
        }
    }
}
