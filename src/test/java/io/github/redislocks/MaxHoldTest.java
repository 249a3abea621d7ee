package io.github.redislocks;

import static io.github.redislocks.FixedLease.fixed;
import static io.github.redislocks.fixture.twin.Verbs.verb;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.client.Inside;
import io.github.redislocks.client.LockClient;
import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.fixture.Logged;
import io.github.redislocks.fixture.Moment;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Settings;
import io.github.redislocks.state.Timing;
import io.github.redislocks.state.WaitLimit;
import io.github.redislocks.testkit.twin.Fault;
import io.github.redislocks.testkit.twin.InMemoryRedis;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Condition;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;

/** Holds that may last for a minute, of a client whose lease is 30 s. */
@Isolated("It looks at what all threads log")
class MaxHoldTest extends FakeTime {

    private static final Duration MINUTE = Duration.ofMinutes(1);
    private static final LockOptions PLAIN = LockOptions.defaults();
    private static final String WARNING = "will be lost in 20000 ms";

    /**
     * Of a hold that is renewed every 10 s: a renewal 10 s before the end is the last, and 2 ms and 1 % are taken off.
     */
    private static final long DEADLINE = 59_898;

    @Override
    Settings options() {
        return Settings.DEFAULTS.withMaxHold(MINUTE);
    }

    private void lostOnce(LockLost.Reason reason) {
        assertThat(losses).extracting(LockLost::reason).containsExactly(reason);
    }

    /** Within a few seconds, so that a hold without an end fails a test at once. */
    private void passUntilSoon(BooleanSupplier condition) {
        long latest = clock.nanoTime() + TimeUnit.SECONDS.toNanos(5);
        passUntil(() -> condition.getAsBoolean() || clock.nanoTime() > latest);
        assertThat(condition.getAsBoolean()).as("soon").isTrue();
    }

    @Test
    void threadThatHangs_losesItsHoldAtTheEnd_onceAndBeforeAnotherEnters() {
        lock.lock();
        long token = lock.fencingToken();
        pass(DEADLINE - 1);
        lock.ensureHeld();
        assertThat(losses).isEmpty();
        pass(1);
        lostOnce(LockLost.Reason.HELD_TOO_LONG);
        assertThat(lock.isHeldByCurrentThread()).isFalse();
        assertThat(lock.remainingLease()).isZero();
        assertThat(other.tryLock()).as("before the loss is reported").isFalse();
        pass(60_000 - DEADLINE);
        assertThat(server.pttl(KEY)).as("its last millisecond").isZero();
        pass(1);
        assertThat(server.hash(KEY)).isEmpty();
        assertThat(other.tryLock()).isTrue();
        assertThat(other.previousHolderLost()).isTrue();
        assertThat(other.fencingToken()).isGreaterThan(token);
        other.unlock();
        assertThatThrownBy(lock::unlock)
                .isInstanceOf(LockLostException.class)
                .hasMessageContaining("HELD_TOO_LONG")
                .hasMessageContaining("Set a longer maxHold");
        pass(60_000);
        assertThat(losses).hasSize(1);
        assertThat(inside.holds().all()).isEmpty();
    }

    @Test
    void threadOfTheSameClient_thatWaits_hasTheLockThen() throws InterruptedException {
        LockHandle hung = locks.reentrantLock("job").acquire();
        Waiter waiter = new Waiter();
        waiter.start();
        await().until(() -> lock.hasQueuedThread(waiter) && clock.isParked(waiter));
        pass(59_800);
        assertThat(waiter.holds()).isFalse();
        passUntilSoon(waiter::holds);
        assertThat(clock.nanoTime()).isBetween(59_900_000_000L, 62_000_000_000L);
        lostOnce(LockLost.Reason.HELD_TOO_LONG);
        assertThat(hung.release()).isFalse();
        waiter.end();
    }

