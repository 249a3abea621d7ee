package io.github.redislocks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.fixture.Logged;
import io.github.redislocks.micrometer.LockMetrics;
import io.github.redislocks.state.Settings;
import io.github.redislocks.testkit.twin.Fault;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;

/** Tests what the metrics say of waits, holds, losses and outages. */
@Isolated("It looks at what all threads log")
class LockMetricsTest extends FakeTime {

    private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
    private LockMetrics metrics;
    private RedisLocks measured;
    private RedisReentrantLock job;

    @BeforeEach
    void measure() {
        clock.advanceMillis(1_000);
        measure(new LockMetrics());
    }

    private void measure(LockMetrics by) {
        metrics = by;
        metrics.bindTo(registry);
        measured = RedisLocks.on(redis, Settings.DEFAULTS, List.of(metrics), clock);
        clients.add(measured);
        metrics.watch(measured);
        job = measured.reentrantLock("order:4711");
    }

    @AfterEach
    void closeMeasured() {
        redis.heal();
        whileTimePasses(() -> true, measured::close);
    }

    private long waits(String outcome) {
        return registry.get(LockMetrics.WAIT)
                .tag(LockMetrics.MODE, "write")
                .tag(LockMetrics.OUTCOME, outcome)
                .timer()
                .count();
    }

    private Timer holds(String mode) {
        return registry.get(LockMetrics.HOLD).tag(LockMetrics.MODE, mode).timer();
    }

    private double gauge(String name) {
        return registry.get(name).gauge().value();
    }

    @Test
    void hold_isTimedFromAcquisitionToRelease() {
        job.lock();
        clock.advanceMillis(40);
        job.unlock();
        assertThat(waits("acquired")).isEqualTo(1);
        assertThat(holds("write").totalTime(TimeUnit.MILLISECONDS)).isEqualTo(40);
    }

    @Test
    void gauges_showWhatIsHeld_untilTheClientIsClosed() {
        job.lock();
        assertThat(gauge(LockMetrics.HELD)).isEqualTo(1);
        assertThat(gauge(LockMetrics.WAITING)).isZero();
        whileTimePasses(() -> true, measured::close);
        assertThat(gauge(LockMetrics.HELD)).isZero();
    }

    @Test
    void waiting_showsACallThatHasNotReturned() throws InterruptedException {
        others.reentrantLock("order:4711").lock();
        Thread waiter = new Thread(job::lock);
        waiter.start();
        await().until(() -> gauge(LockMetrics.WAITING) == 1);
        others.reentrantLock("order:4711").unlock();
        waiter.join();
        assertThat(gauge(LockMetrics.WAITING)).isZero();
    }

    @Test
    void tryLock_ofABusyLock_isCountedAsBusy() {
        others.reentrantLock("order:4711").lock();
        assertThat(job.tryLock()).isFalse();
        assertThat(waits("busy")).isEqualTo(1);
        assertThat(waits("acquired")).isZero();
    }

    @Test
    void loss_isCountedByItsReason() {
        FixedLease.fixed(job, Duration.ofSeconds(1)).lock();
        clock.advanceMillis(1_000);
        assertThat(job.isHeldByCurrentThread()).isFalse();
        await().until(() -> registry.get(LockMetrics.LOST)
                        .tag(LockMetrics.MODE, "write")
                        .tag(LockMetrics.REASON, "expired")
                        .counter()
                        .count()
                == 1);
    }

    @Test
    void readersAndPermits_areShownApartFromOtherHolds() throws InterruptedException {
        job.lock();
        RedisReadLock prices = measured.readWriteLock("prices").readLock();
        prices.lock();
        prices.lock();
        PermitHandle permits = measured.permits("encoder", 8).acquire(3);
        assertThat(gauge(LockMetrics.READ)).isEqualTo(1);
        assertThat(gauge(LockMetrics.PERMITS)).isEqualTo(3);
        assertThat(gauge(LockMetrics.HELD)).isEqualTo(3);
        permits.release();
        prices.unlock();
        prices.unlock();
        assertThat(gauge(LockMetrics.READ)).isZero();
        assertThat(gauge(LockMetrics.PERMITS)).isZero();
        assertThat(gauge(LockMetrics.HELD)).isEqualTo(1);
    }

    @Test
    void readersAndPermits_areTimedApartFromOtherHolds() throws InterruptedException {
        RedisReadLock prices = measured.readWriteLock("prices").readLock();
        prices.lock();
        clock.advanceMillis(40);
        prices.unlock();
        measured.permits("encoder", 8).acquire(3).release();
        assertThat(holds("read").totalTime(TimeUnit.MILLISECONDS)).isEqualTo(40);
        assertThat(holds("permits").count()).isEqualTo(1);
        assertThat(holds("write").count()).isZero();
        assertThat(registry.get(LockMetrics.WAIT)
                        .tag(LockMetrics.MODE, "read")
                        .tag(LockMetrics.OUTCOME, "acquired")
                        .timer()
                        .count())
                .isEqualTo(1);
    }

    @Test
    void held_countsNoLockThatIsLost() {
        job.lock();
        FixedLease.fixed(measured.reentrantLock("another"), Duration.ofSeconds(1))
                .lock();
        assertThat(gauge(LockMetrics.HELD)).isEqualTo(2);
        clock.advanceMillis(1_000);
        assertThat(gauge(LockMetrics.HELD)).isEqualTo(1);
        assertThat(measured.heldNames()).containsExactly("order:4711");
    }

