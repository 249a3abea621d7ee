package io.github.redislocks;

import static io.github.redislocks.FixedLease.fixed;
import static io.github.redislocks.fixture.twin.Verbs.verb;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.fixture.OwnThread;
import io.github.redislocks.fixture.RedisServer;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.jedis.JedisRedis;
import io.github.redislocks.script.Scripts;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Owner;
import io.github.redislocks.state.Settings;
import io.github.redislocks.state.WaitLimit;
import io.github.redislocks.testkit.twin.Fault;
import io.github.redislocks.testkit.twin.HeldCalls;
import io.github.redislocks.waiting.Settlements;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.Condition;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.Jedis;

/** Tests what a client does with a hold that too few replicas confirm; the in-memory Redis only reports the number. */
class ReplicaAcksTest extends FakeTime {

    private static final Duration SOON = Duration.ofSeconds(10);

    @Override
    public Settings options() {
        Duration second = Duration.ofSeconds(1);
        return Settings.DEFAULTS.withRetryFor(second).withCommandTimeout(second).withReplicaAcks(2);
    }

    /** How long it took, by the clock of the test. */
    private Duration isUnavailable(ThrowingCallable call) {
        long began = clock.nanoTime();
        whileTimePasses(() -> assertThatThrownBy(call)
                .isInstanceOf(LockUnavailableException.class)
                .hasFieldOrPropertyWithValue("reason", LockUnavailableException.Reason.TOO_FEW_REPLICAS)
                .hasMessageContaining("1 of the 2 replicas")
                .hasMessageContaining("within 500 ms")
                .hasMessageContaining("set a smaller replicaAcks"));
        return Duration.ofNanos(clock.nanoTime() - began);
    }

    private void isFreeAsIfNobodyHadHadIt() {
        settle();
        assertThat(server.hash(KEY)).isEmpty();
        assertThat(other.tryLock()).isTrue();
        assertThat(other.previousHolderLost()).isFalse();
        other.unlock();
    }

    @Test
    void lock_tooFew_goesOnForRetryFor() {
        redis.confirmBy(1);
        assertThat(isUnavailable(lock::lock)).isBetween(Duration.ofSeconds(1), Duration.ofMillis(1_600));
        assertThat(redis.log().count("take", "acquire")).isGreaterThan(2);
        isFreeAsIfNobodyHadHadIt();
    }

    @Test
    void timedTry_tooFew_goesOnUntilItsTime() {
        redis.confirmBy(1);
        assertThat(isUnavailable(() -> lock.tryLock(3, TimeUnit.SECONDS)))
                .isBetween(Duration.ofSeconds(3), Duration.ofMillis(3_200));
        isFreeAsIfNobodyHadHadIt();
    }

    @Test
    void tryLock_tooFew_isOneTry() {
        redis.confirmBy(1);
        isUnavailable(lock::tryLock);
        assertThat(redis.log().count("take", "acquire")).isEqualTo(1);
        isFreeAsIfNobodyHadHadIt();
    }

    @Test
    void tryLock_tooFewBehindItsSecondCopy_whoseFirstRunsLate_blocksNobody() {
        redis.confirmBy(1);
        redis.failNext(1, verb("acquire"), Fault.FIRST_COPY_LATE);
        isUnavailable(lock::tryLock);
        settle();
        Call first = redis.log().calls().stream()
                .map(logged -> logged.call())
                .filter(verb("acquire"))
                .findFirst()
                .orElseThrow();
        clock.advanceMillis(1);
        assertThat(redis.runLate(first).code()).as("a hold that nobody has").isEqualTo("OK");
        pass(2_000);
        isFreeAsIfNobodyHadHadIt();
    }

    @Test
    void lock_enoughAgain_isHeldByAnAttemptOfItsOwn() throws InterruptedException {
        redis.confirmBy(1);
        Waiter waiter = new Waiter();
        waiter.start();
        await().until(() -> redis.log().count("leave") > 0);
        String given = redis.log().calls().stream()
                .map(logged -> logged.call())
                .filter(verb("acquire"))
                .findFirst()
                .orElseThrow()
                .args()
                .get(1);
        redis.confirmBy(2);
        passUntil(waiter::holds);
        assertThat(server.hash(KEY)).doesNotContainEntry("attempt", given);
        assertThat(redis.log().count("renew"))
                .as("the acquisition was confirmed itself")
                .isZero();
        waiter.end();
    }

