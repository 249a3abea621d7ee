package io.github.redislocks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.client.Inside;
import io.github.redislocks.micrometer.LockMetrics;
import io.github.redislocks.state.Settings;
import io.github.redislocks.testkit.twin.InMemoryRedis;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The events, metrics and inspections of a client that keeps its locks for 10 s. */
class ResidencyEventsTest extends FakeTime {

    private static final Duration KEPT = Duration.ofSeconds(10);

    private final List<LockAcquired> acquired = new CopyOnWriteArrayList<>();
    private final List<LockGivenUp> givenUp = new CopyOnWriteArrayList<>();
    /** The listener is busy until this is open. */
    private final CountDownLatch quick = new CountDownLatch(1);

    private volatile boolean slow;
    private final LockMetrics metrics = new LockMetrics(name -> "kind");
    private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
    private final InMemoryRedis mine = server.another();
    private RedisLocks keeper;
    private RedisReentrantLock job;

    private final class Recorder implements LockListener {

        @Override
        public void acquired(LockAcquired event) {
            acquired.add(event);
        }

        @Override
        public void givenUp(LockGivenUp event) {
            if (slow) {
                try {
                    quick.await();
                } catch (InterruptedException e) {
                    throw new AssertionError(e);
                }
            }
            givenUp.add(event);
        }
    }

    @BeforeEach
    void listen() {
        keeper = RedisLocks.on(mine, Settings.DEFAULTS.withResidency(KEPT), List.of(new Recorder(), metrics), clock);
        clients.add(keeper);
        metrics.watch(keeper);
        metrics.bindTo(registry);
        job = keeper.reentrantLock("job");
        await().until(() -> Inside.of(keeper.client()).mailbox().isOpen());
    }

    @AfterEach
    void closeKeeper() {
        quick.countDown();
        whileTimePasses(() -> true, keeper::close);
    }

    private void use() {
        job.lock();
        job.unlock();
    }

    /** Keeps the lock, and has tokens for more. */
    private void keep() {
        use();
        pass(1_500);
        assertThat(keeper.countResident()).isEqualTo(1);
    }

    private CompletableFuture<Void> elsewhere(Runnable action) {
        CompletableFuture<Void> result = new CompletableFuture<>();
        new Thread(() -> {
                    try {
                        action.run();
                        result.complete(null);
                    } catch (Throwable e) {
                        result.completeExceptionally(e);
                    }
                })
                .start();
        return result;
    }

    private static void ended(CompletableFuture<Void> there) throws Exception {
        there.get(20, TimeUnit.SECONDS);
    }

    private CompletableFuture<Void> wantedByAnother() {
        CompletableFuture<Void> there = elsewhere(() -> {
            other.lock();
            other.unlock();
        });
        await().until(() -> server.zset(KEY + ":queue").size() == 1);
        return there;
    }

    private LockGivenUp onlyOne() {
        await().until(() -> !givenUp.isEmpty());
        settle();
        assertThat(givenUp).hasSize(1);
        return givenUp.get(0);
    }

    private double counted(LockGivenUp.Reason reason) {
        return registry.get(LockMetrics.GIVEN_UP)
                .tag(LockMetrics.REASON, reason.name().toLowerCase(Locale.ROOT))
                .functionCounter()
                .count();
    }

    private void assertOnly(LockGivenUp.Reason reason) {
        LockGivenUp event = onlyOne();
        assertThat(event.reason()).isEqualTo(reason);
        assertThat(event.lockName()).isEqualTo("job");
        assertThat(event.sinceRecall().isPresent()).isEqualTo(reason == LockGivenUp.Reason.RECALLED);
        for (LockGivenUp.Reason each : LockGivenUp.Reason.values()) {
            assertThat(counted(each)).as(each.name()).isEqualTo(each == reason ? 1 : 0);
        }
    }

    @Test
    void acquisition_isLocal_onlyIfItNeededNoRequest() throws Exception {
        keep();
        use();
        job.lock();
        job.lock();
        job.unlock();
        job.unlock();
        keeper.reentrantLock("elsewhere").runWithLock(() -> {});
        keeper.reentrantLock("job").acquire().close();
        assertThat(acquired).extracting(LockAcquired::isLocal).containsExactly(false, true, true, false, false);
        assertThat(registry.get(LockMetrics.LOCAL)
                        .tag(LockMetrics.LOCK, "kind")
                        .tag(LockMetrics.MODE, "write")
                        .counter()
                        .count())
                .isEqualTo(2);
    }

