package io.github.redislocks;

import static io.github.redislocks.FixedLease.fixed;
import static io.github.redislocks.fixture.twin.Verbs.verb;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.client.Inside;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Settings;
import io.github.redislocks.state.WaitLimit;
import io.github.redislocks.testkit.twin.Fault;
import io.github.redislocks.testkit.twin.HeldCalls;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Predicate;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Re-entry and unlock when Redis does not answer, or refuses. */
class UnansweredTest extends FakeTime {

    @AfterEach
    void forgetInterrupts() {
        assertThat(Thread.interrupted()).isFalse();
    }

    private static boolean isReentry(Call call) {
        return call.script().name().equals("reenter");
    }

    private void assertHeld(int times) {
        assertThat(lock.getHoldCount()).isEqualTo(times);
        assertThat(server.hash(KEY)).containsEntry("holds", Integer.toString(times));
    }

    @Test
    void shortHold_whoseReleaseIsSentTwice_isReleased() {
        assertThat(lock.tryLock()).isTrue();
        redis.failNext(call -> call.script().name().equals("free"), Fault.SENT_TWICE);
        lock.unlock();
        assertThat(redis.log().count("free")).isEqualTo(2);
        assertThat(redis.log().count("release")).isEqualTo(1);
        assertThat(losses).isEmpty();
        assertThat(other.tryLock()).isTrue();
        other.unlock();
    }

    @Test
    void shortHold_thatSomebodyRemoved_isToldAsTaken() {
        assertThat(lock.tryLock()).isTrue();
        server.del(KEY);
        assertThatThrownBy(lock::unlock).isInstanceOf(LockLostException.class);
        assertThat(redis.log().count("free")).isEqualTo(1);
    }

    @Test
    void holdThatIsLost_whileItsRenewalsWereNotAnswered_isEndedInRedis() {
        lock.lock();
        redis.failNext(1_000, verb("renew"), Fault.REPLY_LOST);
        pass(30_000);
        assertThat(losses).extracting(LockLost::reason).containsExactly(LockLost.Reason.UNCONFIRMED);
        pass(1_000);
        assertThat(server.hash(KEY)).as("a renewal had prolonged the hold").isEmpty();
        assertThat(other.tryLock()).isTrue();
        assertThat(other.previousHolderLost()).isTrue();
        other.unlock();
    }

    @Test
    void holdThatTheWatchdogFindsLost_isEndedInRedis_thoughNothingElseWakesIt() {
        lock.lock();
        redis.failNext(1_000, verb("renew"), Fault.REPLY_LOST);
        pass(29_600);
        int ends = redis.log().count("leave");
        clock.advanceMillis(200);
        await().until(() -> redis.log().count("leave") > ends);
        await().until(() -> server.hash(KEY).isEmpty());
    }

    /** Tries to enter once more with a lease, for a moment. */
    private void reentryFails(Duration lease) {
        whileTimePasses(() -> assertThatExceptionOfType(LockUnavailableException.class)
                .isThrownBy(() -> fixed(lock, lease).tryLock(Duration.ofMillis(50))));
    }

    @Test
    void holdThatIsLost_whileAReentryWasNotAnswered_isEndedInRedis() {
        fixed(lock, Duration.ofSeconds(3)).lock();
        redis.failNext(1_000, UnansweredTest::isReentry, Fault.REPLY_LOST);
        reentryFails(Duration.ofHours(1));
        pass(4_000);
        assertThat(losses).extracting(LockLost::reason).containsExactly(LockLost.Reason.UNCONFIRMED);
        assertThat(server.hash(KEY))
                .as("the re-entry had prolonged the hold for an hour")
                .isEmpty();
    }

    @Test
    void holdThatIsLostInALongOutage_isEndedInRedisAfterIt_ifAReentryMayHaveMadeItLast() {
        fixed(lock, Duration.ofSeconds(3)).lock();
        redis.failNext(1_000, UnansweredTest::isReentry, Fault.REPLY_LOST);
        reentryFails(Duration.ofHours(1));
        redis.down(true);
        pass(120_000);
        redis.heal();
        assertThat(server.hash(KEY)).isNotEmpty();
        pass(2_000);
        assertThat(server.hash(KEY)).isEmpty();
    }