    @Test
    void lock_interruptedBetweenTwoTries_ends() throws InterruptedException {
        redis.confirmBy(1);
        AtomicReference<Throwable> thrown = new AtomicReference<>();
        Thread waiter = new Thread(() -> {
            try {
                lock.lockInterruptibly();
            } catch (InterruptedException e) {
                thrown.set(e);
            }
        });
        waiter.start();
        await().until(() -> redis.log().count("leave") > 0 && clock.isParked(waiter));
        waiter.interrupt();
        waiter.join();
        assertThat(thrown.get()).isInstanceOf(InterruptedException.class);
        isFreeAsIfNobodyHadHadIt();
    }

    @Test
    void grantByAMessage_isConfirmedBeforeLockReturns() throws InterruptedException {
        other.lock();
        Waiter waiter = new Waiter();
        waiter.startAndQueue();
        HeldCalls confirmations = redis.hold(verb("renew"));
        other.unlock();
        confirmations.awaitParked(1, SOON);
        assertThat(confirmations.parked().get(0).acks()).isEqualTo(options().acks());
        assertThat(waiter.held.get()).isNull();
        confirmations.release();
        await().until(waiter::holds);
        assertThat(waiter.validity).as("of the confirmation").isEqualTo(Duration.ofMillis(29_698));
        waiter.end();
        assertThat(losses).isEmpty();
    }

    @Test
    void grantByAHeartbeat_isConfirmedBeforeLockReturns() throws InterruptedException {
        other.lock();
        Waiter waiter = new Waiter();
        waiter.startAndQueue();
        redis.dropMessages(true);
        other.unlock();
        // Up to the heartbeat, and no further: the thread that it wakes reads the clock.
        pass(1_500);
        await().until(waiter::holds);
        assertThat(redis.log().count("renew")).isEqualTo(1);
        assertThat(waiter.validity).isEqualTo(Duration.ofMillis(29_698));
        waiter.end();
    }

    @Test
    void grantToALocalSuccessor_isConfirmedBeforeLockReturns() throws InterruptedException {
        lock.lock();
        Waiter successor = new Waiter();
        successor.start();
        await().until(() -> successor.getState() == Thread.State.WAITING);
        redis.confirmBy(1);
        lock.unlock();
        await().until(() -> redis.log().count("leave") == 1);
        assertThat(successor.held.get()).isNull();
        redis.confirmBy(2);
        passUntil(successor::holds);
        successor.end();
    }

    @Test
    void grant_thatTooFewConfirm_isGivenOn() throws InterruptedException {
        other.lock();
        Waiter waiter = new Waiter();
        waiter.startAndQueue();
        redis.confirmBy(1);
        other.unlock();
        await().until(() -> redis.log().count("leave") == 1);
        await().until(() -> server.hash(KEY).isEmpty());
        assertThat(other.tryLock()).isTrue();
        redis.confirmBy(2);
        pass(1_000);
        assertThat(waiter.held.get()).isNull();
        other.unlock();
        await().until(waiter::holds);
        waiter.end();
    }

    @Test
    void grant_whoseConfirmationIsNotAnswered_isConfirmedLater() throws InterruptedException {
        other.lock();
        Waiter waiter = new Waiter();
        waiter.startAndQueue();
        redis.failNext(2, verb("renew"), Fault.REPLY_LOST);
        other.unlock();
        await().until(() -> clock.isParked(waiter));
        assertThat(waiter.held.get()).isNull();
        passUntil(waiter::holds);
        assertThat(redis.log().count("leave")).isZero();
        waiter.end();
    }

