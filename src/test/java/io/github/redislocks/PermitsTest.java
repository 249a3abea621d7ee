package io.github.redislocks;

import static io.github.redislocks.fixture.twin.Verbs.verb;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.fixture.OwnThread;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.state.HandleOwner;
import io.github.redislocks.state.Hold;
import io.github.redislocks.testkit.twin.Fault;
import io.github.redislocks.testkit.twin.HeldCalls;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

/** The fate of permits when processes die, requests are late or lost, and Redis forgets. */
class PermitsTest extends FakeTime {

    private static final String POOL = "redis-locks:{encoder}:permits";
    private static final int LEASE = 30_000;

    private final Permits permits = locks.permits("encoder", 2);
    private final Permits remote = others.permits("encoder", 2);

    private static PermitHandle one(Permits of) {
        try {
            return of.tryAcquire(Duration.ZERO).orElseThrow();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private CompletableFuture<PermitHandle> waiting(Permits of, int count) {
        int before = server.zset(POOL + ":queue").size();
        CompletableFuture<PermitHandle> waiting = OwnThread.call(() -> of.acquire(count));
        await().until(() -> server.zset(POOL + ":queue").size() == before + 1);
        settle();
        return waiting;
    }

    private boolean isFree(int number) {
        return !server.hash(POOL).containsKey(Integer.toString(number));
    }

    /** Ends the other process without a word: its client sends nothing any more. */
    private void killOther() {
        inside(others).watchdog().close();
        clients.remove(others);
    }

    @Test
    void permits_whoseProcessLives_areRenewed() {
        PermitHandle mine = one(permits);
        pass(100_000);
        mine.ensureHeld();
        assertThat(isFree(0)).isFalse();
        assertThat(losses).isEmpty();
        mine.close();
        assertThat(isFree(0)).isTrue();
    }

    @Test
    void permits_whoseProcessDied_areFreeALeaseLater_andTheNextOwnerLearnsOfIt() {
        PermitHandle first = one(remote);
        PermitHandle second = one(permits);
        killOther();
        CompletableFuture<PermitHandle> waiting = waiting(permits, 1);
        pass(29_000);
        assertThat(waiting).isNotDone();
        passUntilDone(waiting);
        PermitHandle next = waiting.join();
        assertThat(next.number()).isZero();
        assertThat(next.previousHolderLost()).isTrue();
        assertThat(first.isHeld()).isFalse();
        next.close();
        second.close();
        PermitHandle after = one(permits);
        assertThat(after.previousHolderLost()).as("released since").isFalse();
        after.close();
        assertThat(server.hash(POOL)).containsOnlyKeys("size");
    }

    @Test
    void permits_thatCannotBeRenewed_areLostBeforeOthersGetThem() {
        PermitHandle mine = one(permits);
        PermitHandle rest = one(remote);
        AtomicBoolean lost = new AtomicBoolean();
        mine.lost().thenRun(() -> lost.set(true));
        redis.failNext(Integer.MAX_VALUE, call -> true, Fault.REQUEST_LOST);
        CompletableFuture<PermitHandle> waiting = OwnThread.call(() -> {
            PermitHandle got = remote.acquire();
            assertThat(lost).as("the first owner knows of its loss").isTrue();
            return got;
        });
        await().until(() -> server.zset(POOL + ":queue").size() == 1);
        pass(30_000);
        passUntilDone(waiting);
        assertThat(waiting.join().previousHolderLost()).isTrue();
        assertThatThrownBy(mine::ensureHeld).isInstanceOf(LockLostException.class);
        assertThatThrownBy(mine::close).isInstanceOf(LockLostException.class);
        assertThat(losses).hasSize(1);
        assertThat(losses.get(0).lockName()).isEqualTo("encoder");
        waiting.join().close();
        rest.close();
    }

    @Test
    void permits_thatRedisForgot_areLostAtTheNextRenewal() {
        PermitHandle mine = one(permits);
        server.flushAll();
        pass(LEASE);
        assertThat(mine.isHeld()).isFalse();
        assertThat(losses).extracting(LockLost::reason).containsExactly(LockLost.Reason.TAKEN);
        assertThat(mine.release()).isFalse();
    }

    /** The server has lost its last moment, in which the place of a waiter had led to a permit. */
    @Test
    void permits_thatRedisGaveAgainWithAnotherNumber_areLost() {
        List<Call> acquisitions = new ArrayList<>();
        redis.failNext(1, verb("permits_acquire").and(call -> !acquisitions.add(call)), Fault.REQUEST_LOST);
        PermitHandle first = one(permits);
        PermitHandle second = one(permits);
        CompletableFuture<PermitHandle> waiting = waiting(permits, 1);
        first.close();
        passUntilDone(waiting);
        PermitHandle mine = waiting.join();
        assertThat(mine.number()).isZero();
        server.flushAll();
        acquisitions.forEach(server::runLate);
        pass(1);
        second.close();
        assertThat(server.zset(POOL + ":queue"))
                .as("the place has led to number 1")
                .isEmpty();
        redis.moved();
        pass(1_000);
        assertThat(mine.isHeld()).as("the permit with number 0").isFalse();
        assertThat(losses).extracting(LockLost::reason).containsExactly(LockLost.Reason.TAKEN);
    }

    @Test
    void handle_thatNobodyRefersTo_losesItsPermits() {
        one(permits);
        Hold hold = inside.holds().all().iterator().next();
        ((HandleOwner) hold.owner).forget();
        pass(LEASE);
        assertThat(losses).extracting(LockLost::reason).containsExactly(LockLost.Reason.ABANDONED);
        passUntil(() -> permits.available() == 2);
    }

    @Test
    void waiter_whoseGrantMessageIsLost_learnsOfTheGrantByAHeartbeat() {
        PermitHandle first = one(remote);
        PermitHandle second = one(remote);
        CompletableFuture<PermitHandle> waiting = waiting(permits, 1);
        server.dropMessages(true);
        first.close();
        server.dropMessages(false);
        passUntilDone(waiting);
        assertThat(waiting.join().number()).isZero();
        waiting.join().close();
        second.close();
    }

    @Test
    void grant_toAProcessThatDied_isFreeAfterAClaim() {
        PermitHandle first = one(permits);
        PermitHandle second = one(permits);
        CompletableFuture<PermitHandle> dead = waiting(remote, 1);
        CompletableFuture<PermitHandle> alive = waiting(permits, 1);
        killOther();
        first.close();
        assertThat(alive).isNotDone();
        passUntilDone(alive);
        assertThat(alive.join().isHeld()).isTrue();
        alive.join().close();
        second.close();
        assertThat(dead).as("its thread has nobody to look after it").isNotNull();
    }

    @Test
    void acquire_whoseReplyIsLost_getsWhatItHas() throws InterruptedException {
        redis.failNext(1, verb("permits_acquire"), Fault.REPLY_LOST);
        CompletableFuture<PermitHandle> got = OwnThread.call(() -> permits.acquire(2));
        passUntilDone(got);
        assertThat(got.join().numbers()).containsExactly(0, 1);
        got.join().close();
        passUntil(() -> permits.available() == 2);
    }

    @Test
    void tryAcquire_whoseRequestRunsLate_leavesNothing() {
        List<Call> late = new ArrayList<>();
        redis.failNext(1, verb("permits_acquire").and(late::add), Fault.REQUEST_LOST);
        CompletableFuture<Boolean> tried = OwnThread.call(() -> {
            try {
                permits.tryAcquire(Duration.ZERO).ifPresent(PermitHandle::close);
                return true;
            } catch (LockUnavailableException e) {
                return false;
            }
        });
        passUntilDone(tried);
        assertThat(late).isNotEmpty();
        server.runLate(late.get(0));
        passUntil(() -> permits.available() == 2);
        PermitHandle both = passing(() -> permits.acquire(2));
        both.close();
    }

    private <T> T passing(java.util.concurrent.Callable<T> action) {
        CompletableFuture<T> result = OwnThread.call(action);
        passUntilDone(result);
        return result.join();
    }

    @Test
    void release_thatRunsTwice_endsNobodyElsesPermits() {
        PermitHandle mine = one(permits);
        HeldCalls releases = redis.hold(verb("permits_release"));
        CompletableFuture<Boolean> released = mine.releaseAsync().toCompletableFuture();
        releases.awaitParked(1, Duration.ofSeconds(20));
        Call first = releases.parked().get(0);
        releases.release();
        passUntilDone(released);
        PermitHandle next = one(remote);
        assertThat(next.number()).isZero();
        assertThat(server.runLate(first).code()).isEqualTo("GONE");
        pass(1_000);
        next.ensureHeld();
        assertThat(isFree(0)).isFalse();
        next.close();
    }

    @Test
    void resize_toFewer_endsTheWaitForMore() {
        PermitHandle first = one(permits);
        CompletableFuture<PermitHandle> both = waiting(remote, 2);
        assertThat(permits.resize(1)).isEqualTo(2);
        passUntilDone(both);
        assertThatThrownBy(both::join).hasRootCauseInstanceOf(IllegalStateException.class);
        first.close();
        passUntil(() -> permits.available() == 1);
        assertThat(server.zset(POOL + ":queue")).isEmpty();
    }

    @Test
    void resize_byOthers_isNoMistakeOfThoseWhoNamedTheFormerSize() {
        one(permits).close();
        remote.resize(5);
        PermitHandle all = passing(() -> permits.acquire(5));
        assertThat(all.numbers()).hasSize(5);
        all.close();
        assertThatIllegalStateException()
                .isThrownBy(() -> others.permits("encoder", 2).tryAcquire(Duration.ZERO));
    }

    @Test
    void resize_byOthers_isNoMistakeOfAFirstCallThatWaits() {
        PermitHandle both = passing(() -> remote.acquire(2));
        CompletableFuture<PermitHandle> waiting = waiting(permits, 2);
        remote.resize(3);
        pass(5_000);
        assertThat(waiting).as("one is free, and two are wanted").isNotDone();
        both.close();
        passUntilDone(waiting);
        assertThat(waiting.join().numbers()).hasSize(2);
        waiting.join().close();
    }

    @Test
    void resize_byOthers_isNoMistakeOfAFirstTryThatWasBusy() throws InterruptedException {
        PermitHandle both = passing(() -> remote.acquire(2));
        assertThat(permits.tryAcquire(Duration.ZERO)).isEmpty();
        remote.resize(3);
        one(permits).close();
        both.close();
    }

    @Test
    void resize_ofAPoolThatTheObjectHasNotUsed_countsForTheObject() {
        remote.resize(2);
        assertThat(permits.resize(5)).isEqualTo(2);
        PermitHandle all = passing(() -> permits.acquire(5));
        assertThat(all.numbers()).hasSize(5);
        all.close();
    }

    @Test
    void resize_thatRunsAfterItsCallerHasGivenUp_changesNothing() {
        one(permits).close();
        List<Call> late = new ArrayList<>();
        redis.failNext(1, verb("permits_resize").and(late::add), Fault.REQUEST_LOST);
        CompletableFuture<Integer> given = OwnThread.call(() -> permits.resize(9));
        passUntilDone(given);
        assertThatThrownBy(given::join).hasRootCauseInstanceOf(RedisException.class);
        remote.resize(1);
        pass(5_000);
        server.runLate(late.get(0));
        assertThat(remote.size()).isOne();
    }

    @Test
    void resize_toFewer_givesNoMoreThanTheSize_whileOthersHaveGreaterNumbers() throws InterruptedException {
        PermitHandle first = one(permits);
        PermitHandle second = one(remote);
        permits.resize(1);
        first.close();
        assertThat(second.number()).isOne();
        assertThat(permits.inspect().held()).hasSize(1);
        assertThat(permits.available()).isZero();
        assertThat(permits.tryAcquire(Duration.ZERO)).as("one is held").isEmpty();
        CompletableFuture<PermitHandle> waiting = waiting(permits, 1);
        second.close();
        passUntilDone(waiting);
        assertThat(waiting.join().number()).isZero();
        waiting.join().close();
    }

    @Test
    void tokens_grow_evenIfTheClockOfRedisIsSetBack() {
        PermitHandle first = one(permits);
        server.stepMillis(-60_000);
        PermitHandle second = one(remote);
        assertThat(second.fencingToken()).isGreaterThan(first.fencingToken());
        first.close();
        second.close();
    }

    @Test
    void permits_ofSeveralHandles_areRenewed() {
        PermitHandle first = one(permits);
        PermitHandle second = one(permits);
        lock.lock();
        pass(100_000);
        first.ensureHeld();
        second.ensureHeld();
        lock.ensureHeld();
        assertThat(losses).isEmpty();
        first.close();
        second.close();
        lock.unlock();
    }

    @Test
    void uncontended_acquisitionAndRelease_needOneRequestEach() {
        one(permits).close();
        redis.log().clear();
        one(permits).close();
        assertThat(redis.log().requests()).isEqualTo(2);
        CompletableFuture<PermitHandle> future = permits.acquireAsync(1);
        passUntilDone(future);
        future.join().close();
        assertThat(redis.log().requests()).as("without a thread").isEqualTo(4);
    }

    @Test
    void release_atOnce_sendsNoShortScript_whichIsForLocks() {
        CompletableFuture<Void> released = permits.acquireAsync(1).thenAccept(PermitHandle::close);
        passUntilDone(released);
        assertThat(redis.log().count("permits_release")).isOne();
        assertThat(redis.log().count("free")).isZero();
    }

    @Test
    void contended_acquisition_needsTwoRequests() {
        PermitHandle all = passing(() -> remote.acquire(2));
        CompletableFuture<PermitHandle> opens = waiting(permits, 1);
        all.close();
        passUntilDone(opens);
        PermitHandle both = passing(() -> remote.acquire(1));
        redis.log().clear();
        CompletableFuture<PermitHandle> waiting = waiting(permits, 1);
        opens.join().close();
        passUntilDone(waiting);
        pass(4_000);
        assertThat(redis.log().count("permits_acquire")).isOne();
        assertThat(redis.log().count("permits_renew")).as("confirms the grant").isOne();
        assertThat(redis.log().requests()).as("and the release of the other").isEqualTo(3);
        waiting.join().close();
        both.close();
    }
}