    @Test
    void acquisition_forWhoseTokenRedisWasAsked_isNotLocal() {
        use();
        pass(100);
        while (mine.log().count("reenter") == 0) {
            use();
        }
        assertThat(acquired.get(acquired.size() - 1).isLocal()).isFalse();
        assertThat(acquired.get(acquired.size() - 2).isLocal()).isTrue();
        assertThat(givenUp).isEmpty();
    }

    @Test
    void acquisition_afterAnotherThread_isLocal() throws Exception {
        keep();
        job.lock();
        CompletableFuture<Void> waiter = elsewhere(this::use);
        await().until(job::hasQueuedThreads);
        clock.advanceMillis(30);
        job.unlock();
        ended(waiter);
        LockAcquired last = acquired.get(acquired.size() - 1);
        assertThat(last.isLocal()).isTrue();
        assertThat(last.waited()).isEqualTo(Duration.ofMillis(30));
    }

    @Test
    void recall_ofAHeldLock_isTimedUntilItsUnlock() throws Exception {
        keep();
        use();
        job.lock();
        CompletableFuture<Void> there = wantedByAnother();
        settle();
        clock.advanceMillis(40);
        job.unlock();
        ended(there);
        assertThat(onlyOne())
                .isEqualTo(LockGivenUp.recalled("job", Duration.ofMillis(1_540), 3, Duration.ofMillis(40)));
        assertOnly(LockGivenUp.Reason.RECALLED);
        Timer recalls =
                registry.get(LockMetrics.RECALL).tag(LockMetrics.LOCK, "kind").timer();
        assertThat(recalls.count()).isEqualTo(1);
        assertThat(recalls.totalTime(TimeUnit.MILLISECONDS)).isEqualTo(40);
    }

    @Test
    void recall_thatIsRepeated_isTimedFromTheFirst() throws Exception {
        keep();
        job.lock();
        CompletableFuture<Void> there = wantedByAnother();
        settle();
        pass(4_000);
        job.unlock();
        ended(there);
        assertThat(onlyOne().sinceRecall()).contains(Duration.ofSeconds(4));
    }

    @Test
    void recall_ofAKeptLock_isAnsweredAtOnce() throws Exception {
        keep();
        ended(wantedOnce());
        assertThat(onlyOne()).isEqualTo(LockGivenUp.recalled("job", Duration.ofMillis(1_500), 1, Duration.ZERO));
        assertThat(keeper.countResident()).isZero();
    }

    private CompletableFuture<Void> wantedOnce() {
        return elsewhere(() -> {
            other.lock();
            other.unlock();
        });
    }

    @Test
    void tryOfAnother_isARecall() throws Exception {
        keep();
        ended(elsewhere(() -> assertThat(other.tryLock()).isTrue()));
        assertOnly(LockGivenUp.Reason.RECALLED);
    }

    @Test
    void keptForItsTime_isIdle() {
        keep();
        use();
        use();
        assertThat(registry.get(LockMetrics.RESIDENT).gauge().value()).isEqualTo(1);
        pass(KEPT.toMillis() + 1_001);
        assertOnly(LockGivenUp.Reason.IDLE);
        assertThat(onlyOne().acquisitions()).isEqualTo(3);
        assertThat(onlyOne().lasted()).isBetween(KEPT, KEPT.plusMillis(2_502));
        assertThat(registry.get(LockMetrics.RESIDENT).gauge().value()).isZero();
    }

    @Test
    void keptBesidesOthers_isOneTooMany() {
        RedisLocks few = RedisLocks.on(
                server.another(),
                Settings.DEFAULTS.withResidency(KEPT).withMaxResident(1),
                List.of(new Recorder(), metrics),
                clock);
        clients.add(few);
        List<RedisReentrantLock> locks = List.of(few.reentrantLock("job"), few.reentrantLock("next"));
        await().until(() -> Inside.of(few.client()).mailbox().isOpen());
        for (RedisReentrantLock lock : locks) {
            lock.lock();
            lock.unlock();
            pass(10);
        }
        assertOnly(LockGivenUp.Reason.TOO_MANY);
        assertThat(few.countResident()).isEqualTo(1);
    }