    @Test
    void holdWhoseReentryWasAnswered_expires() throws InterruptedException {
        fixed(lock, Duration.ofSeconds(3)).lock();
        assertThat(fixed(lock, Duration.ofSeconds(4)).tryLock(Duration.ofMillis(50)))
                .isTrue();
        pass(5_000);
        assertThat(losses).extracting(LockLost::reason).containsExactly(LockLost.Reason.EXPIRED);
        assertThat(redis.log().count("leave"))
                .as("nothing is to be ended in Redis")
                .isZero();
    }

    @Test
    void holdWhoseReentryWasRefused_expires() {
        fixed(lock, Duration.ofSeconds(3)).lock();
        redis.failNext(1, UnansweredTest::isReentry, Fault.refused("NOPERM of the test"));
        reentryFails(Duration.ofHours(1));
        pass(4_000);
        assertThat(losses).extracting(LockLost::reason).containsExactly(LockLost.Reason.EXPIRED);
        assertThat(redis.log().count("leave"))
                .as("nothing is to be ended in Redis")
                .isZero();
    }

    @Test
    void holdWhoseReentryWasRefusedAfterATryThatWasNotAnswered_isEndedInRedis() {
        fixed(lock, Duration.ofSeconds(3)).lock();
        redis.failNext(1, UnansweredTest::isReentry, Fault.REPLY_LOST);
        redis.failNext(1, UnansweredTest::isReentry, Fault.refused("NOPERM of the test"));
        reentryFails(Duration.ofHours(1));
        pass(4_000);
        assertThat(losses).hasSize(1);
        assertThat(server.hash(KEY))
                .as("the first try had prolonged the hold for an hour")
                .isEmpty();
    }

    @Test
    void holdWhoseReentryWasRefusedAfterRenewalsThatWereNotAnswered_isEndedInRedis() {
        lock.lock();
        redis.failNext(1_000, verb("renew"), Fault.REPLY_LOST);
        pass(29_600);
        redis.failNext(1, UnansweredTest::isReentry, Fault.refused("NOPERM of the test"));
        whileTimePasses(() -> assertThatExceptionOfType(LockUnavailableException.class)
                .isThrownBy(() -> fixed(lock, Duration.ofSeconds(31)).tryLock(Duration.ofMillis(20))));
        pass(1_000);
        assertThat(losses).extracting(LockLost::reason).containsExactly(LockLost.Reason.UNCONFIRMED);
        assertThat(server.hash(KEY)).as("a renewal had prolonged the hold").isEmpty();
    }

    /** No later answer takes a lease back that Redis has given. */
    @Test
    void holdWhoseReentryWasNotAnswered_thoughALaterOneWas_isEndedInRedis() throws InterruptedException {
        fixed(lock, Duration.ofSeconds(3)).lock();
        redis.failNext(1_000, UnansweredTest::isReentry, Fault.REPLY_LOST);
        reentryFails(Duration.ofHours(1));
        redis.heal();
        assertThat(fixed(lock, Duration.ofSeconds(5)).tryLock(Duration.ofMillis(50)))
                .isTrue();
        pass(6_000);
        assertThat(losses).extracting(LockLost::reason).containsExactly(LockLost.Reason.EXPIRED);
        assertThat(server.hash(KEY))
                .as("the first re-entry had prolonged the hold for an hour")
                .isEmpty();
    }

    /** The same, where the later answer is that to a renewal, and the process then stands still. */
    @Test
    void holdWhoseReentryWasNotAnswered_thoughRenewalsWere_isEndedInRedis() {
        lock.lock();
        redis.failNext(1_000, UnansweredTest::isReentry, Fault.REPLY_LOST);
        reentryFails(Duration.ofHours(1));
        redis.heal();
        pass(15_000);
        assertThat(losses).isEmpty();
        clock.advanceMillis(31_000);
        pass(1_000);
        assertThat(losses).extracting(LockLost::reason).containsExactly(LockLost.Reason.EXPIRED);
        assertThat(server.hash(KEY)).isEmpty();
    }

