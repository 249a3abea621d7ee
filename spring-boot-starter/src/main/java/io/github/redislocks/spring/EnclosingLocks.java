package io.github.redislocks.spring;

import io.github.redislocks.LockHandle;
import io.github.redislocks.LockLost;
import io.github.redislocks.LockLostException;
import io.github.redislocks.Locks;
import org.jspecify.annotations.Nullable;

/**
 * The locks of the {@link Locked} methods that the calling thread is executing. These locks are checked before each
 * commit inside those methods.
 */
final class EnclosingLocks {

    /**
     * A lock that encloses a method.
     *
     * @param source the factory of the lock
     * @param token the token of the hold
     * @param depth the number of enclosing methods with this lock, including this method; 0 if a handle holds the lock
     * @param check throws if the lock was lost
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
     * Notes that the calling thread has taken the lock of a method and begins the method. Returns the token of the
     * hold. Throws if an enclosing method has lost the same lock.
     *
     * @param handle the handle that holds the lock; null if the thread holds it
     */
    static long enter(Locks source, MethodLock lock, @Nullable LockHandle handle) {
        Enclosing same = of(source, lock.name());
        int depth = handle != null ? 0 : same == null ? 1 : same.depth + 1;
        if (same != null && lock.holds().getAsInt() < depth) {
            // The enclosing method has lost the lock: the thread got a new hold instead of re-entering the lock.
            Thread thread = Thread.currentThread();
            // A virtual thread usually has no name: use the part of its toString() before the slash.
            String name = thread.getName().isEmpty() ? thread.toString().replaceFirst("/.*", "") : thread.getName();
            LockLost loss = LockLost.of(lock.name(), same.token, "thread " + name, LockLost.Reason.TAKEN);
            throw new LockLostException(loss.withMode(lock.mode()));
        }
        long token = handle == null ? lock.token().getAsLong() : handle.fencingToken();
        Runnable check = handle == null ? lock.check() : handle::ensureHeld;
        INNERMOST.set(new Enclosing(source, lock.name(), token, depth, check, INNERMOST.get()));
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
     * The token of the handle by which an enclosing method holds the lock; 0 if no enclosing method holds the lock by a
     * handle. Throws if an enclosing method has lost the lock.
     */
    static long tokenOfHandle(Locks source, String name) {
        Enclosing same = of(source, name);
        if (same == null) {
            return 0;
        }
        same.check.run();
        return same.depth == 0 ? same.token : 0;
    }

    /** Notes that the calling thread ends the innermost of these methods. */
    static void leave() {
        Enclosing left = INNERMOST.get();
        if (left == null || left.outer == null) {
            INNERMOST.remove();
        } else {
            INNERMOST.set(left.outer);
        }
    }

    /** Throws if one of the locks was lost. */
    static void ensureHeld() {
        for (Enclosing each = INNERMOST.get(); each != null; each = each.outer) {
            each.check.run();
        }
    }
}