    @Test
    void threadOfAnotherClient_thatWaits_hasTheLockThen_forAsLongAsItsOwnMaxHold() throws InterruptedException {
        RedisReentrantLock hung = others.reentrantLock("job", PLAIN.maxHold(MINUTE));
        hung.lock();
        Waiter waiter = new Waiter();
        waiter.startAndQueue();
        pass(59_800);
        assertThat(waiter.holds()).isFalse();
        passUntilSoon(waiter::holds);
        long since = clock.nanoTime();
        assertThat(since).isBetween(60_000_000_000L, 60_100_000_000L);
        pass(59_700);
        assertThat(losses).isEmpty();
        passUntilSoon(() -> !losses.isEmpty());
        lostOnce(LockLost.Reason.HELD_TOO_LONG);
        assertThat(clock.nanoTime() - since).isBetween(59_800_000_000L, 60_000_000_000L);
        waiter.setUncaughtExceptionHandler((thread, e) -> {});
        waiter.end();
    }

    @Test
    void lease_isNeverSentBeyondTheEnd() {
        lock.lock();
        pass(30_000);
        assertThat(server.pttl(KEY)).isEqualTo(30_000);
        pass(10_000);
        assertThat(server.pttl(KEY)).isEqualTo(20_000);
        pass(10_000);
        assertThat(server.pttl(KEY)).isEqualTo(10_000);
        assertThat(lock.remainingLease()).isLessThan(Duration.ofSeconds(10));
        lock.unlock();
        assertThat(losses).isEmpty();
    }

    @Test
    void end_thatComesNear_isLoggedOnce() {
        String log = Logged.by(() -> {
            lock.lock();
            pass(39_999);
            assertThat(Logged.soFar()).doesNotContain(WARNING);
            pass(1);
            assertThat(Logged.soFar()).contains(WARNING);
            pass(15_000);
        });
        assertThat(log)
                .containsOnlyOnce(WARNING)
                .contains("\"job\"", Long.toString(lock.fencingToken()), "maxHold is 60 s", "name a longer maxHold")
                .contains("thread " + Thread.currentThread().getName());
        lock.unlock();
    }

    @Test
    void end_thatComesNear_isToldToListenersOnce() {
        List<LockExpiring> heard = new CopyOnWriteArrayList<>();
        RedisLocks observed = RedisLocks.on(
                server.another(),
                Settings.DEFAULTS.withMaxHold(Duration.ofSeconds(3)),
                List.of(new LockListener() {
                    @Override
                    public void expiring(LockExpiring event) {
                        heard.add(event);
                    }
                }),
                clock);
        clients.add(observed);
        RedisReentrantLock job = observed.reentrantLock("job");
        job.lock();
        pass(1_999);
        assertThat(heard).isEmpty();
        pass(1);
        assertThat(heard)
                .containsExactly(LockExpiring.of(
                        "job",
                        job.fencingToken(),
                        "thread " + Thread.currentThread().getName(),
                        Duration.ofSeconds(1)));
        pass(2_000);
        assertThat(heard).hasSize(1);
        whileTimePasses(observed::close);
    }

    /** Nothing else is due before it. */
    @Test
    void end_thatComesNear_wakesTheWatchdog() {
        Thread watchdog = inside.watchdog().threads().get(0);
        settle();
        long began = clock.nanoTime();
        Duration limit = Duration.ofMillis(900);
        locks.reentrantLock("job", PLAIN.maxHold(limit).fixedLease(limit)).lock();
        await().until(() -> clock.wakeOf(watchdog) == began + 600_000_000);
        lock.unlock();
    }

    @Test
    void release_inTime_bringsNoWarningAndNoLoss() {
        String log = Logged.by(() -> {
            lock.lock();
            pass(39_000);
            lock.unlock();
            lock.lock();
            pass(39_000);
            lock.unlock();
            pass(60_000);
        });
        assertThat(log).doesNotContain("maxHold").doesNotContain("lost");
        assertThat(losses).isEmpty();
    }

