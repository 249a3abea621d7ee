package io.github.redislocks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.micrometer.LockObservations;
import io.github.redislocks.state.Settings;
import io.github.redislocks.testkit.twin.Fault;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationHandler;
import io.micrometer.observation.ObservationRegistry;
import io.micrometer.observation.tck.TestObservationRegistry;
import io.micrometer.observation.tck.TestObservationRegistryAssert;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.locks.Condition;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Tests what is observed of calls for locks and of holds, and that no scope is left open. */
class LockObservationsTest extends FakeTime {

    private static final String WAIT = LockObservations.ACQUISITION;
    private static final String HOLD = LockObservations.POSSESSION;

    private final TestObservationRegistry registry = TestObservationRegistry.create();
    private RedisLocks observed;
    private RedisReentrantLock job;

    @BeforeEach
    void observe() {
        clock.advanceMillis(1_000);
        observe(new LockObservations(registry));
    }

    private void observe(LockObservations by) {
        observed = RedisLocks.on(redis, Settings.DEFAULTS, List.of(by), clock);
        clients.add(observed);
        job = observed.reentrantLock("order:4711");
    }

    @AfterEach
    void closeObserved() {
        redis.heal();
        whileTimePasses(() -> true, observed::close);
    }

    private TestObservationRegistryAssert seen() {
        return TestObservationRegistryAssert.assertThat(registry).doesNotHaveAnyRemainingCurrentObservation();
    }

    private void awaitStopped(String name, String outcome) {
        await().untilAsserted(() -> seen().hasObservationWithNameEqualTo(name)
                .that()
                .hasBeenStopped()
                .hasLowCardinalityKeyValue(LockObservations.OUTCOME, outcome));
    }

    @Test
    void hold_isObservedFromAcquisitionToRelease_withNameAndToken() {
        job.lock();
        String token = Long.toString(job.fencingToken());
        seen().hasObservationWithNameEqualTo(WAIT)
                .that()
                .hasBeenStarted()
                .hasBeenStopped()
                .hasContextualNameEqualTo("acquire lock")
                .hasOnlyKeys(LockObservations.MODE, LockObservations.OUTCOME, LockObservations.LOCK_NAME)
                .hasLowCardinalityKeyValue(LockObservations.MODE, "write")
                .hasLowCardinalityKeyValue(LockObservations.OUTCOME, "acquired")
                .hasHighCardinalityKeyValue(LockObservations.LOCK_NAME, "order:4711");
        seen().hasObservationWithNameEqualTo(HOLD).that().hasBeenStarted().isNotStopped();
        job.lock();
        job.unlock();
        seen().hasNumberOfObservationsEqualTo(2);
        job.unlock();
        seen().hasObservationWithNameEqualTo(HOLD)
                .that()
                .hasBeenStopped()
                .doesNotHaveError()
                .hasContextualNameEqualTo("hold lock")
                .hasOnlyKeys(
                        LockObservations.MODE,
                        LockObservations.OUTCOME,
                        LockObservations.LOCK_NAME,
                        LockObservations.TOKEN)
                .hasLowCardinalityKeyValue(LockObservations.MODE, "write")
                .hasLowCardinalityKeyValue(LockObservations.OUTCOME, "released")
                .hasHighCardinalityKeyValue(LockObservations.TOKEN, token);
    }

    /** The parent is the caller's observation, even if another thread reports the acquisition. */
    @Test
    void acquisitionAndHold_areChildrenOfWhatTheCallerDoes() {
        other("order:4711").lock();
        CompletableFuture<LockHandle> asked = Observation.createNotStarted("request", registry)
                .observe(() -> observed.reentrantLock("order:4711").acquireAsync());
        seen().hasObservationWithNameEqualTo(WAIT).that().isNotStopped();
        other("order:4711").unlock();
        passUntil(asked::isDone);
        asked.join().release();
        for (String name : List.of(WAIT, HOLD)) {
            seen().hasObservationWithNameEqualTo(name)
                    .that()
                    .hasBeenStopped()
                    .hasParentObservationContextMatching(
                            context -> context.getName().equals("request"));
        }
    }

    private RedisReentrantLock other(String name) {
        return others.reentrantLock(name);
    }