    @Test
    void timedTry_whoseGrantIsNotConfirmedInTime_doesNotSayBusy() throws InterruptedException {
        other.lock();
        AtomicReference<Throwable> thrown = new AtomicReference<>();
        Thread waiter = new Thread(() -> {
            try {
                lock.tryLock(2, TimeUnit.SECONDS);
            } catch (InterruptedException | LockUnavailableException e) {
                thrown.set(e);
            }
        });
        waiter.start();
        await().until(() -> server.zset(KEY + ":queue").size() == 1);
        settle();
        redis.failNext(1_000, verb("renew"), Fault.REQUEST_LOST);
        other.unlock();
        passUntil(() -> !waiter.isAlive());
        assertThat(thrown.get()).isInstanceOf(LockUnavailableException.class);
        long ended = clock.nanoTime();
        // Redis seems to be away, so the watchdog may pause before it sends the leave.
        passUntil(() -> server.hash(KEY).isEmpty());
        assertThat(clock.nanoTime() - ended).as("ns").isLessThan(TimeUnit.SECONDS.toNanos(5));
    }

    @Test
    void renewal_tooFew_doesNotMoveTheDeadline() {
        lock.lock();
        redis.confirmBy(1);
        pass(29_697);
        assertThat(redis.log().count("renew")).isGreaterThan(1);
        assertThat(lock.isHeldByCurrentThread()).isTrue();
        assertThat(lock.remainingLease()).isEqualTo(Duration.ofMillis(1));
        pass(1);
        assertThat(lock.isHeldByCurrentThread()).isFalse();
        await().until(() -> losses.size() == 1);
        assertThat(losses.get(0).reason()).isEqualTo(LockLost.Reason.UNCONFIRMED);
        assertThatThrownBy(lock::unlock).isInstanceOf(LockLostException.class);
    }

    @Test
    void renewal_tooFew_togetherWithAHoldThatIsGone_movesNoDeadline() {
        RedisReentrantLock taken = locks.reentrantLock("taken");
        lock.lock();
        taken.lock();
        settle();
        redis.confirmBy(1);
        server.del("redis-locks:{taken}");
        pass(10_500);
        assertThat(redis.log().count("renew_all")).isPositive();
        await().until(() -> losses.size() == 1);
        assertThat(losses).extracting(LockLost::lockName).containsExactly("taken");
        assertThat(lock.remainingLease()).isLessThan(Duration.ofSeconds(20));
    }

    @Test
    void renewal_enoughAgain_movesTheDeadline() {
        lock.lock();
        redis.confirmBy(1);
        pass(15_000);
        redis.confirmBy(2);
        passUntil(() -> lock.remainingLease().compareTo(Duration.ofSeconds(28)) > 0);
        long renewals = redis.log().count("renew");
        pass(8_000);
        assertThat(redis.log().count("renew")).as("at its usual time again").isEqualTo(renewals);
        lock.unlock();
        assertThat(losses).isEmpty();
    }

    @Test
    void reentry_tooFew_isNoneAndMovesNoDeadline() {
        lock.lock();
        pass(5_000);
        redis.confirmBy(1);
        Duration left = lock.remainingLease();
        isUnavailable(lock::tryLock);
        assertThat(lock.getHoldCount()).isEqualTo(1);
        assertThat(lock.remainingLease()).isLessThan(left);
        redis.confirmBy(2);
        assertThat(lock.tryLock()).isTrue();
        assertThat(lock.getHoldCount()).isEqualTo(2);
        assertThat(lock.remainingLease()).isEqualTo(Duration.ofMillis(29_698));
        lock.unlock();
        lock.unlock();
        assertThat(server.hash(KEY)).isEmpty();
    }

    private Thread awaiting(AtomicReference<Object> outcome) {
        Condition condition = lock.newCondition("ready");
        Thread waiter = new Thread(() -> {
            lock.lock();
            lock.lock();
            try {
                condition.awaitUninterruptibly();
                outcome.set(lock.getHoldCount());
                lock.unlock();
                lock.unlock();
            } catch (LockUnavailableException e) {
                outcome.set(e);
            }
        });
        waiter.start();
        await().until(() -> server.zset(KEY + ":conditions").size() == 1);
        settle();
        return waiter;
    }

    private void signal() {
        other.lock();
        other.newCondition("ready").signal();
        other.unlock();
    }

    @Test
    void await_tooFew_comesBackWhenThereAreEnough() throws InterruptedException {
        AtomicReference<Object> outcome = new AtomicReference<>();
        Thread waiter = awaiting(outcome);
        redis.confirmBy(1);
        signal();
        await().until(() -> redis.log().count("renew") > 0 && clock.isParked(waiter));
        assertThat(outcome.get()).isNull();
        redis.confirmBy(2);
        passUntil(() -> !waiter.isAlive());
        assertThat(outcome.get()).isEqualTo(2);
        assertThat(server.hash(KEY)).isEmpty();
    }