    @Test
    void outage_isCountedWhenItBeginsAndTimedWhenItEnds() {
        redis.failNext(1_000, call -> true, Fault.REQUEST_LOST);
        whileTimePasses(() -> assertThat(catchThrowable(job::tryLock)).isInstanceOf(LockUnavailableException.class));
        assertThat(waits("failed")).isEqualTo(1);
        await().until(() -> registry.get(LockMetrics.OUTAGES).functionCounter().count() == 1);
        redis.heal();
        assertThat(job.tryLock()).isTrue();
        await().until(() -> registry.get(LockMetrics.OUTAGE).timer().count() == 1);
    }

    @Test
    void renewals_areCounted() {
        job.lock();
        passUntil(() -> registry.get(LockMetrics.RENEWALS).functionCounter().count() > 0);
    }

    @Test
    void forcedLocks_areCounted() {
        other.lock();
        assertThat(measured.reentrantLock("job").forceUnlock()).isTrue();
        assertThat(registry.get(LockMetrics.FORCED).functionCounter().count()).isEqualTo(1);
    }

    @Test
    void kept_showsALockUntilSomebodyHasItOrForcesIt() throws InterruptedException {
        for (String name : List.of("a", "b", "c")) {
            measured.reentrantLock(name).acquire().releaseAfter(Duration.ofMinutes(5));
        }
        measured.permits("a", 1).acquire().release();
        assertThat(gauge(LockMetrics.KEPT)).isEqualTo(3);
        measured.reentrantLock("a").forceUnlock();
        assertThat(gauge(LockMetrics.KEPT)).isEqualTo(2);
        clock.advanceMillis(301_000);
        measured.reentrantLock("b").runWithLock(() -> {});
        assertThat(gauge(LockMetrics.KEPT)).isEqualTo(1);
    }

    private double retries() {
        return registry.get(LockMetrics.RETRIES).functionCounter().count();
    }

    @Test
    void retries_areCounted_alsoWhenTheirClientIsClosed() {
        job.lock();
        job.unlock();
        assertThat(retries()).isZero();
        redis.failNext(3, call -> true, Fault.REQUEST_LOST);
        whileTimePasses(job::lock);
        assertThat(retries()).isEqualTo(3);
        redis.failNext(1, call -> true, Fault.REQUEST_LOST);
        whileTimePasses(job::lock);
        assertThat(retries()).as("a re-entry").isEqualTo(4);
        whileTimePasses(() -> true, measured::close);
        assertThat(retries()).isEqualTo(4);
        metrics.watch(others);
        assertThat(retries()).isEqualTo(4);
    }

    /** As if an application watched a client, and bound a registry, with which Spring Boot does the same. */
    @Test
    void watchedAndBoundTwice_isCountedOnce() {
        metrics.bindTo(registry);
        metrics.watch(measured);
        job.lock();
        assertThat(gauge(LockMetrics.HELD)).isEqualTo(1);
        job.unlock();
        assertThat(holds("write").count()).isEqualTo(1);
        assertThat(waits("acquired")).isEqualTo(1);
    }

    @Test
    void locks_withATag_haveMetersForEachValue() {
        measure(new LockMetrics(name -> name.substring(0, name.indexOf(':'))));
        for (String name : List.of("order:1", "order:2", "user:1")) {
            measured.reentrantLock(name).runWithLock(() -> {});
        }
        assertThat(registry.get(LockMetrics.HOLD)
                        .tag(LockMetrics.LOCK, "order")
                        .tag(LockMetrics.MODE, "write")
                        .timer()
                        .count())
                .isEqualTo(2);
        assertThat(registry.get(LockMetrics.HOLD)
                        .tag(LockMetrics.LOCK, "user")
                        .tag(LockMetrics.MODE, "write")
                        .timer()
                        .count())
                .isEqualTo(1);
    }

    @Test
    void tagThatCannotBeMade_disturbsNobodyElse() {
        LockMetrics failing = new LockMetrics(name -> {
            if (name.startsWith("order:")) {
                throw new IllegalStateException("of the test");
            }
            return null;
        });
        failing.bindTo(new SimpleMeterRegistry());
        RedisLocks both = RedisLocks.on(redis, Settings.DEFAULTS, List.of(failing, metrics), clock);
        clients.add(both);
        String log = Logged.by(() -> List.of("order:1", "user:1")
                .forEach(name -> both.reentrantLock(name).runWithLock(() -> {})));
        assertThat(waits("acquired")).isEqualTo(2);
        assertThat(log).contains("LockMetrics failed for", "of the test");
        whileTimePasses(both::close);
    }

    /** Without a tag the number of meters does not grow with the names of locks. */
    @Test
    void locks_withoutATag_shareTheirMeters() {
        int before = registry.getMeters().size();
        for (int i = 0; i < 20; i++) {
            measured.reentrantLock("order:" + i).runWithLock(() -> {});
        }
        assertThat(registry.getMeters()).hasSize(before);
        assertThat(registry.getMeters())
                .extracting(Meter::getId)
                .allMatch(id -> Tags.of(id.getTags()).stream()
                        .noneMatch(tag -> tag.getKey().equals(LockMetrics.LOCK)));
    }
}