    @Test
    void whatWaited_mayBeWantedByOthers() throws Exception {
        other.lock();
        CompletableFuture<Void> there = elsewhere(() -> {
            job.lock();
            clock.advanceMillis(1);
            job.unlock();
        });
        await().until(() -> server.zset(KEY + ":queue").size() == 1);
        settle();
        other.unlock();
        ended(there);
        assertOnly(LockGivenUp.Reason.CONTENDED);
    }

    @Test
    void handle_needsAHoldOfItsOwn() throws Exception {
        keep();
        keeper.reentrantLock("job").acquire().close();
        assertOnly(LockGivenUp.Reason.OWN_HOLD);
    }

    @Test
    void waitInACondition_needsAHoldOfItsOwn() throws Exception {
        keep();
        Condition condition = job.newCondition("c");
        CompletableFuture<Void> waiter = elsewhere(() -> {
            job.lock();
            try {
                condition.awaitUninterruptibly();
            } finally {
                job.unlock();
            }
        });
        await().until(() -> server.hash(KEY + ":waiters").size() == 1);
        assertOnly(LockGivenUp.Reason.OWN_HOLD);
        assertThat(onlyOne().acquisitions()).isEqualTo(2);
        other.lock();
        other.newCondition("c").signal();
        other.unlock();
        pass(10);
        ended(waiter);
    }

    @Test
    void close_givesUp() {
        keep();
        whileTimePasses(keeper::close);
        assertOnly(LockGivenUp.Reason.CLOSED);
    }

    @Test
    void withoutASubscription_nothingIsKept() {
        keep();
        job.lock();
        // So that it is not opened anew.
        mine.down(true);
        mine.dropSubscriptions();
        await().until(() -> !Inside.of(keeper.client()).mailbox().isOpen());
        Inside.of(keeper.client()).mailbox().close();
        mine.heal();
        clock.advanceMillis(1);
        job.unlock();
        assertOnly(LockGivenUp.Reason.NOT_LISTENING);
    }

    @Test
    void clockThatStandsStill_leavesNoToken() {
        use();
        use();
        // The event of the second use may come before: it ends while the first is released in the background.
        LockGivenUp first = LockGivenUp.of("job", LockGivenUp.Reason.NO_TOKEN, Duration.ZERO, 1);
        await().until(() -> givenUp.contains(first));
    }

    @Test
    void keptThatIsForced_isNotGivenUp() {
        keep();
        assertThat(other.forceUnlock()).isTrue();
        pass(1_500);
        assertThat(keeper.countResident()).isZero();
        assertThat(givenUp).isEmpty();
    }

    @Test
    void slowListener_delaysNobody() throws Exception {
        keep();
        slow = true;
        ended(wantedOnce());
        ended(elsewhere(this::use));
        assertThat(givenUp).isEmpty();
        quick.countDown();
        await().until(() -> !givenUp.isEmpty());
        assertThat(givenUp.get(0).reason()).isEqualTo(LockGivenUp.Reason.RECALLED);
    }

    @Test
    void inspection_ofAKeptLock_saysByWhomAndSinceWhen() {
        keep();
        use();
        LockInspection seen = others.inspect("job");
        LockInspection.Holder holder = seen.holder().orElseThrow();
        assertThat(holder.owner().isResidence()).isTrue();
        assertThat(holder.owner().clientId()).isEqualTo(keeper.clientId());
        assertThat(seen.toString())
                .isEqualTo("Lock \"job\" kept by " + holder.owner() + " for its threads, since " + holder.since()
                        + ", token " + holder.token() + ", lease "
                        + holder.remainingLease().toMillis() + " ms");
        assertThat(others.list("job"))
                .singleElement()
                .satisfies(one -> assertThat(one.toString()).isEqualTo(seen.toString()));
    }

    @Test
    void inspection_ofAThread_saysSinceWhenItHasTheLock() {
        keep();
        LockInspection.Holder kept = keeper.inspect("job").holder().orElseThrow();
        assertThat(kept.owner().isResidence()).isTrue();
        clock.advanceMillis(500);
        job.lock();
        LockInspection.Holder holder = keeper.inspect("job").holder().orElseThrow();
        assertThat(holder.owner().isResidence()).isFalse();
        assertThat(holder.token()).isEqualTo(job.fencingToken());
        assertThat(holder.since()).isEqualTo(kept.since().plusMillis(2_000));
        assertThat(others.inspect("job").holder().orElseThrow().since()).isEqualTo(kept.since());
        job.unlock();
    }
}