    @Test
    void reentry_doesNotExtendBeyondTheEnd() {
        lock.lock();
        pass(35_000);
        lock.lock();
        assertThat(server.pttl(KEY)).as("from the renewal before").isEqualTo(25_000);
        fixed(lock, Duration.ofHours(1)).lock();
        assertThat(server.pttl(KEY)).isEqualTo(25_000);
        assertThat(lock.remainingLease()).isLessThan(Duration.ofSeconds(25));
        RedisReentrantLock unlimited = locks.reentrantLock("job", PLAIN.maxHold(Duration.ZERO));
        unlimited.lock();
        assertThat(unlimited.getHoldCount()).isEqualTo(4);
        pass(24_000);
        assertThat(losses).isEmpty();
        pass(1_000);
        lostOnce(LockLost.Reason.HELD_TOO_LONG);
        for (int i = 0; i < 4; i++) {
            assertThatThrownBy(lock::unlock).isInstanceOf(LockLostException.class);
        }
        assertThat(inside.holds().all()).isEmpty();
    }

    @Test
    void reentry_ofAHoldWithoutEnd_doesNotGiveItOne() {
        RedisReentrantLock unlimited = locks.reentrantLock("job", PLAIN.maxHold(Duration.ZERO));
        unlimited.lock();
        lock.lock();
        pass(120_000);
        lock.ensureHeld();
        lock.unlock();
        unlimited.unlock();
    }

    /** The watchdog learns of a hold that somebody took by its renewals. */
    @Test
    void reentry_withALeaseLongerThanTheLimit_leavesTheRenewalsAsOften() {
        RedisReentrantLock brief = locks.reentrantLock("job", PLAIN.maxHold(Duration.ofSeconds(6)));
        brief.lock();
        brief.lock();
        pass(2_000);
        server.del(KEY);
        pass(2_000);
        lostOnce(LockLost.Reason.TAKEN);
        assertThatThrownBy(brief::unlock).isInstanceOf(LockLostException.class);
        assertThatThrownBy(brief::unlock).isInstanceOf(LockLostException.class);
    }

    @Test
    void localReentry_isCountedHere_andDoesNotExtend() {
        InMemoryRedis way = server.another();
        RedisLocks client = RedisLocks.on(way, options().withLocalReentry(true), LossListener.to(losses::add), clock);
        clients.add(client);
        RedisReentrantLock local = client.reentrantLock("job");
        local.lock();
        pass(5_000);
        fixed(local, Duration.ofMinutes(5)).lock();
        assertThat(way.log().count("reenter")).as("the lease was shorter").isEqualTo(1);
        assertThat(server.pttl(KEY)).isEqualTo(55_000);
        pass(1_000);
        fixed(local, Duration.ofMinutes(5)).lock();
        assertThat(way.log().count("reenter"))
                .as("the hold lasts to its end already")
                .isEqualTo(1);
        local.lock();
        assertThat(local.getHoldCount()).isEqualTo(4);
        pass(53_000);
        local.ensureHeld();
        pass(1_000);
        lostOnce(LockLost.Reason.HELD_TOO_LONG);
        assertThat(way.log().count("reenter")).isEqualTo(1);
        for (int i = 0; i < 4; i++) {
            assertThatThrownBy(local::unlock).isInstanceOf(LockLostException.class);
        }
        whileTimePasses(client::close);
    }

    @Test
    void await_endsTheHold_andTheNextBeginsAnew() throws InterruptedException {
        Condition ready = lock.newCondition("ready");
        AtomicInteger stage = new AtomicInteger();
        Thread waiter = new Thread(() -> {
            lock.lock();
            lock.lock();
            ready.awaitUninterruptibly();
            stage.set(lock.getHoldCount());
            while (stage.get() < 3) {
                Moment.pass();
            }
        });
        waiter.setDaemon(true);
        waiter.start();
        await().until(() -> server.zset(KEY + ":conditions").size() == 1);
        pass(70_000);
        assertThat(losses).as("a waiter holds nothing").isEmpty();
        other.lock();
        other.newCondition("ready").signal();
        other.unlock();
        await().until(() -> stage.get() == 2);
        pass(59_000);
        assertThat(losses).isEmpty();
        pass(1_000);
        lostOnce(LockLost.Reason.HELD_TOO_LONG);
        stage.set(3);
        waiter.join();
    }

