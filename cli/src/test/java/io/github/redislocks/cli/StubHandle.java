package io.github.redislocks.cli;

import io.github.redislocks.LockHandle;
import io.github.redislocks.LockLost;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;

/** A handle whose lease and loss a test decides, without a server. */
final class StubHandle implements LockHandle {

    final CompletableFuture<LockLost> lost = new CompletableFuture<>();
    /** How often it was asked what is left of the lease. */
    final AtomicInteger looks = new AtomicInteger();

    volatile Supplier<Duration> left;

    StubHandle(Duration left) {
        this.left = () -> left;
    }

    @Override
    public Duration remainingLease() {
        looks.incrementAndGet();
        return left.get();
    }

    @Override
    public CompletionStage<LockLost> lost() {
        return lost;
    }

    @Override
    public String name() {
        return "stub";
    }

    @Override
    public String owner() {
        return "host:1:random:h1";
    }

    @Override
    public long fencingToken() {
        return 1;
    }

    @Override
    public boolean isHeld() {
        return true;
    }

    @Override
    public void ensureHeld() {}

    @Override
    public boolean previousHolderLost() {
        return false;
    }

    @Override
    public void close() {}

    @Override
    public boolean release() {
        throw new UnsupportedOperationException();
    }

    @Override
    public CompletionStage<Boolean> releaseAsync() {
        throw new UnsupportedOperationException();
    }

    @Override
    public boolean releaseAfter(Duration sinceAcquired) {
        throw new UnsupportedOperationException();
    }

    @Override
    public CompletionStage<Boolean> releaseAfterAsync(Duration sinceAcquired) {
        throw new UnsupportedOperationException();
    }
}
