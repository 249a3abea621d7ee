package io.github.redislocks.state;

import org.jspecify.annotations.Nullable;

/** The key by which a hold is found: lock and thread. A hold is its own key, which saves one object for each hold. */
public abstract class HoldKey {

    public abstract String lock();

    /** The thread that holds the lock; for a hold of no thread, its owner. */
    public abstract Object holder();

    // Compare threads by identity: a user's thread class may override hashCode and equals.
    @Override
    public final boolean equals(@Nullable Object other) {
        return other instanceof HoldKey key
                && key.holder() == holder()
                && key.lock().equals(lock());
    }

    @Override
    public final int hashCode() {
        return 31 * lock().hashCode() + System.identityHashCode(holder());
    }

    /** A key for lookups, which one owner uses again for each lookup. */
    public static final class Lookup extends HoldKey {

        private final Object holder;
        private String lock = "";

        public Lookup(Object holder) {
            this.holder = holder;
        }

        /** Sets the lock to look up. */
        public Lookup of(LockKeys keys) {
            lock = keys.lock();
            return this;
        }

        @Override
        public String lock() {
            return lock;
        }

        @Override
        public Object holder() {
            return holder;
        }
    }
}