    /** Acquires "job" and another lock, which comes later, and with which the fixed lease begins. */
    private void acquireForAFixedLease(int times, Fault fault) throws Exception {
        RedisReentrantLock second = others.reentrantLock("second");
        second.lock();
        FutureTask<MultiLockHandle> acquiring = new FutureTask<>(() -> locks.multiLock(
                        List.of("job", "second"), LockOptions.defaults().fixedLease(Duration.ofSeconds(20)))
                .acquire());
        new Thread(acquiring).start();
        await().until(() -> server.zset("redis-locks:{second}:queue").size() == 1);
        pass(5_500);
        redis.failNext(times, UnansweredTest::isReentry, fault);
        second.unlock();
        assertThat(acquiring.get()).isNotNull();
        assertThat(server.pttl(KEY)).isEqualTo(20_000);
    }

    /** The lease that a fixed one begins with, once all locks are there, may be given and not told. */
    @Test
    void fixedLeaseOfSeveralLocks_thatWasNotTold_isEndedInRedisWithTheHold() throws Exception {
        acquireForAFixedLease(1, Fault.REPLY_LOST);
        pass(14_600);
        assertThat(losses).extracting(LockLost::lockName).containsExactly("job");
        assertThat(server.hash(KEY)).as("in Redis it would last for 5 s more").isEmpty();
    }

    @Test
    void fixedLeaseOfSeveralLocks_thatWasTold_expires() throws Exception {
        acquireForAFixedLease(0, Fault.REPLY_LOST);
        pass(20_500);
        assertThat(losses).extracting(LockLost::lockName).contains("job");
        assertThat(redis.log().count("leave"))
                .as("nothing is to be ended in Redis")
                .isZero();
    }

    @Test
    void fixedLeaseOfSeveralLocks_ofWhichACopyMayRunLate_isEndedInRedisWithTheHold() throws Exception {
        acquireForAFixedLease(1, Fault.FIRST_COPY_LATE);
        pass(20_500);
        assertThat(losses).extracting(LockLost::lockName).contains("job");
        assertThat(redis.log().count("leave")).isOne();
    }

    @Test
    void holdThatComesBackFromACondition_hasNotTheLeaseOfAReentryThatFailed() {
        fixed(lock, Duration.ofSeconds(5)).lock();
        redis.failNext(1_000, UnansweredTest::isReentry, Fault.REQUEST_LOST);
        reentryFails(Duration.ofHours(5));
        redis.heal();
        whileTimePasses(() -> assertThat(awaits(300)).isFalse());
        pass(2_500);
        assertThat(lock.remainingLease()).isLessThan(Duration.ofSeconds(5));
        assertThat(server.pttl(KEY)).isLessThanOrEqualTo(5_000);
        lock.unlock();
    }

