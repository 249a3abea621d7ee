package io.github.redislocks;

import static io.github.redislocks.FixedLease.fixed;
import static io.github.redislocks.fixture.twin.Verbs.verb;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.redis.Reply;
import io.github.redislocks.residency.Residence;
import io.github.redislocks.script.Scripts;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.Settings;
import io.github.redislocks.state.Timing;
import io.github.redislocks.state.WaitLimit;
import io.github.redislocks.testkit.twin.Fault;
import io.github.redislocks.testkit.twin.HeldCalls;
import io.github.redislocks.testkit.twin.InMemoryRedis;
import io.github.redislocks.testkit.twin.LoggedCall;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A client that keeps its locks for 10 s, and one that keeps none. */
class ResidencyTest extends FakeTime {

    private static final Duration KEPT = Duration.ofSeconds(10);
    /** Less than are used in some tests. */
    private static final int MOST = 32;

    private static final String FENCE = KEY + ":fence";

    @Override
    Settings options() {
        return Settings.DEFAULTS.withResidency(KEPT).withMaxResident(MOST);
    }

    @BeforeEach
    void listen() {
        await().until(() -> inside.mailbox().isOpen());
    }

    /** Uses the lock once, so that it is kept. */
    private long use() {
        lock.lock();
        try {
            return lock.fencingToken();
        } finally {
            lock.unlock();
        }
    }

    private int requests() {
        return redis.log().count("take", "acquire", "free", "release", "renew", "reenter", "release_inner");
    }

    private boolean isKept() {
        return !server.hash(KEY).isEmpty() && locks.heldNames().isEmpty();
    }

    private <T> CompletableFuture<T> elsewhere(Callable<T> action) {
        CompletableFuture<T> result = new CompletableFuture<>();
        Thread thread = new Thread(() -> {
            try {
                result.complete(action.call());
            } catch (Throwable e) {
                result.completeExceptionally(e);
            }
        });
        thread.start();
        return result;
    }

    /** The scripts that a client has run, without the first ones. */
    private static List<String> scripts(InMemoryRedis client, int from) {
        List<LoggedCall> calls = client.log().calls();
        return calls.subList(from, calls.size()).stream()
                .map(LoggedCall::script)
                .toList();
    }

