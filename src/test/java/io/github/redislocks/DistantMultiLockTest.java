package io.github.redislocks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.fixture.DistantRedis;
import io.github.redislocks.state.Settings;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tries of more locks than one request takes, at a distant Redis that answers everything, or stops to answer. */
class DistantMultiLockTest extends FakeTime {

    private static final int MANY = 33;
    /** The time that a timed try may take beyond its own. */
    private static final Duration LATE = Duration.ofMillis(200);

    private final List<String> names =
            IntStream.range(0, MANY).mapToObj(i -> "job-" + i).toList();
    /** How many requests are answered before Redis stops to. */
    private final AtomicInteger answers = new AtomicInteger(Integer.MAX_VALUE);

    private final Thread caller = Thread.currentThread();

    private DistantRedis distant(int roundTripMillis) {
        return new DistantRedis(server, clock, roundTripMillis) {
            @Override
            protected boolean isHeard(long timeoutNanos) {
                return answers.getAndDecrement() > 0 && super.isHeard(timeoutNanos);
            }

            /** The caller moves the clock, and what goes on beside it waits. */
            @Override
            protected void pass(long nanos) {
                if (Thread.currentThread() == caller) {
                    super.pass(nanos);
                } else {
                    long until = clock.nanoTime() + nanos;
                    while (clock.nanoTime() < until) {
                        clock.parkUntil(this, until);
                    }
                }
            }
        };
    }

    private boolean isCallerParked() {
        return clock.isParked(caller);
    }

    private RedisLocks connect(DistantRedis redis) {
        return RedisLocks.on(redis, Settings.DEFAULTS, List.of(), clock);
    }

    private void close(RedisLocks far) {
        answers.set(Integer.MAX_VALUE);
        whileTimePasses(() -> true, () -> await().until(this::isNothingLeft));
        whileTimePasses(() -> true, far::close);
    }

    private boolean isNothingLeft() {
        return names.stream()
                .allMatch(name -> server.hash("redis-locks:{" + name + "}").isEmpty());
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 6, 20, 80})
    void tryWithoutTime_takesAllThatAreFree(int roundTripMillis) throws InterruptedException {
        RedisLocks far = connect(distant(roundTripMillis));
        Optional<MultiLockHandle> all = far.multiLock(names).tryAcquire(Duration.ZERO);
        assertThat(all).isPresent();
        all.get().close();
        close(far);
    }

    @ParameterizedTest
    @ValueSource(ints = {50, 333, 1_000})
    void timedTry_whoseTimeEndsBetweenTwoLocks_isOfBusyLocks_inTime(int waitMillis) throws InterruptedException {
        DistantRedis redis = distant(80);
        RedisLocks far = connect(redis);
        Duration wait = Duration.ofMillis(waitMillis);
        long began = clock.nanoTime();
        AtomicReference<Optional<MultiLockHandle>> all = new AtomicReference<>(Optional.empty());
        AtomicReference<Throwable> thrown = new AtomicReference<>();
        whileTimePasses(
                this::isCallerParked,
                () -> thrown.set(
                        catchThrowable(() -> all.set(far.multiLock(names).tryAcquire(wait)))));
        assertThat(thrown.get()).isNull();
        assertThat(all.get()).isEmpty();
        assertThat(Duration.ofNanos(clock.nanoTime() - began)).isLessThan(wait.plus(LATE));
        assertThat(redis.shortestNanos())
                .as("a time in which an answer can come")
                .isGreaterThan(1_000);
        close(far);
    }

    @Test
    void timedTry_ifRedisStopsToAnswer_endsInTime() {
        RedisLocks far = connect(distant(2));
        Duration wait = Duration.ofMillis(150);
        answers.set(10);
        long began = clock.nanoTime();
        AtomicReference<Throwable> thrown = new AtomicReference<>();
        whileTimePasses(
                this::isCallerParked,
                () -> thrown.set(catchThrowable(() -> far.multiLock(names).tryAcquire(wait))));
        assertThat(Duration.ofNanos(clock.nanoTime() - began)).isLessThan(wait.plus(LATE));
        close(far);
    }

    @Test
    void unlockOfMany_isOverAfterACommandTimeout_andSendsNothingWithoutTime() {
        DistantRedis redis = distant(80);
        RedisLocks far = connect(redis);
        MultiLock all = far.multiLock(List.of(names.toArray(String[]::new)));
        all.lock();
        long began = clock.nanoTime();
        whileTimePasses(this::isCallerParked, all::unlock);
        assertThat(Duration.ofNanos(clock.nanoTime() - began))
                .isLessThanOrEqualTo(Duration.ofNanos(Settings.DEFAULTS.commandTimeoutNanos()));
        assertThat(redis.shortestNanos())
                .as("a time in which an answer can come")
                .isGreaterThan(1_000);
        close(far);
    }
}
