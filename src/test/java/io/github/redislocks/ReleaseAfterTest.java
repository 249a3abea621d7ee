package io.github.redislocks;

import static io.github.redislocks.fixture.twin.Verbs.verb;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.concurrent.Shown;
import io.github.redislocks.redis.Call;
import io.github.redislocks.state.Settings;
import io.github.redislocks.testkit.twin.Fault;
import io.github.redislocks.testkit.twin.HeldCalls;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** {@code releaseAfter}: locks that are released, and stay unavailable until a given time. */
class ReleaseAfterTest extends FakeTime {

    private static final Duration NO_WAIT = Duration.ZERO;
    private static final Duration MINUTE = Duration.ofMinutes(1);

    private static LockHandle acquire(RedisLocks client) {
        try {
            return client.reentrantLock("job").acquire();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private static boolean isBusy(RedisLocks client) {
        try {
            Optional<LockHandle> handle = client.reentrantLock("job").tryAcquire(NO_WAIT);
            handle.ifPresent(LockHandle::close);
            return handle.isEmpty();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private boolean isKept() {
        return "nobody".equals(server.hash(KEY).get("owner"));
    }

    private Call sent(String script) {
        return redis.log().calls().stream()
                .map(logged -> logged.call())
                .filter(verb(script))
                .findFirst()
                .orElseThrow();
    }

    /** The lock ends by itself this long after, to the millisecond, and the next holder learns of no loss. */
    private void staysKeptFor(long millis) {
        pass(millis - 1);
        assertThat(isKept()).isTrue();
        assertThat(isBusy(others)).isTrue();
        pass(2);
        assertThat(server.hash(KEY)).isEmpty();
        assertThat(other.tryLock()).isTrue();
        assertThat(other.previousHolderLost()).isFalse();
        other.unlock();
        assertThat(losses).isEmpty();
        assertThat(inside.holds().all()).isEmpty();
        assertThat(inside.localQueue().size()).isZero();
    }

    @Test
    void releaseAfter_keepsTheLockTakenByNobody_untilThatTimeSinceItWasAcquired() {
        LockHandle handle = acquire(locks);
        CompletableFuture<LockLost> lost = handle.lost().toCompletableFuture();
        long token = handle.fencingToken();
        pass(20_000);
        assertThat(handle.releaseAfter(MINUTE)).isTrue();
        assertThat(handle.isHeld()).isFalse();
        assertThat(handle.remainingLease()).isZero();
        assertThatThrownBy(handle::ensureHeld).isExactlyInstanceOf(IllegalMonitorStateException.class);
        assertThat(handle.toString()).contains("released");
        assertThat(inside.holds().all()).isEmpty();
        assertThat(server.hash(KEY))
                .containsEntry("owner", "nobody")
                .containsEntry("kept", handle.owner() + ":1")
                .containsEntry("token", Long.toString(token));
        assertThat(server.string(KEY + ":fence")).isEqualTo(token + "*");
        assertThat(lock.tryLock()).as("a thread, here").isFalse();
        assertThat(other.tryLock()).as("a thread, elsewhere").isFalse();
        assertThat(isBusy(locks)).as("a handle, here").isTrue();
        assertThat(other.isLocked()).isTrue();
        long renewals = redis.log().count("renew", "renew_all");
        staysKeptFor(40_000);
        assertThat(redis.log().count("renew", "renew_all"))
                .as("nobody renews it")
                .isEqualTo(renewals);
        assertThat(lost).isNotDone();
    }

    @Test
    void releaseAfter_ofLessThanTheLease_endsBeforeIt() {
        LockHandle handle = acquire(locks);
        pass(50);
        handle.releaseAfter(Duration.ofNanos(99_000_001));
        staysKeptFor(50);
    }

    @Test
    void releaseAfter_ofATimeThatIsOver_isARelease() throws InterruptedException {
        for (long millis : new long[] {0, 100}) {
            LockHandle handle = acquire(locks);
            pass(101);
            assertThat(handle.releaseAfter(Duration.ofMillis(millis))).isTrue();
            othersHaveTheLock();
        }
        LockHandle handle = acquire(others);
        Waiter waiter = new Waiter();
        waiter.startAndQueue();
        pass(101);
        handle.releaseAfter(Duration.ofMillis(100));
        await().until(waiter::holds);
        waiter.end();
    }

    @Test
    void close_orAnotherRelease_afterReleaseAfter_doesNothing() {
        try (LockHandle handle = acquire(locks)) {
            assertThat(handle.releaseAfter(MINUTE)).isTrue();
            assertThat(handle.release()).isFalse();
            assertThat(handle.releaseAfter(Duration.ZERO)).isFalse();
            assertThat(handle.releaseAsync().toCompletableFuture().join()).isFalse();
            assertThat(handle.releaseAfterAsync(NO_WAIT).toCompletableFuture().join())
                    .isFalse();
        }
        staysKeptFor(60_000);
    }

    @Test
    void releaseAfter_ofALockThatWasLost_keepsNothing() {
        LockHandle handle = acquire(locks);
        other.forceUnlock();
        assertThat(handle.releaseAfter(MINUTE)).isFalse();
        assertThat(server.hash(KEY)).isEmpty();
        await().until(() -> losses.size() == 1);
        LockHandle next = acquire(locks);
        server.del(KEY);
        other.lock();
        assertThat(next.releaseAfter(MINUTE)).isFalse();
        assertThat(server.hash(KEY)).as("another has it").doesNotContainEntry("owner", "nobody");
        assertThat(other.isHeldByCurrentThread()).isTrue();
        other.unlock();
        assertThat(inside.holds().all()).isEmpty();
    }

    @Test
    void releaseAfter_afterTheDeadline_isFalse() throws InterruptedException {
        for (boolean async : new boolean[] {false, true}) {
            LockHandle handle = locks.reentrantLock(
                            "job", LockOptions.defaults().fixedLease(Duration.ofSeconds(3)))
                    .acquire();
            pass(2_980);
            CompletableFuture<Boolean> released = async
                    ? handle.releaseAfterAsync(MINUTE).toCompletableFuture()
                    : CompletableFuture.completedFuture(handle.releaseAfter(MINUTE));
            await().until(released::isDone);
            assertThat(released.join()).isFalse();
            pass(100);
            assertThat(server.hash(KEY)).isEmpty();
        }
    }

    /** Nobody publishes the end: the waiter has to know when it is, though it has asked long before. */
    @Test
    void waiter_elsewhere_hasTheLockWhenTheTimeIsOver() throws InterruptedException {
        LockHandle handle = acquire(others);
        Waiter waiter = new Waiter();
        waiter.startAndQueue();
        pass(100);
        handle.releaseAfter(Duration.ofMillis(500));
        pass(399);
        assertThat(waiter.holds()).isFalse();
        pass(3);
        await().until(waiter::holds);
        assertThat(server.hash(KEY)).doesNotContainKey("lost");
        waiter.end();
    }

    /** The waiter has a place behind one that goes, and nobody publishes that. */
    @ParameterizedTest
    @ValueSource(strings = {"leaves", "leaves a fair line", "closes its client"})
    void waiter_behindOneThatGoes_hasTheLockWhenTheTimeIsOver(String how) {
        LockOptions options = LockOptions.defaults().fair(how.contains("fair"));
        LockHandle handle = acquire(others);
        RedisLocks third = RedisLocks.on(server.another(), Settings.DEFAULTS, List.of(), clock);
        clients.add(third);
        CompletableFuture<LockHandle> first =
                third.reentrantLock("job", options).acquireAsync();
        passUntil(() -> server.zset(KEY + ":queue").size() == 1);
        CompletableFuture<LockHandle> second =
                locks.reentrantLock("job", options).acquireAsync();
        passUntil(() -> server.zset(KEY + ":queue").size() == 2);
        settle();
        handle.releaseAfter(Duration.ofMillis(600));
        pass(5);
        if (how.startsWith("leaves")) {
            first.cancel(true);
        } else {
            clients.remove(third);
            whileTimePasses(third::close);
        }
        passUntil(() -> server.zset(KEY + ":queue").size() == 1);
        long left = server.pttl(KEY);
        assertThat(left).isPositive();
        pass(left);
        long ended = clock.nanoTime();
        passUntil(second::isDone);
        assertThat(clock.nanoTime() - ended).as("ns, less than a heartbeat").isLessThan(500_000_000L);
        second.join().close();
    }

    @Test
    void waiters_ofWhomTheFirstHasDied_areToldAllTheSame() throws InterruptedException {
        LockHandle handle = acquire(others);
        RedisLocks dead = RedisLocks.on(server.another(), Settings.DEFAULTS, List.of(), clock);
        clients.add(dead);
        CompletableFuture<LockHandle> never = dead.reentrantLock("job").acquireAsync();
        passUntil(() -> server.zset(KEY + ":queue").size() == 1);
        Waiter waiter = new Waiter();
        waiter.start();
        await().until(() -> server.zset(KEY + ":queue").size() == 2);
        settle();
        clients.remove(dead);
        inside(dead).redis().close();
        handle.releaseAfter(Duration.ofMillis(500));
        pass(502);
        await().until(waiter::holds);
        waiter.end();
        whileTimePasses(dead::close);
        await().until(never::isCompletedExceptionally);
    }

    @Test
    void waiters_here_haveTheLockOneAfterTheOtherWhenTheTimeIsOver() throws InterruptedException {
        LockHandle handle = acquire(locks);
        Waiter waiter = new Waiter();
        waiter.start();
        await().until(() -> clock.isParked(waiter));
        CompletableFuture<LockHandle> second = locks.reentrantLock("job").acquireAsync();
        pass(100);
        handle.releaseAfter(Duration.ofMillis(500));
        await().until(() -> server.zset(KEY + ":queue").size() == 1);
        pass(399);
        assertThat(waiter.holds()).isFalse();
        pass(3);
        await().until(waiter::holds);
        assertThat(second).isNotDone();
        waiter.end();
        await().until(second::isDone);
        second.join().close();
        othersHaveTheLock();
    }

    @Test
    void acquireAsync_ofAKeptLock_hasItWhenTheTimeIsOver() {
        LockHandle handle = acquire(locks);
        handle.releaseAfter(Duration.ofSeconds(40));
        CompletableFuture<LockHandle> next = others.reentrantLock("job").acquireAsync();
        passUntil(() -> server.zset(KEY + ":queue").size() == 1);
        settle();
        pass(server.pttl(KEY) - 1);
        assertThat(next).isNotDone();
        long began = clock.nanoTime();
        passUntil(next::isDone);
        assertThat(clock.nanoTime() - began).as("ns, less than a heartbeat").isLessThan(1_000_000_000L);
        assertThat(next.join().previousHolderLost()).isFalse();
        next.join().close();
    }

    @Test
    void releaseAfterAsync_keepsTheLockTaken() {
        LockHandle handle = acquire(locks);
        CompletableFuture<Boolean> released = handle.releaseAfterAsync(MINUTE).toCompletableFuture();
        assertThat(handle.isHeld()).isFalse();
        settle();
        await().until(released::isDone);
        assertThat(released.join()).isTrue();
        staysKeptFor(60_000);
    }

    @Test
    void releaseAfterAsync_ofALockThatWasLost_isFalse_andKeepsNothing() {
        LockHandle handle = acquire(locks);
        other.forceUnlock();
        CompletableFuture<Boolean> released = handle.releaseAfterAsync(MINUTE).toCompletableFuture();
        whileTimePasses(released::join);
        assertThat(released.join()).isFalse();
        assertThat(server.hash(KEY)).isEmpty();
    }

    @Test
    void request_thatIsSentTwice_keepsTheLockOnce() {
        LockHandle handle = acquire(locks);
        redis.failNext(1, verb("release_after"), Fault.SENT_TWICE);
        assertThat(handle.releaseAfter(MINUTE)).isTrue();
        staysKeptFor(60_000);
    }

    @Test
    void request_thatRunsLate_neitherEndsNorExtendsAnything() {
        LockHandle handle = acquire(locks);
        handle.releaseAfter(Duration.ofSeconds(10));
        Call late = sent("release_after");
        pass(4_000);
        assertThat(redis.runLate(late).code()).isEqualTo("KEPT");
        staysKeptFor(6_000);
        other.lock();
        assertThat(redis.runLate(late).code()).isEqualTo("GONE");
        assertThat(other.isHeldByCurrentThread()).isTrue();
        other.unlock();
    }

    @Test
    void requestsOfItsAttempt_thatRunLate_changeNothingOfAKeptLock() {
        LockHandle handle = acquire(locks);
        pass(10_100);
        Call acquisition = sent("acquire");
        Call renewal = sent("renew");
        handle.releaseAfter(MINUTE);
        assertThat(redis.runLate(acquisition).code()).isNotEqualTo("OK");
        assertThat(redis.runLate(renewal).code()).isEqualTo("GONE");
        staysKeptFor(49_900);
    }

    @Test
    void request_thatIsLost_isSentAgain_andTheTimeCountsFromTheBeginning() {
        LockHandle handle = acquire(locks);
        redis.down(true);
        whileTimePasses(() -> assertThat(handle.releaseAfter(MINUTE)).isTrue());
        assertThat(handle.isHeld()).isFalse();
        pass(5_000);
        assertThat(isKept()).isFalse();
        redis.down(false);
        passUntil(this::isKept);
        assertThat(server.pttl(KEY)).isLessThan(55_001);
        staysKeptFor(server.pttl(KEY));
    }

    @Test
    void answer_thatIsLost_isAskedForAgain() throws InterruptedException {
        LockHandle handle = acquire(locks);
        Waiter waiter = new Waiter();
        waiter.start();
        await().until(() -> clock.isParked(waiter));
        redis.failNext(2, verb("release_after"), Fault.REPLY_LOST);
        assertThat(handle.releaseAfter(Duration.ofSeconds(5))).isTrue();
        pass(4_990);
        assertThat(waiter.holds()).isFalse();
        pass(20);
        await().until(waiter::holds);
        waiter.end();
        othersHaveTheLock();
    }

    /** A leave of the attempt, for a copy of its acquisition that may still run, would free the lock. */
    @Test
    void leaveOfTheAttempt_isSentOnlyOnceTheReleaseIsAnswered() {
        for (boolean async : new boolean[] {false, true}) {
            redis.failNext(1, verb("acquire"), Fault.SENT_TWICE);
            LockHandle handle = acquire(locks);
            assertThat(inside.holds().all()).allMatch(hold -> hold.inDoubt);
            redis.failNext(3, verb("release_after"), Fault.REQUEST_LOST);
            int leaves = redis.log().count("leave");
            if (async) {
                CompletableFuture<Boolean> released =
                        handle.releaseAfterAsync(Duration.ofSeconds(20)).toCompletableFuture();
                whileTimePasses(released::join);
                assertThat(released.join()).isTrue();
            } else {
                assertThat(handle.releaseAfter(Duration.ofSeconds(20))).isTrue();
            }
            passUntil(this::isKept);
            pass(2_000);
            assertThat(redis.log().count("leave")).isGreaterThan(leaves);
            staysKeptFor(server.pttl(KEY));
        }
    }

    @Test
    void renewalUnderWay_thatComesBehindTheRelease_isNoLoss() {
        LockHandle handle = acquire(locks);
        HeldCalls renewal = redis.hold(verb("renew"));
        clock.advanceMillis(10_100);
        renewal.awaitParked(1, Duration.ofSeconds(10));
        assertThat(handle.releaseAfter(MINUTE)).isTrue();
        renewal.release();
        settle();
        staysKeptFor(49_900);
    }

    @Test
    void close_ofTheClient_leavesItKept() {
        LockHandle handle = acquire(locks);
        handle.releaseAfter(MINUTE);
        whileTimePasses(locks::close);
        assertThat(isKept()).isTrue();
        pass(60_001);
        assertThat(other.tryLock()).isTrue();
        assertThat(other.previousHolderLost()).isFalse();
        other.unlock();
    }

    @Test
    void close_whileTheReleaseIsUnderWay_leavesItKept() {
        LockHandle handle = acquire(locks);
        HeldCalls release = redis.hold(verb("release_after"));
        CompletableFuture<Boolean> released = handle.releaseAfterAsync(MINUTE).toCompletableFuture();
        release.awaitParked(1, Duration.ofSeconds(10));
        Thread closer = new Thread(locks::close);
        closer.start();
        await().until(() -> locks.isClosed() && clock.isParked(closer));
        release.release();
        whileTimePasses(closer, () -> await().until(() -> !closer.isAlive()));
        assertThat(released.join()).isTrue();
        assertThat(isKept()).isTrue();
        assertThat(losses).isEmpty();
    }

    @Test
    void forceUnlock_freesIt_withoutALoss() throws InterruptedException {
        LockHandle handle = acquire(others);
        handle.releaseAfter(MINUTE);
        assertThat(other.forceUnlock()).isTrue();
        assertThat(other.forceUnlock()).as("once more").isFalse();
        assertThat(other.tryLock()).isTrue();
        assertThat(other.previousHolderLost()).isFalse();
        other.unlock();
        LockHandle again = acquire(others);
        Waiter waiter = new Waiter();
        waiter.startAndQueue();
        again.releaseAfter(MINUTE);
        settle();
        other.forceUnlock();
        await().until(waiter::holds);
        waiter.end();
        assertThat(losses).isEmpty();
    }

    @Test
    void inspect_showsThatNobodyKeepsIt_andForHowLong() {
        LockHandle handle = acquire(locks);
        assertThat(locks.inspect("job").keptFor()).isEmpty();
        pass(1_000);
        handle.releaseAfter(MINUTE);
        LockInspection shown = others.inspect("job");
        assertThat(shown.holder()).isEmpty();
        assertThat(shown.keptFor()).contains(Duration.ofSeconds(59));
        assertThat(shown).hasToString("Lock \"job\" released, but unavailable for another 59000 ms");
        assertThat(shown)
                .isEqualTo(others.inspect("job"))
                .isNotEqualTo(LockInspection.of("job", Optional.empty(), Optional.empty(), List.of(), 0, List.of()));
        pass(59_001);
        assertThat(others.inspect("job").keptFor()).isEmpty();
        assertThat(others.inspect("job")).hasToString("Lock \"job\" free");
    }

    @Test
    void longestTime_isOutlivedByTheTokensMemory() {
        LockHandle handle = acquire(locks);
        long token = handle.fencingToken();
        assertThat(handle.releaseAfter(Duration.ofHours(24))).isTrue();
        assertThat(server.pttl(KEY)).isEqualTo(86_400_000);
        assertThat(server.pttl(KEY + ":fence")).isEqualTo(186_400_000);
        clock.advanceMillis(86_400_001);
        assertThat(other.tryLock()).isTrue();
        assertThat(other.previousHolderLost()).isFalse();
        assertThat(other.fencingToken()).isGreaterThan(token);
        other.unlock();
    }

    @Test
    void time_thatIsNegativeOrTooLong_isRefused_andNothingIsReleased() {
        LockHandle handle = acquire(locks);
        for (Duration wrong : List.of(Duration.ofNanos(-1), Duration.ofHours(24).plusNanos(1))) {
            assertThatThrownBy(() -> handle.releaseAfter(wrong))
                    .isExactlyInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining(Shown.of(wrong))
                    .hasMessageContaining("between 0 and 24 h");
            assertThatThrownBy(() -> handle.releaseAfterAsync(wrong)).isInstanceOf(IllegalArgumentException.class);
        }
        assertThatThrownBy(() -> handle.releaseAfter(null)).isInstanceOf(NullPointerException.class);
        assertThat(handle.isHeld()).isTrue();
        assertThat(handle.release()).isTrue();
    }

    @Test
    void clockThatWasSetBack_keepsNoLongerThanFromNowOn() {
        acquire(locks).close();
        clock.stepServerMillis(-3_600_000);
        LockHandle handle = acquire(locks);
        pass(5_000);
        handle.releaseAfter(Duration.ofSeconds(20));
        assertThat(server.pttl(KEY)).isEqualTo(20_000);
        Call late = sent("release_after");
        pass(7_000);
        redis.runLate(late);
        staysKeptFor(13_000);
    }

    /** How often a job of 20 ms runs in five seconds, by three JVMs that want to run it each second, 60 ms apart. */
    private int runs(boolean keeps) throws InterruptedException {
        RedisLocks third = RedisLocks.on(server.another(), Settings.DEFAULTS, List.of(), clock);
        clients.add(third);
        int runs = 0;
        for (int tick = 0; tick < 5; tick++) {
            for (RedisLocks pod : List.of(locks, others, third)) {
                Optional<LockHandle> turn = pod.reentrantLock("job").tryAcquire(NO_WAIT);
                long left = 60;
                if (turn.isPresent()) {
                    try (LockHandle held = turn.get()) {
                        runs++;
                        pass(20);
                        left -= 20;
                        if (keeps) {
                            held.releaseAfter(Duration.ofMillis(800));
                        }
                    }
                }
                pass(left);
            }
            pass(820);
        }
        clients.remove(third);
        whileTimePasses(third::close);
        return runs;
    }

    @Test
    void job_ofThreeClientsWhoseSchedulesDiffer_runsOncePerTick() throws InterruptedException {
        assertThat(runs(false)).as("each client runs the job, one at a time").isEqualTo(15);
        assertThat(runs(true)).as("once per tick").isEqualTo(5);
        assertThat(losses).isEmpty();
    }
}
