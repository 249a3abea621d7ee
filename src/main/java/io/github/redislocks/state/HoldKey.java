package io.github.redislocks.state;

import org.jspecify.annotations.Nullable;

/** The key by which a hold is found: lock and thread. A hold is its own key, which saves one object for each hold. */
public abstract class HoldKey {

    public abstract String lock();

    public abstract Thread thread();

    // A user's thread class may override hashCode and equals; identity is what counts.
    @Override
    public final boolean equals(@Nullable Object other) {
        return other instanceof HoldKey key
                && key.thread() == thread()
                && key.lock().equals(lock());
    }

    @Override
    public final int hashCode() {
        return 31 * lock().hashCode() + System.identityHashCode(thread());
    }

    /** A mutable key with which one thread looks up its holds, one after the other. */
    public static final class Wanted extends HoldKey {

        private final Thread thread;
        private String lock = "";

        public Wanted(Thread thread) {
            this.thread = thread;
        }

        /** Sets the lock to look up. */
        public Wanted of(LockKeys keys) {
            lock = keys.lock();
            return this;
        }

        @Override
        public String lock() {
            return lock;
        }

        @Override
        public Thread thread() {
            return thread;
        }
    }
}
