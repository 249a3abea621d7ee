package io.github.redislocks.spring;

import io.github.redislocks.FencedLock;
import org.jspecify.annotations.Nullable;

/** The locks of the {@link Locked} methods that the calling thread is in, for the commits that these enclose. */
final class EnclosingLocks {

    private record Enclosing(FencedLock lock, @Nullable Enclosing outer) {}

    private static final ThreadLocal<@Nullable Enclosing> INNERMOST = new ThreadLocal<>();

    private EnclosingLocks() {}

    /** The calling thread, which holds the lock, begins such a method. */
    static void enter(FencedLock lock) {
        INNERMOST.set(new Enclosing(lock, INNERMOST.get()));
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
