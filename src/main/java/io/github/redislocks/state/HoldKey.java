package io.github.redislocks.state;

import org.jspecify.annotations.Nullable;

/** What a hold is found by. A hold is its own key: another object for each would be memory for nothing. */
public abstract class HoldKey {

    public abstract String lock();

    /** The thread, or the owner that is none. */
    public abstract Object holder();

    // A user's thread class may override hashCode and equals; identity is what counts.
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

    /** The key of what one owner looks for, one thing after the other. */
    public static final class Wanted extends HoldKey {

        private final Object holder;
        private String lock = "";

        public Wanted(Object holder) {
            this.holder = holder;
        }

        /** Looks for its hold of another lock from now on. */
        public Wanted of(LockKeys keys) {
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