    @Test
    void await_tooFewForTooLong_saysThatTheLockIsNotHeld() throws InterruptedException {
        AtomicReference<Object> outcome = new AtomicReference<>();
        Thread waiter = awaiting(outcome);
        redis.confirmBy(1);
        signal();
        await().until(() -> redis.log().count("renew") > 0);
        passUntil(() -> !waiter.isAlive());
        assertThat(outcome.get())
                .isInstanceOfSatisfying(
                        LockUnavailableException.class, e -> assertThat(e).hasMessageContaining("do not unlock it"));
        isFreeAsIfNobodyHadHadIt();
    }

    /** Closes the client while a grant to one of its threads is being confirmed: the thread gets nothing. */
    private void closeWhileConfirmed(Thread waiter, Runnable grant) throws InterruptedException {
        AtomicReference<Throwable> thrown = new AtomicReference<>();
        waiter.setUncaughtExceptionHandler((thread, e) -> thrown.set(e));
        HeldCalls confirmation = redis.hold(verb("renew"));
        grant.run();
        confirmation.awaitParked(1, SOON);
        Thread closer = new Thread(locks::close);
        closer.start();
        await().until(() -> inside.attempts().isClosed() && clock.isParked(closer));
        // The grant is gone meanwhile, with what a Condition knows of it: the attempt goes on, and nobody would end it.
        server.del(KEY);
        confirmation.release();
        waiter.join(SOON.toMillis());
        assertThat(thrown.get()).isInstanceOf(IllegalStateException.class);
        whileTimePasses(closer, () -> await().until(() -> !closer.isAlive()));
    }

    @Test
    void close_whileAGrantIsBeingConfirmed_endsTheCall() throws InterruptedException {
        other.lock();
        Thread waiter = new Thread(lock::lock);
        waiter.start();
        await().until(() -> server.zset(KEY + ":queue").size() == 1);
        closeWhileConfirmed(waiter, other::unlock);
    }

    @Test
    void close_whileAGrantFromAConditionIsBeingConfirmed_endsTheCall() throws InterruptedException {
        closeWhileConfirmed(awaiting(new AtomicReference<>()), this::signal);
    }

    @Test
    void pauseOfAGrant_thatIsOverMeanwhile_isNone() {
        Attempt attempt = inside.attempts()
                .make(
                        LockKeys.of("redis-locks", "job"),
                        inside.owners().caller(),
                        new Attempt.Request(30_000, true, false),
                        WaitLimit.endless());
        Settlements.Settlement settlement = inside.settlements().of(attempt, WaitLimit.endless(), null);
        assertThat(settlement.pauseNanos(1)).isEqualTo(Long.MAX_VALUE);
        attempt.decide(new Attempt.Grant(1, false, 0, 0, false));
        assertThat(settlement.pauseNanos(1))
                .as("the thread that hands the turn on wakes it")
                .isEqualTo(Long.MAX_VALUE);
        attempt.hasTurn();
        assertThat(settlement.pauseNanos(1)).as("nobody will").isZero();
    }

    @Test
    void releaseAfter_tooFew_isSaidAgainUntilThereAreEnough() throws InterruptedException {
        LockHandle handle = locks.reentrantLock("job").acquire();
        redis.confirmBy(1);
        assertThat(handle.releaseAfter(Duration.ofSeconds(20))).isTrue();
        assertThat(handle.isHeld()).isFalse();
        pass(5_000);
        long said = redis.log().count("release_after");
        assertThat(said).isBetween(5L, 8L);
        assertThat(redis.log().calls().stream()
                        .map(logged -> logged.call())
                        .filter(verb("release_after"))
                        .map(Call::acks))
                .containsOnly(options().acks());
        redis.confirmBy(2);
        pass(5_000);
        assertThat(redis.log().count("release_after")).isEqualTo(said + 1);
        assertThat(server.pttl(KEY)).as("by all this it lasts no longer").isEqualTo(10_000);
        pass(10_001);
        isFreeAsIfNobodyHadHadIt();
        assertThat(losses).isEmpty();
    }

