package io.github.redislocks.bench.contender;

import java.util.concurrent.Callable;
import java.util.function.Consumer;

/** A permit of a pool, which a thread acquires and releases. */
final class Permit<P> implements Mutex {

    /** The number of permits. */
    static final int SIZE = 8;

    private final Callable<P> acquire;
    private final Consumer<P> release;
    private P held;

    Permit(Callable<P> acquire, Consumer<P> release) {
        this.acquire = acquire;
        this.release = release;
    }

    @Override
    public void lock() {
        try {
            held = acquire.call();
        } catch (Exception e) {
            throw new IllegalStateException("No permit", e);
        }
    }

    @Override
    public void unlock() {
        release.accept(held);
    }

    @Override
    public long part() {
        return ROOM / SIZE;
    }
}