    @Test
    void handle_isToldThatItWasHeldTooLong() throws InterruptedException {
        LockHandle handle = locks.reentrantLock("job", PLAIN.maxHold(Duration.ofSeconds(90)))
                .acquire();
        CompletableFuture<LockLost> lost = handle.lost().toCompletableFuture();
        pass(89_000);
        handle.ensureHeld();
        assertThat(lost).isNotDone();
        pass(1_000);
        assertThat(lost).isCompleted();
        assertThat(lost.join().reason()).isEqualTo(LockLost.Reason.HELD_TOO_LONG);
        assertThat(lost.join().owner()).startsWith("handle h");
        assertThat(handle.isHeld()).isFalse();
        assertThat(handle.remainingLease()).isZero();
        assertThat(handle.release()).isFalse();
    }

    @Test
    void maxHold_endsAsyncHandle() {
        CompletableFuture<LockHandle> pending =
                locks.reentrantLock("job", PLAIN.maxHold(Duration.ofSeconds(2))).acquireAsync();
        whileTimePasses(pending::join);
        pass(2_000);
        lostOnce(LockLost.Reason.HELD_TOO_LONG);
        assertThat(pending.join().release()).isFalse();
    }

    @Test
    void fixedLeaseBeyondMaxHold_isCutToMaxHold() {
        fixed(lock, Duration.ofMinutes(5)).lock();
        assertThat(server.pttl(KEY)).isEqualTo(60_000);
        assertThat(lock.remainingLease()).isLessThan(MINUTE);
        pass(60_000);
        lostOnce(LockLost.Reason.HELD_TOO_LONG);
        assertThat(redis.log().count("renew", "renew_all")).isZero();
        assertThatThrownBy(lock::unlock).isInstanceOf(LockLostException.class);
    }

    @Test
    void fixedLeaseWithinMaxHold_expires() {
        RedisReentrantLock brief = locks.reentrantLock("job", PLAIN.fixedLease(Duration.ofSeconds(5)));
        brief.lock();
        pass(5_000);
        lostOnce(LockLost.Reason.EXPIRED);
        assertThatThrownBy(brief::unlock).isInstanceOf(LockLostException.class);
    }

    /** The grant lasts for a claim, and is confirmed with the rest of the fixed lease. */
    @Test
    void fixedLeaseBeyondMaxHold_ofAWaiter_isCutToMaxHold() throws InterruptedException {
        other.lock();
        List<Duration> held = new ArrayList<>();
        Thread waiter = new Thread(() -> {
            fixed(lock, Duration.ofMinutes(5)).lock();
            held.add(lock.remainingLease());
            while (losses.isEmpty()) {
                Moment.pass();
            }
        });
        waiter.setDaemon(true);
        waiter.start();
        await().until(() -> server.zset(KEY + ":queue").size() == 1);
        settle();
        other.unlock();
        await().until(() -> held.size() == 1);
        pass(2_000);
        assertThat(server.pttl(KEY)).isBetween(57_000L, 60_000L);
        pass(57_000);
        assertThat(losses).isEmpty();
        pass(1_000);
        lostOnce(LockLost.Reason.HELD_TOO_LONG);
        waiter.join();
    }

    @Test
    void maxHold_shorterThanTheLease_isTheLease() {
        RedisReentrantLock brief = locks.reentrantLock("job", PLAIN.maxHold(Duration.ofSeconds(6)));
        brief.lock();
        assertThat(server.pttl(KEY)).isEqualTo(6_000);
        pass(2_000);
        assertThat(server.pttl(KEY)).isEqualTo(4_000);
        pass(3_900);
        brief.ensureHeld();
        pass(100);
        lostOnce(LockLost.Reason.HELD_TOO_LONG);
        assertThatThrownBy(brief::unlock).isInstanceOf(LockLostException.class);
    }

    @Test
    void holdsOfABatch_thatEndSooner_areRenewedForTheirRest_andTheOthersForTheLease() {
        LockOptions endless = PLAIN.maxHold(Duration.ZERO);
        List<RedisReentrantLock> held = List.of(
                locks.reentrantLock("a"),
                locks.reentrantLock("b"),
                locks.reentrantLock("c", endless),
                locks.reentrantLock("d", endless));
        held.forEach(RedisReentrantLock::lock);
        pass(30_000);
        assertThat(redis.log().count("renew")).as("all by the batch").isZero();
        pass(10_000);
        assertThat(redis.log().count("renew")).isEqualTo(2);
        assertThat(server.pttl("redis-locks:{a}")).isEqualTo(20_000);
        assertThat(server.pttl("redis-locks:{d}")).isEqualTo(30_000);
        pass(20_000);
        assertThat(losses).extracting(LockLost::lockName).containsExactlyInAnyOrder("a", "b");
        assertThat(losses).extracting(LockLost::reason).containsOnly(LockLost.Reason.HELD_TOO_LONG);
        pass(60_000);
        assertThat(losses).hasSize(2);
        held.get(2).unlock();
        held.get(3).unlock();
    }

