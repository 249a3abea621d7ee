package io.github.redislocks.testkit.twin;

import io.github.redislocks.concurrent.Bell;
import io.github.redislocks.redis.Call;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;

/**
 * Calls that are parked on their way to the server until {@link #release}. A call whose timeout ends meanwhile fails as
 * unanswered; the test may then let the call arrive late, by {@link InMemoryRedis#runLate}.
 */
public final class HeldCalls {

    private final Predicate<Call> which;
    private final ReentrantLock lock = new ReentrantLock();
    private final Bell changed = new Bell();
    private final List<Call> parked = new ArrayList<>();
    private final List<Call> abandoned = new ArrayList<>();
    private volatile boolean patient;
    private volatile boolean expired;
    private volatile boolean released;

    HeldCalls(Predicate<Call> which) {
        this.which = which;
    }

    /** Lets the parked calls run, and parks no further calls. */
    public void release() {
        lock.lock();
        try {
            released = true;
        } finally {
            lock.unlock();
        }
        changed.ring();
    }

    /** Ignores the timeouts of the calls: only {@link #release} or {@link #expire} ends their wait. */
    public HeldCalls whateverTheirTimeouts() {
        patient = true;
        return this;
    }

    /** Ends the timeouts of the parked calls, and of later calls: they fail as unanswered. */
    public void expire() {
        expired = true;
        changed.ring();
    }

    /** The calls that are parked now, in the order of their arrival. */
    public List<Call> parked() {
        return copy(parked);
    }

    /** The calls whose callers have given up. */
    public List<Call> abandoned() {
        return copy(abandoned);
    }

    /** Waits until {@code count} calls are parked. Throws {@code AssertionError} after {@code atMost}. */
    public void awaitParked(int count, Duration atMost) {
        await("parked", parked, count, atMost);
    }

    boolean holds(Call call) {
        return !released && which.test(call);
    }

    /** Parks the caller. Returns true if the call was released in time. */
    boolean pass(Call call, long timeoutNanos) {
        long wait = patient ? Long.MAX_VALUE / 2 : timeoutNanos;
        locked(() -> parked.add(call));
        awaitNews(wait, () -> released || expired);
        boolean passed = locked(() -> {
            parked.remove(call);
            return released || !abandoned.add(call);
        });
        changed.ring();
        return passed;
    }

    private boolean awaitNews(long timeoutNanos, BooleanSupplier news) {
        changed.ring();
        return changed.await(System.nanoTime() + timeoutNanos, news);
    }

    private void await(String what, List<Call> calls, int count, Duration atMost) {
        if (!awaitNews(TimeUnit.NANOSECONDS.convert(atMost), () -> locked(() -> calls.size() >= count))) {
            throw new AssertionError(copy(calls).size() + " calls " + what + " after " + atMost + ", not " + count);
        }
    }

    private List<Call> copy(List<Call> calls) {
        lock.lock();
        try {
            return List.copyOf(calls);
        } finally {
            lock.unlock();
        }
    }

    private boolean locked(BooleanSupplier work) {
        lock.lock();
        try {
            return work.getAsBoolean();
        } finally {
            lock.unlock();
        }
    }
}