    @Test
    void tryLock_ofABusyLock_isObservedAsBusy() {
        other("order:4711").lock();
        assertThat(job.tryLock()).isFalse();
        awaitStopped(WAIT, "busy");
        seen().hasNumberOfObservationsEqualTo(1);
    }

    @Test
    void lock_inAnOutage_isObservedAsFailed() {
        redis.failNext(1_000, call -> true, Fault.REQUEST_LOST);
        whileTimePasses(() -> assertThat(catchThrowable(job::tryLock)).isInstanceOf(LockUnavailableException.class));
        awaitStopped(WAIT, "failed");
    }

    @Test
    void loss_isAnError_withItsReason() {
        FixedLease.fixed(job, Duration.ofSeconds(1)).lock();
        clock.advanceMillis(1_000);
        assertThat(job.isHeldByCurrentThread()).isFalse();
        awaitStopped(HOLD, "expired");
        seen().hasObservationWithNameEqualTo(HOLD).that().hasError().thenError().isInstanceOf(LockLostException.class);
    }

    /** A thread comes back from a Condition with another token. */
    @Test
    void hold_overAWaitInACondition_isOne() throws InterruptedException {
        Condition changed = job.newCondition("changed");
        Thread waiter = new Thread(() -> job.runWithLock(changed::awaitUninterruptibly));
        waiter.start();
        await().until(() -> server.zset("redis-locks:{order:4711}:conditions").size() == 1);
        job.runWithLock(changed::signal);
        waiter.join();
        seen().hasNumberOfObservationsWithNameEqualTo(HOLD, 2)
                .forAllObservationsWithNameEqualTo(HOLD, hold -> hold.hasLowCardinalityKeyValue("outcome", "released"));
    }

    @Test
    void reads_areObservedAsReads() {
        RedisReadLock read = observed.readWriteLock("order:4711").readLock();
        read.lock();
        read.unlock();
        other("order:4711").lock();
        assertThat(read.tryLock()).isFalse();
        for (String name : List.of(WAIT, HOLD)) {
            seen().forAllObservationsWithNameEqualTo(
                            name, each -> each.hasLowCardinalityKeyValue(LockObservations.MODE, "read"));
        }
    }

    private ReadHandle readFor(String parent) {
        CompletableFuture<ReadHandle> asked = Observation.createNotStarted(parent, registry)
                .observe(() -> observed.readWriteLock("order:4711").readLock().acquireAsync());
        passUntil(asked::isDone);
        return asked.join();
    }

    /** All who read together have the same token, and one thread tells of their acquisitions. */
    @Test
    void reads_endEachByTheirOwnRelease() {
        List<String> ended = new CopyOnWriteArrayList<>();
        registry.observationConfig().observationHandler(new ObservationHandler<Observation.Context>() {
            @Override
            public void onStop(Observation.Context context) {
                if (context.getName().equals(HOLD)) {
                    ended.add(context.getParentObservation().getContextView().getName());
                }
            }

            @Override
            public boolean supportsContext(Observation.Context context) {
                return true;
            }
        });
        ReadHandle first = readFor("first");
        ReadHandle second = readFor("second");
        ReadHandle third = readFor("third");
        second.release();
        third.release();
        assertThat(ended).containsExactly("second", "third");
        first.release();
    }

    @Test
    void severalLocks_areObservedEach() throws InterruptedException {
        observed.multiLock(List.of("a", "b")).acquire().release();
        seen().hasNumberOfObservationsWithNameEqualTo(WAIT, 2)
                .hasNumberOfObservationsWithNameEqualTo(HOLD, 2)
                .forAllObservationsWithNameEqualTo(HOLD, hold -> hold.hasLowCardinalityKeyValue("outcome", "released"));
    }

    @Test
    void locks_withATag_haveItAsKeyOfLowCardinality() {
        observe(new LockObservations(registry, name -> name.substring(0, name.indexOf(':'))));
        job.lock();
        job.unlock();
        for (String name : List.of(WAIT, HOLD)) {
            seen().hasObservationWithNameEqualTo(name).that().hasLowCardinalityKeyValue(LockObservations.LOCK, "order");
        }
    }

    @Test
    void registryWithoutHandlers_costsNoObservation() {
        assertThat(new LockObservations(ObservationRegistry.NOOP).acquiring("a"))
                .isNull();
    }
}