    @Test
    void redisThatIsAway_whenNothingMoreCouldBeAsked_isNotWhyTheHoldEnds() {
        lock.lock();
        pass(35_000);
        redis.down(true);
        pass(24_600);
        assertThat(losses).isEmpty();
        pass(100);
        lostOnce(LockLost.Reason.HELD_TOO_LONG);
        redis.heal();
    }

    @Test
    void redisThatIsAway_beforeThat_isWhyTheHoldEnds() {
        lock.lock();
        pass(25_000);
        redis.down(true);
        pass(25_000);
        lostOnce(LockLost.Reason.UNCONFIRMED);
        redis.heal();
    }

    @Test
    void renewalThatIsAnsweredLate_doesNotMakeItLastLonger() {
        lock.lock();
        pass(45_000);
        redis.failNext(2, verb("renew"), Fault.REPLY_LOST);
        pass(14_000);
        lock.ensureHeld();
        assertThat(server.pttl(KEY)).isEqualTo(1_000);
        pass(1_001);
        lostOnce(LockLost.Reason.HELD_TOO_LONG);
        assertThat(server.hash(KEY)).isEmpty();
    }

    @Test
    void processThatStandsStill_losesTheHoldByItsLease() {
        lock.lock();
        clock.advanceMillis(45_000);
        settle();
        lostOnce(LockLost.Reason.EXPIRED);
    }

    @Test
    void processThatStandsStillBeyondTheEnd_isNotWarned() {
        String log = Logged.by(() -> {
            lock.lock();
            pass(35_000);
            clock.advanceMillis(60_000);
            settle();
        });
        assertThat(log).doesNotContain("will be lost").contains("was lost: HELD_TOO_LONG");
        lostOnce(LockLost.Reason.HELD_TOO_LONG);
    }

    @Test
    void severalLocks_thatAreTakenByOneRequest_areLimitedAsWell() throws InterruptedException {
        MultiLockHandle both = locks.multiLock(List.of("a", "b")).acquire();
        assertThat(redis.log().count("take_all")).isEqualTo(1);
        pass(59_000);
        both.ensureHeld();
        pass(1_000);
        assertThat(both.isHeld()).isFalse();
        await().until(() -> losses.size() == 2);
        assertThat(losses).extracting(LockLost::reason).containsOnly(LockLost.Reason.HELD_TOO_LONG);
        assertThat(both.release()).isFalse();
    }

    /** The more holds there are, the more seldom all are looked at, but not too seldom for the shortest. */
    @Test
    void maxHold_shorterThanAllLeases_isHowOftenAllAreLookedAt() {
        LockClient still = new LockClient("client", Settings.DEFAULTS, List.of(), clock, server, Threads.DAEMONS);
        Inside parts = Inside.of(still);
        for (int i = 0; i < 3_000; i++) {
            Attempt.Request endless = new Attempt.Request(30_000, true, false);
            Attempt attempt =
                    new Attempt(i, LockKeys.of("p", "many" + i), parts.owners().caller(), endless, WaitLimit.endless());
            Attempt.Grant grant = new Attempt.Grant(5, false, Long.MAX_VALUE, 0, true);
            parts.holds().put(new Hold(attempt, grant, clock.nanoTime(), Long.MAX_VALUE, null));
        }
        assertThat(parts.renewals().restNanos()).isEqualTo(2_000 * 4_000);
        still.lock("job", false, Settings.DEFAULTS.withMaxHold(Duration.ofMillis(150)));
        assertThat(parts.renewals().restNanos()).isEqualTo(Timing.renewalNanos(150) / 8);
    }
}