    /** Redis keeps the lock, so it is no loss, however long the replicas took. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void releaseAfter_tooFewBeyondTheDeadline_isNoLoss(boolean async) throws Exception {
        LockHandle handle = locks.reentrantLock("job", LockOptions.defaults().fixedLease(Duration.ofSeconds(3)))
                .acquire();
        pass(2_955);
        redis.confirmBy(1);
        HeldCalls held = redis.hold(verb("release_after"));
        Duration kept = Duration.ofMinutes(1);
        CompletableFuture<Boolean> result = async
                ? handle.releaseAfterAsync(kept).toCompletableFuture()
                : OwnThread.call(() -> handle.releaseAfter(kept));
        held.awaitParked(1, Duration.ofSeconds(10));
        clock.advanceMillis(25);
        held.release();
        whileTimePasses(result::join);
        assertThat(result.join()).isTrue();
        assertThat(server.hash(KEY)).containsEntry("owner", "nobody");
        assertThat(losses).isEmpty();
    }

    private static long writes(Jedis admin) {
        return admin.info("persistence")
                .lines()
                .filter(line -> line.startsWith("rdb_changes_since_last_save:"))
                .mapToLong(line -> Long.parseLong(line.substring(line.indexOf(':') + 1)))
                .sum();
    }

    /** Replicas are waited for by what a connection has written: behind a script that wrote nothing, for nothing. */
    @Test
    void whatIsConfirmed_isWrittenThoughItsLeaseIsLongEnough() {
        LockKeys keys = LockKeys.of("redis-locks", "job");
        Attempt.Request request = new Attempt.Request(30_000, true, false);
        Attempt attempt = new Attempt(1, keys, new Owner("a:1"), request, WaitLimit.endless());
        Attempt brief =
                new Attempt(1, keys, new Owner("a:1"), new Attempt.Request(200, true, false), WaitLimit.endless());
        Hold hold = new Hold(attempt, new Attempt.Grant(1, false, Long.MAX_VALUE, 0, true), 0, 0, null);
        try (RedisServer real = RedisServer.start();
                Jedis admin = real.client();
                JedisRedis direct = new JedisRedis(
                        real.address(), DefaultJedisClientConfig.builder().build(), 1)) {
            direct.run(
                    Scripts.acquire(attempt, server -> 8_000_000_000_000_000L, false, 0), TimeUnit.SECONDS.toNanos(5));
            for (Call again : List.of(
                    Scripts.renew(hold, 200, false),
                    Scripts.confirm(brief, 0),
                    Scripts.acquire(brief, server -> 8_000_000_000_000_000L, false, 0),
                    Scripts.reenter(hold, hold.count(), 200))) {
                long before = writes(admin);
                assertThat(direct.run(again, TimeUnit.SECONDS.toNanos(5)).code())
                        .isEqualTo("OK");
                assertThat(writes(admin)).as("%s", again.script()).isGreaterThan(before);
            }
        }
    }

    @Test
    void holdWhoseReentryTooFewConfirmed_isEndedInRedis() {
        redis.confirmBy(2);
        fixed(lock, Duration.ofSeconds(3)).lock();
        redis.confirmBy(1);
        whileTimePasses(() -> assertThatThrownBy(
                        () -> fixed(lock, Duration.ofHours(1)).tryLock(Duration.ofMillis(50)))
                .isInstanceOf(LockUnavailableException.class));
        pass(5_000);
        assertThat(server.hash(KEY)).as("the master gave it an hour").isEmpty();
    }

    /** A renewal runs and is not confirmed; a shorter lease that is wanted after it is. */
    @Test
    void renewal_thatTooFewReplicasConfirm_isEndedInRedisWithTheHold() throws InterruptedException {
        redis.confirmBy(2);
        fixed(lock, Duration.ofSeconds(3)).lock();
        lock.lock();
        redis.confirmBy(1);
        pass(10_050);
        redis.confirmBy(2);
        assertThat(fixed(lock, Duration.ofSeconds(21)).tryLock(Duration.ofMillis(100)))
                .isTrue();
        lock.unlock();
        lock.unlock();
        pass(21_000);
        await().until(() -> losses.size() == 1);
        assertThat(server.hash(KEY))
                .as("the renewal prolonged the hold in Redis")
                .isEmpty();
    }
}