    private boolean awaits(long millis) {
        try {
            return lock.newCondition("ready").await(millis, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void reentry_executedButNotAnswered_countsOnce() {
        lock.lock();
        redis.failNext(1, UnansweredTest::isReentry, Fault.REPLY_LOST);
        long began = clock.nanoTime();
        whileTimePasses(lock::lock);
        assertThat(Duration.ofNanos(clock.nanoTime() - began)).isLessThan(Duration.ofMillis(100));
        assertHeld(2);
    }

    @Test
    void reentry_refused_saysSoAtOnceAndLeavesTheHoldAsItWas() {
        lock.lock();
        redis.failNext(
                1,
                UnansweredTest::isReentry,
                Fault.refused("NOPERM User u has no permissions to run the 'evalsha' command"));
        assertThatExceptionOfType(LockUnavailableException.class)
                .isThrownBy(lock::lock)
                .satisfies(e -> assertThat(e.reason()).isEqualTo(LockUnavailableException.Reason.REFUSED))
                .withMessageContaining("was not entered once more")
                .withMessageContaining("as often as before");
        assertHeld(1);
    }

    /** Refused by a server that is full, again and again, while it answers what takes no room. */
    private void refusedForItsTime(String script, RedisReentrantLock wanted) {
        RedisReentrantLock free = locks.reentrantLock("free");
        redis.failNext(
                2_000,
                verb(script).and(call -> !free.isLocked()),
                Fault.refused("OOM command not allowed when used memory > 'maxmemory'."));
        long began = clock.nanoTime();
        whileTimePasses(() -> assertThatExceptionOfType(LockUnavailableException.class)
                .isThrownBy(wanted::lock)
                .withMessageContaining("OOM"));
        assertThat(Duration.ofNanos(clock.nanoTime() - began))
                .isBetween(Duration.ofSeconds(10), Duration.ofSeconds(12));
    }

    @Test
    void lock_refusedWhileOtherCallsAreAnswered_endsAfterItsTime() {
        refusedForItsTime("acquire", lock);
    }

    @Test
    void reentry_refusedWhileOtherCallsAreAnswered_endsAfterItsTimeAndLeavesTheHoldAsItWas() {
        lock.lock();
        refusedForItsTime("reenter", lock);
        assertHeld(1);
    }

    @Test
    void waiter_whoseHeartbeatsAreRefused_isToldWhyAfterItsTime() throws InterruptedException {
        other.lock();
        AtomicReference<Throwable> thrown = new AtomicReference<>();
        Thread waiter = new Thread(lock::lock);
        waiter.setUncaughtExceptionHandler((thread, e) -> thrown.set(e));
        waiter.start();
        await().until(() -> server.zset(KEY + ":queue").size() == 1);
        settle();
        redis.failNext(1_000, call -> call.script().name().equals("heartbeat"), Fault.refused("OOM: full"));
        pass(13_000);
        waiter.join();
        assertThat(thrown.get()).isInstanceOf(LockUnavailableException.class).hasMessageContaining("OOM: full");
        other.unlock();
    }

    @Test
    void reentry_whileRedisIsAway_triesForItsTimeAndLeavesTheHoldAsItWas() {
        RedisLocks patient = RedisLocks.on(redis, Settings.DEFAULTS, List.of(), clock);
        RedisReentrantLock held = patient.reentrantLock("job");
        held.lock();
        redis.down(true);
        long began = clock.nanoTime();
        whileTimePasses(() -> assertThatThrownBy(held::lock).isInstanceOf(LockUnavailableException.class));
        assertThat(clock.nanoTime() - began).isGreaterThan(Settings.DEFAULTS.retryForNanos());
        assertThat(held.getHoldCount()).isEqualTo(1);
        redis.heal();
        held.unlock();
        whileTimePasses(patient::close);
    }

    @Test
    void reentry_timedWhileRedisIsAway_endsWithItsTime() {
        lock.lock();
        redis.down(true);
        long began = clock.nanoTime();
        whileTimePasses(() -> assertThatThrownBy(() -> lock.tryLock(50, TimeUnit.MILLISECONDS))
                .isInstanceOf(LockUnavailableException.class));
        assertThat(clock.nanoTime() - began).isGreaterThanOrEqualTo(50_000_000);
        assertHeld(1);
    }

    @Test
    void reentry_interruptedWhileRedisIsAway_endsByThatAndLeavesTheHoldAsItWas() {
        lock.lock();
        redis.failNext(
                3,
                call -> {
                    if (isReentry(call)) {
                        Thread.currentThread().interrupt();
                    }
                    return isReentry(call);
                },
                Fault.REQUEST_LOST);
        whileTimePasses(() -> assertThatThrownBy(lock::lockInterruptibly).isInstanceOf(InterruptedException.class));
        assertHeld(1);
    }

    @Test
    void reentry_byAnInterruptedThread_isAsOfAnyLock() {
        lock.lock();
        Thread.currentThread().interrupt();
        assertThatThrownBy(lock::lockInterruptibly).isInstanceOf(InterruptedException.class);
        Thread.currentThread().interrupt();
        lock.lock();
        assertThat(Thread.interrupted()).isTrue();
        assertHeld(2);
    }

    @Test
    void reentry_unansweredUntilTheDeadline_isALoss_andAcquiresAnew() {
        fixed(lock, Duration.ofSeconds(3)).lock();
        long token = lock.fencingToken();
        redis.failNext(Integer.MAX_VALUE, UnansweredTest::isReentry, Fault.REQUEST_LOST);
        whileTimePasses(lock::lock);
        assertThat(lock.fencingToken()).isGreaterThan(token);
        await().until(() -> losses.size() == 1);
        assertThat(losses.get(0).reason()).isEqualTo(LockLost.Reason.UNCONFIRMED);
        lock.unlock();
        assertThatThrownBy(lock::unlock).isInstanceOf(LockLostException.class);
    }

    @Test
    void unlock_notAnsweredUntilTheDeadline_isALoss() {
        fixed(lock, Duration.ofSeconds(3)).lock();
        HeldCalls held = redis.hold(verb("release"));
        Thread mover = new Thread(() -> {
            held.awaitParked(1, Duration.ofSeconds(5));
            clock.advanceMillis(3_000);
        });
        mover.start();
        assertThatExceptionOfType(LockLostException.class)
                .isThrownBy(lock::unlock)
                .satisfies(e -> assertThat(e.reason()).isEqualTo(LockLost.Reason.UNCONFIRMED));
        await().until(() -> losses.size() == 1);
        held.release();
    }

    @Test
    void unlock_ofALostHold_saysSoAsOftenAsItWasHeld() {
        lock.lock();
        lock.lock();
        server.del(KEY);
        pass(10_000);
        assertThatThrownBy(lock::unlock).isInstanceOf(LockLostException.class);
        assertThatThrownBy(lock::unlock).isInstanceOf(LockLostException.class);
        assertThatThrownBy(lock::unlock)
                .isInstanceOf(IllegalMonitorStateException.class)
                .isNotInstanceOf(LockLostException.class);
    }

    @Test
    void unlock_ofAHoldThatIsGone_isALoss_andTheListenerHearsIt() {
        lock.lock();
        server.del(KEY);
        assertThatExceptionOfType(LockLostException.class)
                .isThrownBy(lock::unlock)
                .satisfies(e -> assertThat(e.reason()).isEqualTo(LockLost.Reason.TAKEN));
        await().until(() -> losses.size() == 1);
    }

    @Test
    void unlock_answeredOrNot_leavesNothingInTheBooks() {
        lock.lock();
        lock.unlock();
        assertThat(inside.holds().all()).isEmpty();
        lock.lock();
        redis.failNext(1, verb("release"), Fault.REPLY_LOST);
        lock.unlock();
        assertThat(inside.holds().all()).isEmpty();
    }

    @Test
    void isLocked_afterClose_isRefused() {
        whileTimePasses(locks::close);
        assertThatThrownBy(lock::isLocked)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("closed");
        assertThatThrownBy(lock::lock).isInstanceOf(IllegalStateException.class).hasMessageContaining("closed");
    }

    @Test
    void attempt_thatBeginsJustAfterClose_doesNotBegin() {
        whileTimePasses(locks::close);
        Inside client = inside;
        LockKeys keys = LockKeys.of("redis-locks", "job");
        Attempt.Request request = new Attempt.Request(30_000, true, false);
        // As of a thread that was let in before, and that close did not find under way.
        Attempt attempt = client.attempts().make(keys, client.owners().caller(), request, WaitLimit.endless());
        assertThatThrownBy(() -> client.attempts().begin(attempt)).isInstanceOf(IllegalStateException.class);
        assertThat(client.attempts().all()).isEmpty();
    }

    @Test
    void isLocked_whileRedisIsAway_saysThatItCannotKnow() {
        redis.down(true);
        assertThatExceptionOfType(LockUnavailableException.class)
                .isThrownBy(lock::isLocked)
                .withMessageContaining("could not be looked at");
    }

    /** Has a thread that holds the lock do something that Redis does not answer, and be interrupted meanwhile. */
    private void pausesThoughInterrupted(String verb, Runnable action) throws InterruptedException {
        AtomicInteger asked = new AtomicInteger();
        redis.hold(call -> {
            if (verb(verb).test(call)) {
                asked.incrementAndGet();
                throw new RedisException.Unanswered("of the test", false, null);
            }
            return false;
        });
        AtomicBoolean interrupted = new AtomicBoolean();
        Thread thread = new Thread(() -> {
            lock.lock();
            action.run();
            interrupted.set(Thread.interrupted());
            lock.unlock();
        });
        thread.start();
        await().until(() -> asked.get() > 0 && clock.isParked(thread));
        thread.interrupt();
        for (int i = 0; i < 5; i++) {
            int before = asked.get();
            await().until(() -> thread.getState() == Thread.State.WAITING);
            assertThat(asked.get()).as("asked without a pause").isLessThanOrEqualTo(before + 1);
            clock.advanceMillis(20);
            await().until(() -> asked.get() > before);
        }
        redis.heal();
        whileTimePasses(thread, () -> awaitEnd(thread));
        assertThat(interrupted).isTrue();
    }

    @Test
    void signalOfAnInterruptedThread_pausesBetweenItsRequests() throws InterruptedException {
        pausesThoughInterrupted("signal", () -> lock.newCondition("ready").signalAll());
    }

    @Test
    void awaitOfAnInterruptedThread_pausesBetweenItsRequests() throws InterruptedException {
        pausesThoughInterrupted("await", () -> {
            try {
                lock.newCondition("ready").await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
    }

    @Test
    void tryLock_thatIsRefusedForNow_asksOnce() {
        AtomicInteger asked = new AtomicInteger();
        redis.hold(call -> {
            asked.incrementAndGet();
            throw new RedisException.Refused("OOM command not allowed", null);
        });
        assertThatThrownBy(lock::tryLock)
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageContaining("OOM");
        assertThat(asked).hasValue(1);
        redis.heal();
        assertThat(lock.tryLock()).isTrue();
    }

    /** Remembers the first call of a kind. */
    private AtomicReference<Call> first(Predicate<Call> kind) {
        AtomicReference<Call> first = new AtomicReference<>();
        redis.hold(call -> {
            if (kind.test(call)) {
                first.compareAndSet(null, call);
            }
            return false;
        });
        return first;
    }

    private void assertEndedInRedisByNow() {
        assertThat(losses).hasSize(1);
        assertThat(server.hash(KEY)).as("it had been made to last").isEmpty();
    }

    @Test
    void holdThatIsLost_whileAnEarlierTryOfAReentryRanLate_isEndedInRedis() {
        fixed(lock, Duration.ofSeconds(3)).lock();
        AtomicReference<Call> late = first(UnansweredTest::isReentry);
        redis.failNext(1, UnansweredTest::isReentry, Fault.REQUEST_LOST);
        whileTimePasses(() -> fixed(lock, Duration.ofSeconds(60)).lock());
        pass(50_000);
        redis.runLate(late.get());
        pass(12_000);
        assertEndedInRedisByNow();
    }

    @Test
    void holdThatIsLost_whileAnEarlierCopyOfAReentryRanLate_isEndedInRedis() throws InterruptedException {
        fixed(lock, Duration.ofSeconds(3)).lock();
        AtomicReference<Call> late = first(UnansweredTest::isReentry);
        redis.failNext(1, UnansweredTest::isReentry, Fault.FIRST_COPY_LATE);
        assertThat(fixed(lock, Duration.ofSeconds(60)).tryLock(Duration.ofMillis(500)))
                .isTrue();
        pass(50_000);
        redis.runLate(late.get());
        pass(12_000);
        assertEndedInRedisByNow();
    }

    @Test
    void holdThatIsLost_whileAnEarlierRenewalRanLate_isEndedInRedis() {
        lateRenewal(Fault.REQUEST_LOST);
    }

    @Test
    void holdThatIsLost_whileAnEarlierCopyOfARenewalRanLate_isEndedInRedis() {
        lateRenewal(Fault.FIRST_COPY_LATE);
    }

    /** A renewal runs after a later one was answered, and after the acquisition that asks for renewals has ended. */
    private void lateRenewal(Fault fault) {
        fixed(lock, Duration.ofSeconds(3)).lock();
        lock.lock();
        AtomicReference<Call> late = first(verb("renew"));
        redis.failNext(1, verb("renew"), fault);
        pass(13_000);
        lock.unlock();
        pass(26_000);
        assertThat(losses).isEmpty();
        redis.runLate(late.get());
        pass(5_000);
        assertEndedInRedisByNow();
    }

    @Test
    void reentryThatIsRefused_whileARenewalIsNotAnswered_saysNothingOfThat() throws Exception {
        lock.lock();
        pass(9_990);
        HeldCalls held = redis.hold(UnansweredTest::isReentry);
        redis.failNext(1, UnansweredTest::isReentry, Fault.refused("NOPERM of the test"));
        redis.failNext(1, verb("renew"), Fault.REPLY_LOST);
        int before = redis.log().count("renew");
        Hold hold = inside.holds().all().iterator().next();
        Thread mover = new Thread(() -> {
            held.awaitParked(1, Duration.ofSeconds(20));
            clock.advanceMillis(15);
            await().until(() -> redis.log().count("renew") > before && !hold.isRenewing());
            held.release();
        });
        mover.start();
        assertThatExceptionOfType(LockUnavailableException.class)
                .isThrownBy(() -> fixed(lock, Duration.ofSeconds(31)).tryLock(Duration.ofMillis(500)));
        mover.join();
        // The process stands still for the rest of the lease.
        clock.advanceMillis(21_000);
        settle();
        pass(1_000);
        assertThat(losses).extracting(LockLost::reason).containsExactly(LockLost.Reason.UNCONFIRMED);
        assertThat(server.hash(KEY)).isEmpty();
    }

    @Test
    void fixedLease_thatEndsByItself_expires_whateverBecameOfEarlierRenewals() throws InterruptedException {
        fixed(lock, Duration.ofSeconds(60)).lock();
        lock.lock();
        redis.failNext(1, verb("renew"), Fault.REPLY_LOST);
        pass(10_500);
        lock.unlock();
        pass(5_000);
        assertThat(fixed(lock, Duration.ofSeconds(60)).tryLock(Duration.ofMillis(500)))
                .isTrue();
        pass(62_000);
        assertThat(losses).extracting(LockLost::reason).containsExactly(LockLost.Reason.EXPIRED);
    }

    @Test
    void reentryThatIsAnswered_whileARenewalIsUnderWay_saysNothingOfThat() throws InterruptedException {
        lock.lock();
        pass(9_900);
        HeldCalls held = redis.hold(verb("renew"));
        clock.advanceMillis(150);
        held.awaitParked(1, Duration.ofSeconds(20));
        assertThat(fixed(lock, Duration.ofSeconds(31)).tryLock(Duration.ofMillis(500)))
                .isTrue();
        // The process stands still for the rest of the lease, and the renewal runs meanwhile.
        clock.advanceMillis(30_800);
        held.release();
        await().until(() -> losses.size() == 1);
        pass(2_000);
        assertThat(losses).extracting(LockLost::reason).containsExactly(LockLost.Reason.UNCONFIRMED);
        assertEndedInRedisByNow();
    }

    @Test
    void renewalThatIsSentAfterItsHoldWasLost_isEndedInRedis() {
        renewalAfterTheLoss();
    }

    @Test
    void renewalThatIsSentAfterItsHoldWasLost_andNotAnswered_isEndedInRedis() {
        redis.failNext(1, verb("renew"), Fault.REPLY_LOST);
        renewalAfterTheLoss();
    }

    /**
     * The renewal waits behind a request that is not answered, and Redis still has the lock when the renewal arrives.
     */
    private void renewalAfterTheLoss() {
        lock.lock();
        Hold hold = inside.holds().all().iterator().next();
        HeldCalls busy = redis.hold(verb("release"));
        CompletableFuture<LockHandle> handle = locks.reentrantLock("busy").acquireAsync();
        whileTimePasses(() -> await().until(handle::isDone));
        handle.join().releaseAsync();
        busy.awaitParked(1, Duration.ofSeconds(20));
        clock.advanceMillis(10_500);
        await().until(hold::isRenewing);
        clock.advanceMillis(19_250);
        assertThat(lock.isHeldByCurrentThread()).isFalse();
        assertThat(server.hash(KEY)).isNotEmpty();
        busy.release();
        settle();
        pass(2_000);
        assertEndedInRedisByNow();
    }

    @Test
    void fixedLease_ofALockThatWasLostMeanwhile_isNotGiven() {
        RedisReentrantLock second = others.reentrantLock("second");
        fixed(second, Duration.ofHours(2)).lock();
        FutureTask<Boolean> acquiring = new FutureTask<>(() -> locks.multiLock(
                        List.of("job", "second"), LockOptions.defaults().fixedLease(Duration.ofHours(1)))
                .tryAcquire(Duration.ofMillis(3_564_050))
                .isPresent());
        new Thread(acquiring).start();
        await().until(() -> server.zset("redis-locks:{second}:queue").size() == 1);
        settle();
        long lease = server.pttl(KEY);
        // The process stands still for all of it but the margin.
        clock.advanceMillis(lease - lease / 100);
        await().until(() -> losses.size() == 1);
        assertThat(server.hash(KEY)).isNotEmpty();
        String lost = server.hash(KEY).get("attempt");
        second.unlock();
        passUntil(acquiring::isDone);
        if (lost.equals(server.hash(KEY).get("attempt"))) {
            assertThat(server.pttl(KEY)).as("the rest of the first lease").isLessThanOrEqualTo(lease / 100);
        }
    }
}