    /** The cost of a try, as the page about residency says. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void tryLockOfAnotherClient_costsTwoRequestsThere_andOneOrTwoOfTheKeeper(boolean held) throws Exception {
        InMemoryRedis port = server.another();
        RedisLocks trying = RedisLocks.on(port, Settings.DEFAULTS, List.of(), clock);
        clients.add(trying);
        RedisReentrantLock tried = trying.reentrantLock("job");
        lock.lock();
        // The first such try of a client also opens its mailbox.
        assertThat(elsewhere(tried::tryLock).get(20, TimeUnit.SECONDS)).isFalse();
        if (!held) {
            lock.unlock();
        }
        settle();
        int there = port.log().calls().size();
        int here = redis.log().calls().size();
        assertThat(elsewhere(tried::tryLock).get(20, TimeUnit.SECONDS)).isEqualTo(!held);
        settle();
        assertThat(scripts(port, there)).containsExactly("take", "take");
        assertThat(scripts(redis, here))
                .containsExactlyElementsOf(held ? List.of("answer") : List.of("release", "answer"));
    }

    /** Locks, and unlocks with an error in the release, before Redis has it or afterwards. Returns the token. */
    private long unlockByAnError(boolean afterwards) {
        lock.lock();
        long token = lock.fencingToken();
        Residence residence = inside.residences().known(KEY);
        residence.recall(residence.lease().attempt, clock.nanoTime());
        clock.advanceMillis(2);
        AtomicBoolean met = new AtomicBoolean();
        redis.hold(call -> {
            if (verb("release").test(call) && !met.getAndSet(true)) {
                if (afterwards) {
                    redis.runLate(call);
                }
                throw new InternalError("of the test");
            }
            return false;
        });
        assertThatThrownBy(lock::unlock).isInstanceOf(InternalError.class);
        assertThat(met).isTrue();
        assertThat(lock.isHeldByCurrentThread()).isFalse();
        return token;
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void unlock_thatMeetsAnErrorInTheRelease_freesTheLock(boolean afterwards) {
        unlockByAnError(afterwards);
        othersHaveTheLock();
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void lock_rightAfterAnUnlockThatMetAnError_isANewHold(boolean afterwards) throws Exception {
        long token = unlockByAnError(afterwards);
        whileTimePasses(lock::lock);
        assertThat(lock.getHoldCount()).isEqualTo(1);
        assertThat(lock.fencingToken()).isGreaterThan(token);
        assertThat(lock.previousHolderLost()).isFalse();
        lock.unlock();
        CompletableFuture<Boolean> next = elsewhere(() -> {
            boolean had = lock.tryLock();
            lock.unlock();
            return had;
        });
        passUntil(next::isDone);
        assertThat(next.get()).isTrue();
    }

    @Test
    void lockOnceMore_afterTheClockOfRedisWasSetBack_asksNobody() {
        long last = use();
        pass(2 * KEPT.toMillis());
        passUntil(() -> server.hash(KEY).isEmpty());
        clock.stepServerMillis(-3_600_000);
        // The first request may come too late by the time that Redis had before.
        assertThat(use()).isGreaterThan(last);
        assertThat(isKept()).isTrue();
        pass(1_500);
        redis.log().clear();
        use();
        assertThat(requests()).isZero();
        assertThat(isKept()).isTrue();
    }

    @Test
    void lockOnceMore_asksNobody_andHasAGreaterToken() {
        long last = use();
        assertThat(isKept()).isTrue();
        // Redis has been asked whether it is there, so that there are tokens.
        pass(1_500);
        redis.log().clear();
        for (int i = 0; i < 5; i++) {
            long token = use();
            assertThat(token).isGreaterThan(last);
            last = token;
        }
        lock.lock();
        lock.lock();
        assertThat(lock.getHoldCount()).isEqualTo(2);
        lock.unlock();
        lock.unlock();
        assertThat(requests()).isZero();
        assertThat(lock.isLocked()).isFalse();
        assertThat(locks.countHeld()).isZero();
    }

    @Test
    void lockOnceMore_inTheNextMicrosecond_asksNobody() {
        long first = use();
        clock.moveAtReadings(50);
        redis.log().clear();
        for (int i = 1; i <= 100; i++) {
            assertThat(use()).isEqualTo(first + i);
        }
        assertThat(requests()).isZero();
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void lockObject_withALongerLease_hasThatLeaseRenewed(boolean reentry) {
        RedisReentrantLock longer =
                locks.reentrantLock("job", PLAIN.lease(Duration.ofMinutes(1)).residency(KEPT));
        lock.lock();
        if (!reentry) {
            lock.unlock();
            pass(1);
        }
        redis.log().clear();
        longer.lock();
        assertThat(requests()).as("no lease of its own").isOne();
        assertThat(longer.remainingLease()).isGreaterThan(Duration.ofSeconds(59));
        pass(25_000);
        assertThat(longer.remainingLease()).isGreaterThan(Duration.ofSeconds(35));
        longer.unlock();
        if (reentry) {
            lock.unlock();
        }
    }

    @Test
    void lockObject_withALongerLease_thatRedisDoesNotGive_meetsAnError() {
        RedisReentrantLock longer =
                locks.reentrantLock("job", PLAIN.lease(Duration.ofMinutes(1)).residency(KEPT));
        use();
        pass(1);
        redis.down(true);
        whileTimePasses(() -> assertThatThrownBy(longer::tryLock).isInstanceOf(LockUnavailableException.class));
        assertThat(longer.isHeldByCurrentThread()).isFalse();
    }

    @Test
    void token_isGivenOutOnlyIfRedisHasSaidSince_thatTheLeaseIsThere() {
        long first = use();
        redis.log().clear();
        pass(100);
        long last = first;
        while (redis.log().count("reenter") == 0) {
            long token = use();
            assertThat(token).isEqualTo(last + 1);
            last = token;
        }
        assertThat(last - first).as("the tokens of the first millisecond").isEqualTo(991);
        for (int i = 0; i < 1_000; i++) {
            use();
        }
        assertThat(requests()).as("there are about a hundred thousand").isEqualTo(1);
    }

    @Test
    void tokens_ofWhoDoesNotKnowYetThatAllWasLost_areSmallerThanThoseGivenSince() {
        use();
        pass(1_500);
        server.flushAll();
        assertThat(other.tryLock()).isTrue();
        long theirs = other.fencingToken();
        clock.advanceMillis(100);
        for (int i = 0; i < 100; i++) {
            assertThat(use()).isLessThan(theirs);
        }
        pass(1_500);
        other.unlock();
        assertThat(use()).isGreaterThan(theirs);
    }

    @Test
    void lease_isLookedAtAHeartbeatAfterItBegan_howeverLongItsAcquisitionTook() throws Exception {
        HeldCalls asked = redis.hold(verb("take")).whateverTheirTimeouts();
        CountDownLatch over = new CountDownLatch(1);
        CompletableFuture<Boolean> lost = elsewhere(() -> {
            lock.lock();
            over.await();
            return !lock.isHeldByCurrentThread();
        });
        asked.awaitParked(1, Duration.ofSeconds(5));
        pass(2_500);
        asked.release();
        passUntil(() -> !locks.heldNames().isEmpty());
        server.del(KEY);
        // Here only the library itself wakes the watchdog.
        clock.advanceMillis(Timing.HEARTBEAT_MILLIS);
        await().until(() -> !losses.isEmpty());
        over.countDown();
        assertThat(lost.get()).isTrue();
        assertThat(losses).extracting(LockLost::reason).containsExactly(LockLost.Reason.TAKEN);
    }

    /** The owner's subscription is half open: Redis counts it, and no message arrives. */
    @ParameterizedTest
    @ValueSource(ints = {1, 3})
    void recallThatTheOwnerDoesNotHear_delaysAWaiterByAHeartbeat(int kept) throws Exception {
        for (int i = 1; i < kept; i++) {
            RedisReentrantLock another = locks.reentrantLock("kept-" + i);
            another.lock();
            another.unlock();
        }
        use();
        settle();
        redis.dropMessages(true);
        long began = clock.nanoTime();
        CompletableFuture<Long> waiter = elsewhere(() -> {
            other.lock();
            long had = clock.nanoTime();
            other.unlock();
            return had;
        });
        passUntil(waiter::isDone);
        assertThat(waiter.get() - began).isLessThanOrEqualTo((Timing.HEARTBEAT_MILLIS + 100) * 1_000_000);
    }

    @Test
    void clockThatStandsStill_costsRequests() {
        long first = use();
        redis.log().clear();
        assertThat(use()).isGreaterThan(first);
        assertThat(requests()).isPositive();
    }

    @Test
    void release_tellsTheLastToken_whichOutlastsAClockThatIsSetBack() {
        use();
        pass(1_500);
        use();
        long last = use();
        server.stepMillis(-60_000);
        pass(KEPT.toMillis() + 1_001);
        assertThat(server.hash(KEY)).as("given up").isEmpty();
        assertThat(server.string(FENCE)).isEqualTo(last + "+");
        assertThat(other.tryLock()).isTrue();
        assertThat(other.fencingToken()).isGreaterThan(last);
        assertThat(other.previousHolderLost()).isFalse();
        other.unlock();
    }

    @Test
    void nextAcquisition_ofAResidenceWhoseReleaseWasLost_afterTheClockWasSetBack_givesNoTokenOutTwice() {
        use();
        pass(1_500);
        long last = use();
        server.stepMillis(-60_000);
        Residence residence = inside.residences().known(KEY);
        Attempt.Request request = new Attempt.Request(30_000, true, false);
        Attempt next = new Attempt(1_000, residence.keys, residence, request, WaitLimit.endless());
        Reply reply = redis.run(Scripts.acquire(next, server -> Long.MAX_VALUE / 1_024, true, 0), 1_000_000_000);
        assertThat(reply.number(0)).isGreaterThan(last);
        server.del(KEY);
    }

    @Test
    void leaseThatIsEndedAfterItsLoss_byAClientWhoseServerWasSetBack_givesNoTokenOutTwice() {
        use();
        pass(1_500);
        lock.lock();
        long last = lock.fencingToken();
        server.stepMillis(-3_600_000);
        redis.down(true);
        pass(31_000);
        assertThat(losses).hasSize(1);
        redis.down(false);
        passUntil(() -> server.hash(KEY).isEmpty());
        assertThatThrownBy(lock::unlock).isInstanceOf(LockLostException.class);
        assertThat(other.tryLock()).isTrue();
        assertThat(other.fencingToken()).isGreaterThan(last);
        other.unlock();
    }

    @Test
    void keptLock_unusedForItsTime_isGivenUpWithoutALoss() {
        use();
        pass(KEPT.toMillis() - 1_000);
        assertThat(isKept()).isTrue();
        // And a tick.
        pass(2_001);
        othersHaveTheLock();
        assertThat(other.tryLock()).isTrue();
        assertThat(other.previousHolderLost()).isFalse();
        other.unlock();
    }

    @Test
    void surplusOfKeptLocks_isGivenUp_theLongestUnusedFirst() {
        List<RedisReentrantLock> many = new ArrayList<>();
        for (int i = 0; i < MOST; i++) {
            many.add(useOnce(i));
        }
        settle();
        assertThat(isFree(0)).as("all may be kept").isFalse();
        many.get(0).lock();
        many.get(0).unlock();
        pass(1);
        many.add(useOnce(MOST));
        many.add(useOnce(MOST + 1));
        await().until(() -> isFree(1));
        settle();
        assertThat(isFree(0)).as("used since").isFalse();
        assertThat(isFree(MOST + 1)).isFalse();
        assertThat(locks.countResident()).isBetween(MOST - 2L, MOST + 1L);
        assertThat(losses).isEmpty();
    }

    @Test
    void leases_besideManyHoldsOfLocksThatAreNotKept_wakeNobody() {
        for (int i = 0; i < 2 * MOST; i++) {
            locks.reentrantLock("plain-" + i, PLAIN.residency(Duration.ZERO)).lock();
        }
        settle();
        Thread watchdog = inside.watchdog().threads().get(0);
        long before = clock.parks(watchdog);
        for (int i = 0; i < MOST / 2; i++) {
            useOnce(i);
        }
        settle();
        // Each settle() wakes it itself.
        long woken = clock.parks(watchdog) - before;
        before = clock.parks(watchdog);
        for (int i = 0; i < MOST / 2; i++) {
            pass(1);
        }
        settle();
        assertThat(woken).isLessThanOrEqualTo(clock.parks(watchdog) - before + 3);
    }

    private RedisReentrantLock useOnce(int number) {
        RedisReentrantLock one = locks.reentrantLock("many-" + number);
        one.lock();
        one.unlock();
        pass(1);
        return one;
    }

    private boolean isFree(int number) {
        return server.hash(KEY.replace("job", "many-" + number)).isEmpty();
    }

    @Test
    void anotherClient_thatWaits_getsTheKeptLockAtOnce() throws Exception {
        use();
        CompletableFuture<Boolean> there = elsewhere(() -> {
            other.lock();
            other.unlock();
            return true;
        });
        assertThat(there.get(20, TimeUnit.SECONDS)).isTrue();
        assertThat(server.hash(KEY)).isEmpty();
        othersHaveTheLock();
    }

    @Test
    void anotherClient_thatWaitsForAHold_getsTheLockAtItsEnd() throws Exception {
        use();
        // There are tokens, so that the lease stays the one of a free lock.
        pass(1_500);
        lock.lock();
        CompletableFuture<Boolean> there = elsewhere(() -> {
            other.lock();
            return unlocked(other);
        });
        await().until(() -> server.zset(KEY + ":queue").size() == 1);
        settle();
        clock.advanceMillis(1);
        lock.unlock();
        // No time passes, so no heartbeat helps.
        assertThat(there.get(20, TimeUnit.SECONDS)).isTrue();
    }

    @Test
    void threadThatWantsALeaseOfItsOwn_getsTheLockAtTheEndOfAHold() throws Exception {
        use();
        // There are tokens, so that the lease stays the one of a free lock.
        pass(1_500);
        lock.lock();
        CompletableFuture<Boolean> own = elsewhere(() -> {
            fixed(lock, Duration.ofSeconds(3)).lock();
            return unlocked(lock);
        });
        await().until(() -> !inside.attempts().isEmpty());
        settle();
        clock.advanceMillis(1);
        lock.unlock();
        assertThat(own.get(20, TimeUnit.SECONDS)).isTrue();
    }

    @Test
    void keepTime_isSetByTheLockObjectUsedLast() {
        RedisReentrantLock hour =
                locks.reentrantLock("job", LockOptions.defaults().residency(Duration.ofHours(1)));
        use();
        pass(KEPT.toMillis() + 1_001);
        assertThat(locks.countResident())
                .as("another object was made and not used")
                .isZero();
        hour.lock();
        hour.unlock();
        pass(KEPT.toMillis() + 1_001);
        assertThat(locks.countResident()).isOne();
        use();
        pass(KEPT.toMillis() + 1_001);
        assertThat(locks.countResident()).isZero();
    }

    @Test
    void signal_ofALockThatWasDeleted_throws_asWithoutResidency() {
        use();
        pass(1_500);
        lock.lock();
        server.del(KEY);
        assertThatThrownBy(lock.newCondition("c")::signal).isInstanceOf(LockLostException.class);
        assertThatThrownBy(lock::unlock).isInstanceOf(LockLostException.class);
        settle();
        assertThat(losses).extracting(LockLost::reason).containsExactly(LockLost.Reason.TAKEN);
    }

    @Test
    void unlock_ofALockThatWasDeleted_isToldByTheNextRenewal() {
        use();
        pass(1_500);
        lock.lock();
        long token = lock.fencingToken();
        pass(1);
        server.del(KEY);
        lock.unlock();
        pass(1_500);
        assertThat(losses).extracting(LockLost::token).containsExactly(token);
        assertThat(losses).extracting(LockLost::reason).containsExactly(LockLost.Reason.TAKEN);
    }

    /** Redis has said after the unlock that the client had the lock. */
    @Test
    void forceUnlock_ofTheClientThatKeepsTheLock_isNoLossOfWhoHasUnlockedIt() {
        use();
        pass(1_500);
        use();
        assertThat(locks.reentrantLock("job").forceUnlock()).isTrue();
        pass(10_000);
        assertThat(losses).isEmpty();
    }

    @Test
    void lossThatAnUnlockFinds_isToldOnce() throws Exception {
        long token = lockAfterAnother();
        CompletableFuture<Boolean> waiter = elsewhere(() -> {
            other.lock();
            return unlocked(other);
        });
        await().until(() -> server.zset(KEY + ":queue").size() == 1);
        settle();
        server.flushAll();
        assertThatThrownBy(lock::unlock).isInstanceOf(LockLostException.class);
        passUntil(waiter::isDone);
        pass(5_000);
        assertThat(losses).extracting(LockLost::token).containsExactly(token);
    }

    @Test
    void lossThatAnAwaitFinds_isToldOnce() throws Exception {
        long token = lockAfterAnother();
        server.flushAll();
        assertThatThrownBy(lock.newCondition("c")::await).isInstanceOf(LockLostException.class);
        assertThatThrownBy(lock::unlock).isInstanceOf(LockLostException.class);
        pass(5_000);
        assertThat(losses).extracting(LockLost::token).containsExactly(token);
    }

    private long lockAfterAnother() {
        use();
        pass(1_500);
        lock.lock();
        pass(1);
        lock.unlock();
        lock.lock();
        return lock.fencingToken();
    }

    @Test
    void keptLockThatWasDeleted_withoutUseSinceTheLastRenewal_isNoLoss() {
        use();
        pass(1_500);
        server.del(KEY);
        pass(3_000);
        assertThat(locks.countResident()).isZero();
        assertThat(losses).isEmpty();
    }

    @Test
    void signal_ofAThreadThatGotTheLockFromAnother_isHeard() throws Exception {
        Condition condition = lock.newCondition("c");
        CompletableFuture<Boolean> signalled = elsewhere(() -> {
            lock.lock();
            condition.await();
            return unlocked(lock);
        });
        await().until(() -> server.hash(KEY + ":waiters").size() == 1);
        LockHandle handle = locks.reentrantLock("job").acquire();
        RedisReentrantLock fresh = locks.reentrantLock("job");
        CompletableFuture<Boolean> signals = elsewhere(() -> {
            fresh.lock();
            fresh.newCondition("c").signal();
            return unlocked(fresh);
        });
        await().until(() -> !inside.attempts().all().stream().allMatch(attempt -> attempt.isInCondition()));
        settle();
        handle.close();
        assertThat(signals.get(20, TimeUnit.SECONDS)).isTrue();
        pass(10);
        assertThat(signalled.get(20, TimeUnit.SECONDS)).isTrue();
    }

    @Test
    void recallThatIsLost_isRepeatedByTheHeartbeat() throws Exception {
        use();
        CountDownLatch waits = new CountDownLatch(1);
        redis.dropMessages(true);
        CompletableFuture<Boolean> there = elsewhere(() -> {
            waits.countDown();
            other.lock();
            other.unlock();
            return true;
        });
        waits.await();
        await().until(() -> server.zset(KEY + ":queue").size() == 1);
        redis.dropMessages(false);
        settle();
        assertThat(there.isDone()).isFalse();
        pass(1_500);
        assertThat(there.get(20, TimeUnit.SECONDS)).isTrue();
    }

    @Test
    void tryLock_ofAnotherClient_takesWhatIsKept_andNotWhatIsUsed() throws Exception {
        use();
        assertThat(elsewhere(() -> other.tryLock() && unlocked(other)).get(20, TimeUnit.SECONDS))
                .isTrue();
        lock.lock();
        assertThat(elsewhere(other::tryLock).get(20, TimeUnit.SECONDS)).isFalse();
        lock.unlock();
        assertThat(losses).isEmpty();
    }

    /** A reply about a residence must not be taken for another time of the server: the next request would be late. */
    @Test
    void lock_afterAnIdleSecond_ofALockThatAnotherClientKeeps_asksTwice() throws Exception {
        InMemoryRedis way = server.another();
        RedisLocks asking = RedisLocks.on(way, Settings.DEFAULTS, List.of(), clock);
        clients.add(asking);
        RedisReentrantLock wanted = asking.reentrantLock("job");
        use();
        assertThat(elsewhere(() -> wanted.tryLock() && unlocked(wanted)).get(20, TimeUnit.SECONDS))
                .isTrue();
        use();
        pass(3_000);
        way.log().clear();
        CompletableFuture<Boolean> had = elsewhere(() -> {
            wanted.lock();
            return unlocked(wanted);
        });
        assertThat(had.get(20, TimeUnit.SECONDS)).isTrue();
        assertThat(way.log().count("take", "acquire")).isEqualTo(2);
        asking.close();
    }

    @Test
    void tryLock_besideAThreadThatWaitsInRedis_takesTheFreeLock() throws Exception {
        other.lock();
        CompletableFuture<Boolean> waiter = elsewhere(() -> {
            lock.lock();
            return unlocked(lock);
        });
        await().until(() -> server.zset(KEY + ":queue").size() == 1);
        redis.dropMessages(true);
        server.del(KEY);
        assertThat(lock.tryLock()).as("nobody has it").isTrue();
        lock.unlock();
        redis.dropMessages(false);
        pass(1_500);
        assertThat(waiter.get(20, TimeUnit.SECONDS)).isTrue();
        assertThatThrownBy(other::unlock).isInstanceOf(LockLostException.class);
    }

    @Test
    void tryOfSeveral_ofWhichSomeAreKept_hasAll() throws Exception {
        RedisReentrantLock second = locks.reentrantLock("job2");
        for (RedisLocks client : List.of(others, locks)) {
            MultiLock several = client.multiLock(List.of("free", "job", "job2"));
            use();
            second.lock();
            second.unlock();
            assertThat(elsewhere(() -> several.tryLock() && unlocked(several)).get(20, TimeUnit.SECONDS))
                    .as("%s", client)
                    .isTrue();
        }
        use();
        lock.lock();
        assertThat(elsewhere(others.multiLock(List.of("free", "job"))::tryLock).get(20, TimeUnit.SECONDS))
                .as("a thread holds one")
                .isFalse();
        lock.unlock();
    }

    private static final LockOptions PLAIN = LockOptions.defaults();

    private boolean takes(WithoutTime way, RedisLocks client, boolean several, LockOptions options) {
        CompletableFuture<Boolean> taken = elsewhere(() -> way.takes(client, several, options));
        passUntil(taken::isDone);
        return taken.join();
    }

    @ParameterizedTest
    @EnumSource(WithoutTime.class)
    void tryWithoutTime_takesWhatIsKept_andNotWhatIsUsed(WithoutTime way) {
        RedisReentrantLock second = locks.reentrantLock("job2");
        for (RedisLocks client : List.of(others, locks)) {
            for (LockOptions options : List.of(PLAIN, PLAIN.fair(true))) {
                for (boolean several : new boolean[] {false, true}) {
                    use();
                    second.lock();
                    second.unlock();
                    assertThat(takes(way, client, several, options))
                            .as("kept, by %s, several: %s, %s", client, several, options)
                            .isTrue();
                    lock.lock();
                    assertThat(takes(way, client, several, options))
                            .as("used, by %s, several: %s, %s", client, several, options)
                            .isFalse();
                    lock.unlock();
                }
            }
        }
        assertThat(losses).isEmpty();
    }

    /** A try does not wait, so it wants nothing any more when the lock is free. */
    @ParameterizedTest
    @EnumSource(WithoutTime.class)
    void tryWithoutTime_thatFindsALockUsed_leavesItKept(WithoutTime way) {
        for (boolean several : new boolean[] {false, true}) {
            use();
            pass(1_500);
            lock.lock();
            // The answer to the second comes after whatever the first has said.
            for (int i = 0; i < 2; i++) {
                assertThat(takes(way, others, several, PLAIN)).isFalse();
            }
            lock.unlock();
            assertThat(isKept()).isTrue();
        }
    }

    private static boolean unlocked(Lock held) {
        held.unlock();
        return true;
    }

    @Test
    void holder_ofALostLease_isToldOnce() {
        use();
        pass(1);
        lock.lock();
        long token = lock.fencingToken();
        redis.down(true);
        pass(30_000);
        assertThat(lock.isHeldByCurrentThread()).isFalse();
        assertThat(losses).singleElement().satisfies(loss -> {
            assertThat(loss.token()).isEqualTo(token);
            assertThat(loss.reason()).isEqualTo(LockLost.Reason.UNCONFIRMED);
        });
        redis.heal();
        assertThatThrownBy(lock::unlock).isInstanceOf(LockLostException.class).hasMessageContaining("UNCONFIRMED");
        assertThatThrownBy(lock::unlock).isExactlyInstanceOf(IllegalMonitorStateException.class);
        pass(2_000);
        assertThat(use()).isGreaterThan(token);
        assertThat(losses).hasSize(1);
    }

    @Test
    void keptLock_lostWithoutAHolder_isReportedToNobody() {
        long token = use();
        redis.down(true);
        pass(30_000);
        redis.heal();
        pass(2_000);
        assertThat(losses).isEmpty();
        assertThat(use()).isGreaterThan(token);
    }

    @Test
    void deletedLock_isNoticedWithinAHeartbeat_alsoByAWaiter() throws Exception {
        lock.lock();
        CompletableFuture<Boolean> waiter = elsewhere(() -> {
            lock.lock();
            return unlocked(lock);
        });
        await().until(lock::hasQueuedThreads);
        server.del(KEY);
        pass(1_500);
        assertThat(waiter.get(20, TimeUnit.SECONDS)).isTrue();
        assertThat(losses).extracting(LockLost::reason).containsExactly(LockLost.Reason.TAKEN);
        assertThatThrownBy(lock::unlock).isInstanceOf(LockLostException.class);
    }

    @Test
    void threadsThatWait_areCounted_behindAThreadAndInRedis() throws Exception {
        RedisReentrantLock second = others.reentrantLock("job2");
        second.lock();
        lock.lock();
        List<CompletableFuture<Boolean>> waiters = new ArrayList<>();
        for (RedisReentrantLock wanted : List.of(lock, lock, locks.reentrantLock("job2"))) {
            waiters.add(elsewhere(() -> {
                wanted.lock();
                return unlocked(wanted);
            }));
        }
        await().until(() -> lock.getQueueLength() == 2 && !inside.attempts().isEmpty());
        settle();
        assertThat(locks.countWaitingCalls()).isEqualTo(3);
        assertThat(locks.waitedForNames()).containsExactly("job", "job2");
        assertThat(others.countWaitingCalls()).isZero();
        lock.unlock();
        second.unlock();
        passUntil(() -> waiters.stream().allMatch(CompletableFuture::isDone));
        assertThat(locks.countWaitingCalls()).isZero();
        assertThat(locks.waitedForNames()).isEmpty();
    }

    @Test
    void threadThatWaitsForTheTurnAndThenInRedis_isOneWaiter() throws Exception {
        lock.lock();
        CompletableFuture<Boolean> here = elsewhere(() -> {
            lock.lock();
            return unlocked(lock);
        });
        await().until(lock::hasQueuedThreads);
        CountDownLatch over = new CountDownLatch(1);
        CompletableFuture<Boolean> there = elsewhere(() -> {
            other.lock();
            over.await();
            return unlocked(other);
        });
        await().until(() -> server.zset(KEY + ":queue").size() == 1);
        settle();
        clock.advanceMillis(2);
        lock.unlock();
        passUntil(() -> !others.heldNames().isEmpty() && !inside.attempts().isEmpty());
        assertThat(locks.countWaitingCalls()).isOne();
        assertThat(locks.waitedForNames()).containsExactly("job");
        assertThat(lock.getQueueLength()).isOne();
        assertThat(locks.inspect("job").queue())
                .extracting(LockInspection.Waiter::threads)
                .containsExactly(OptionalInt.of(1));
        over.countDown();
        passUntil(() -> here.isDone() && there.isDone());
    }

    @Test
    void threadThatDies_losesTheLock() throws Exception {
        Thread dying = new Thread(lock::lock);
        dying.start();
        dying.join();
        pass(10_000);
        assertThat(losses).extracting(LockLost::reason).containsExactly(LockLost.Reason.ABANDONED);
        settle();
        assertThat(other.tryLock()).isTrue();
        assertThat(other.previousHolderLost()).isTrue();
        other.unlock();
    }

    @Test
    void holdOfItsOwn_wantedInTheClientThatKeepsTheLock_isGiven() throws Exception {
        use();
        try (LockHandle handle = locks.reentrantLock("job").acquire()) {
            assertThat(handle.fencingToken()).isPositive();
        }
        use();
        fixed(lock, Duration.ofSeconds(3)).lock();
        lock.unlock();
        use();
        assertThat(fixed(lock, Duration.ofSeconds(3)).tryLock(Duration.ofSeconds(1)))
                .isTrue();
        lock.unlock();
        use();
        FencedLock fair = locks.reentrantLock("job", LockOptions.defaults().fair(true));
        fair.lock();
        fair.unlock();
        use();
        MultiLock both = locks.multiLock(List.of("job", "job2"));
        both.lock();
        both.unlock();
        assertThat(losses).isEmpty();
    }

    @Test
    void lockThatWasEnteredOnceMoreForAnHour_isNotKeptForAnHour() {
        lock.lock();
        fixed(lock, Duration.ofHours(1)).lock();
        assertThat(lock.remainingLease()).isGreaterThan(Duration.ofMinutes(59));
        lock.unlock();
        pass(1_500);
        lock.unlock();
        pass(10);
        assertThat(server.pttl(KEY)).as("ms that a crash costs others").isLessThanOrEqualTo(30_000);
        use();
        assertThat(isKept()).isTrue();
        fixed(lock, Duration.ofSeconds(20)).lock();
        lock.unlock();
        assertThat(losses).isEmpty();
    }

    @Test
    void otherObjectsOfTheName_enterOnceMore() {
        use();
        pass(1);
        lock.lock();
        RedisReentrantLock plain =
                locks.reentrantLock("job", LockOptions.defaults().residency(Duration.ZERO));
        plain.lock();
        assertThat(lock.getHoldCount()).isEqualTo(2);
        MultiLock both = locks.multiLock(List.of("job", "job2"));
        both.lock();
        assertThat(lock.getHoldCount()).isEqualTo(3);
        both.unlock();
        plain.unlock();
        assertThat(lock.getHoldCount()).isEqualTo(1);
        lock.unlock();
        assertThat(lock.isHeldByCurrentThread()).isFalse();
    }

    @Test
    void close_givesUpWhatIsKept_andTellsWhoHolds() {
        use();
        lock.lock();
        whileTimePasses(locks::close);
        assertThat(losses).extracting(LockLost::reason).containsExactly(LockLost.Reason.CLOSED);
        assertThat(server.hash(KEY)).isEmpty();
        assertThatThrownBy(lock::unlock).isInstanceOf(LockLostException.class);
        assertThatThrownBy(lock::lock).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void close_withNothingButKept_isNoLoss() {
        use();
        long began = clock.nanoTime();
        whileTimePasses(() -> locks.close(Duration.ofSeconds(20)));
        assertThat(clock.nanoTime() - began).as("waits for nobody").isLessThan(TimeUnit.SECONDS.toNanos(9));
        assertThat(losses).isEmpty();
        assertThat(server.hash(KEY)).isEmpty();
        assertThat(other.tryLock()).isTrue();
        assertThat(other.previousHolderLost()).isFalse();
        other.unlock();
    }

    @Test
    void releaseThatIsNotAnswered_isNoLossWhileTheLeaseLasts() throws Exception {
        use();
        lock.lock();
        CompletableFuture<Boolean> there = elsewhere(() -> {
            other.lock();
            other.unlock();
            return true;
        });
        await().until(() -> server.zset(KEY + ":queue").size() == 1);
        redis.failNext(call -> call.script().name().equals("release"), Fault.REPLY_LOST);
        pass(1);
        lock.unlock();
        assertThat(losses).isEmpty();
        pass(2_000);
        assertThat(there.get(20, TimeUnit.SECONDS)).isTrue();
    }

    /** Two objects of one name: the lease of the second is longer, and needs a request. */
    @Test
    void await_afterALongerLeaseThanThatOfWhoKeptIt_comesBackWithThatLease() throws InterruptedException {
        LockOptions own = LockOptions.defaults().residency(Duration.ofSeconds(20));
        RedisReentrantLock brief = locks.reentrantLock("job", own.lease(Duration.ofSeconds(10)));
        RedisReentrantLock lasting = locks.reentrantLock("job", own.lease(Duration.ofMinutes(1)));
        brief.lock();
        brief.unlock();
        pass(10);
        lasting.lock();
        assertThat(lasting.remainingLease()).isGreaterThan(Duration.ofSeconds(59));
        whileTimePasses(() -> {
            try {
                lasting.newCondition("ready").await(100, TimeUnit.MILLISECONDS);
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        });
        pass(25_000);
        assertThat(lasting.remainingLease()).isGreaterThan(Duration.ofSeconds(30));
        lasting.unlock();
    }
}
