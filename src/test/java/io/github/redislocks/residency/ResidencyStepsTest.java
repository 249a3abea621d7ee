package io.github.redislocks.residency;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.LockLost;
import io.github.redislocks.LockLostException;
import io.github.redislocks.LockUnavailableException;
import io.github.redislocks.client.SteppedClient;
import io.github.redislocks.engine.Sync;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Leased;
import io.github.redislocks.state.Settings;
import io.github.redislocks.watchdog.PendingCommand;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The hold of a thread under a residence while no watchdog runs. */
@Timeout(30)
class ResidencyStepsTest extends SteppedResidence {

    @Test
    void hold_isOverWithTheLease_whoeverLooksFirst() {
        kept.lock();
        assertThat(kept.held()).isNotNull();
        assertThat(kept.remainingNanos()).isBetween(29_000 * MILLI, LEASE * MILLI);
        clock.advanceMillis(LEASE);
        assertThat(kept.held()).isNull();
        assertThat(kept.remainingNanos()).isZero();
        assertThatThrownBy(kept::unlock).isInstanceOf(LockLostException.class).hasMessageContaining("EXPIRED");
        assertThat(client.holds.all()).isEmpty();
        assertThat(residence().turn.tryTakeFirst()).as("the turn is free").isTrue();
    }

    @Test
    void lease_ofAForcedLock_endsTheHold() {
        kept.lock();
        Hold lease = residence().lease();
        assertThat(client.queries().forceUnlock(kept.keys())).isTrue();
        assertThat(lease.isLost()).isTrue();
        assertThatThrownBy(kept::unlock).isInstanceOf(LockLostException.class).hasMessageContaining("TAKEN");
        kept.lock();
        kept.unlock();
    }

    @Test
    void triesThatWaitForARelease_areAllAnswered_howeverMany() throws InterruptedException {
        kept.lock();
        kept.unlock();
        Hold lease = residence().lease();
        assertThat(residence().turn.tryTakeFirst()).as("as who releases it").isTrue();
        for (int i = 0; i < 10_000; i++) {
            residences.byTry(KEY, "another", i);
        }
        assertThat(commands()).as("answered before it is clear").isEmpty();
        client.losses.lose(lease, LockLost.Reason.TAKEN);
        residence().turn.end();
        List<Throwable> thrown = new ArrayList<>();
        Thread thread = new Thread(null, () -> residences.ends.turnEnded(residence()), "small", 512 * 1_024);
        thread.setUncaughtExceptionHandler((of, e) -> thrown.add(e));
        thread.start();
        thread.join();
        assertThat(thrown).isEmpty();
        assertThat(commands()).hasSize(10_000).containsOnly("answer");
    }

    /** A lease that is lost, once, when it has just been found open. */
    private final class LostWhenSeen extends CopiedLease {

        private boolean seen;
        private @Nullable RuntimeException error;

        LostWhenSeen(Hold lease) {
            super(lease);
        }

        @Override
        public boolean isOpen() {
            boolean open = super.isOpen();
            if (!seen) {
                seen = true;
                client.losses.lose(this, LockLost.Reason.TAKEN);
            }
            return open;
        }

        @Override
        public boolean loseIfPast(long now) {
            RuntimeException thrown = error;
            if (thrown != null) {
                error = null;
                throw thrown;
            }
            return super.loseIfPast(now);
        }
    }

    /**
     * The thread that declares the loss does not see the new hold yet, whose thread has just seen that the lease is
     * open.
     */
    @Test
    void leaseThatIsLostAsAHoldBegins_endsThatAtOnce() {
        LostWhenSeen lease = keepInstead(LostWhenSeen::new);
        kept.lock();
        assertThat(lease.seen).isTrue();
        assertThat(residence().turn.isFree()).as("nobody waits for the thread").isTrue();
        assertThatThrownBy(kept::unlock).isInstanceOf(LockLostException.class).hasMessageContaining("TAKEN");
        watch();
        assertThat(client.holds.all()).isEmpty();
    }

    /** The watchdog looks at a lease that was lost again and again while a thread unlocks under it. */
    @Test
    void leaseThatIsLostWhileAThreadUnlocks_isEndedInRedisOnce() {
        kept.lock();
        ThreadHold local = residence().holding();
        assertThat(local.beginRelease(clock.nanoTime())).isPositive();
        residence().lease().ask(Leased.Asker.WATCHDOG, 0);
        client.losses.lose(residence().lease(), LockLost.Reason.UNCONFIRMED);
        for (int i = 0; i < 5; i++) {
            watch();
        }
        assertThat(commands()).isEmpty();
        long now = clock.nanoTime();
        assertThat(client.renewals.inspect(now, now, (key, job) -> {}))
                .as("the watchdog looks again soon")
                .isLessThanOrEqualTo(now + 100 * MILLI);
        residence().passOn(local, now);
        for (int i = 0; i < 5; i++) {
            watch();
        }
        assertThat(commands()).containsExactly("leave");
        assertThat(client.holds.all()).isEmpty();
    }

    /** Another lock object of the lock, with a lease that is not renewed. */
    private Sync fixed(long millis) {
        return client.lock("job", false, KEEPING.withFixedLease(Duration.ofMillis(millis)));
    }

    @Test
    void fixedLease_ofAnInnerLock_countsFromThen() {
        kept.lock();
        fixed(60_000).lock();
        assertThat(kept.remainingNanos()).isGreaterThan(59_000 * MILLI);
        assertThat(redis.pttl(KEY)).isEqualTo(60_000);
        kept.unlock();
        kept.unlock();
    }

    @Test
    void fixedLease_ofAnInnerTry_thatIsNotGiven_isAnErrorAndNoCount() {
        kept.lock();
        redis.down(true);
        assertThatThrownBy(() -> fixed(60_000).tryLock())
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageContaining("was not entered once more");
        redis.down(false);
        assertThat(kept.held().count()).isEqualTo(1);
        kept.unlock();
        assertThat(kept.held()).isNull();
    }

    @Test
    void fixedLease_ofAnInnerLock_isAskedForUntilItIsGiven() {
        kept.lock();
        fail(2, "reenter", SteppedClient::unanswered);
        fixed(60_000).lock();
        assertThat(redis.pttl(KEY)).isEqualTo(60_000);
        assertThat(kept.held().count()).isEqualTo(2);
    }

    @Test
    void fixedLease_ofAnInnerLock_thatFindsNoLease_isALoss() {
        kept.lock();
        redis.del(KEY);
        fixed(60_000).lock();
        assertThat(kept.held().count()).isEqualTo(1);
        kept.unlock();
        assertThatThrownBy(kept::unlock).isInstanceOf(LockLostException.class).hasMessageContaining("TAKEN");
    }

    private final Sync longer = client.lock("job", false, KEEPING.withLease(Duration.ofMinutes(1)));

    @Test
    void lockObject_withALongerLease_getsThatOfTheClient() {
        kept.lock();
        kept.unlock();
        clock.advanceMillis(1);
        asked.clear();
        longer.lock();
        assertThat(asked)
                .extracting(call -> call.script().name())
                .as("no lease of its own")
                .containsExactly("reenter");
        assertThat(longer.remainingNanos()).isGreaterThan(59_000 * MILLI);
        assertThat(redis.pttl(KEY)).isEqualTo(60_000);
        assertThat(residence().lease().renewedMillis()).isEqualTo(60_000);
        longer.unlock();
        asked.clear();
        clock.advanceMillis(1);
        kept.lock();
        longer.lock();
        assertThat(asked).as("the lease is the longer one").isEmpty();
    }

    @Test
    void lockObject_withALongerLease_thatIsNotGiven_meetsAnError() {
        kept.lock();
        kept.unlock();
        clock.advanceMillis(1);
        redis.down(true);
        assertThatThrownBy(() -> longer.tryLock()).isInstanceOf(LockUnavailableException.class);
        assertThat(longer.held()).isNull();
    }

    @Test
    void reentry_byALockObjectWithALongerLease_hasThatRenewed() {
        kept.lock();
        longer.lock();
        assertThat(residence().lease().renewedMillis()).isEqualTo(60_000);
        assertThat(longer.remainingNanos()).isGreaterThan(59_000 * MILLI);
        assertThat(kept.held().count()).isEqualTo(2);
    }

    @Test
    void leaseThatRedisMayHaveGiven_isReleasedForAsLong() {
        kept.lock();
        redis.down(true);
        assertThatThrownBy(() -> fixed(3_600_000).tryLock()).isInstanceOf(LockUnavailableException.class);
        assertThat(residence().lease().longestLeaseMillis()).isEqualTo(3_600_000);
        redis.down(false);
        kept.unlock();
        assertThat(residence().lease()).as("not kept for an hour").isNull();
        kept.lock();
        kept.unlock();
        clock.advanceMillis(1);
        Sync hours = client.lock("job", false, KEEPING.withLease(Duration.ofHours(2)));
        during("reenter", () -> redis.down(true));
        assertThatThrownBy(() -> hours.tryLock()).isInstanceOf(LockUnavailableException.class);
        clock.advanceMillis(7_200_000);
        assertThat(pending("release").isDue(clock.nanoTime()))
                .as("Redis may still have it")
                .isTrue();
    }

    @Test
    void leaseThatIsLostWhileALongerOneWasNotAnswered_isEndedInRedis() {
        kept.lock();
        kept.unlock();
        Hold lease = residence().lease();
        clock.advanceMillis(1);
        during("reenter", () -> clock.advanceMillis(LEASE));
        fail("reenter", unanswered());
        assertThat(catchThrowable(() -> longer.tryLock())).isInstanceOf(LockUnavailableException.class);
        assertThat(lease.lossReason()).isEqualTo(LockLost.Reason.UNCONFIRMED);
        watch();
        assertThat(commands()).contains("leave");
    }

    @Test
    void leaseThatWasConfirmed_expires() {
        kept.lock();
        kept.unlock();
        Hold lease = residence().lease();
        clock.advanceMillis(1);
        longer.lock();
        clock.advanceMillis(60_000);
        assertThat(longer.held()).isNull();
        assertThat(lease.lossReason()).isEqualTo(LockLost.Reason.EXPIRED);
        watch();
        assertThat(commands()).as("nothing is to be ended in Redis").isEmpty();
    }

    @Test
    void leaseThatWasConfirmed_byARequestOfWhichACopyMayRunLate_isEndedInRedis() {
        kept.lock();
        kept.unlock();
        Hold lease = residence().lease();
        clock.advanceMillis(1);
        answer("reenter", new Reply("OK", List.of()).resentOnce());
        longer.lock();
        clock.advanceMillis(60_000);
        assertThat(longer.held()).isNull();
        assertThat(lease.lossReason()).isEqualTo(LockLost.Reason.EXPIRED);
        watch();
        assertThat(commands()).containsExactly("leave");
    }

    @Test
    void leaseThatIsLostWhileARenewalWasNotAnswered_isEndedInRedis() {
        kept.lock();
        residence().lease().ask(Leased.Asker.WATCHDOG, 0);
        clock.advanceMillis(LEASE);
        assertThat(kept.held()).isNull();
        watch();
        assertThat(left()).as("the leave of the client, not of the thread").containsExactly("leave");
    }

    @Test
    void freshLease_hasNotBeenIdleSinceAnEarlierOne() {
        clock.advanceMillis(Duration.ofHours(2).toMillis());
        kept.lock();
        Hold fresh = residence().lease();
        // As if the walk had found it before the thread came to hold it, and went on after that.
        residence().end(residence().holding());
        residences.inspect(clock.nanoTime(), clock.nanoTime(), (key, job) -> {});
        assertThat(residence().lease()).isSameAs(fresh);
    }

    @Test
    void outageThatLastsTooLong_isNoReasonToSayBusy() {
        kept.lock();
        kept.unlock();
        residences.byWaiter(KEY, residence().lease().attempt);
        release(redis.run(pending("release").call(), MILLI));
        assertThat(residence().turn.tryTake()).as("another thread asks").isTrue();
        redis.down(true);
        assertThatThrownBy(() -> kept.tryLock()).isInstanceOf(LockUnavailableException.class);
        clock.advanceMillis(1);
        assertThatThrownBy(() -> kept.tryLock(1)).isInstanceOf(LockUnavailableException.class);
        residence().turn.end();
    }

    @Test
    void outage_whileTheLeaseIsReleased_isNoReasonToSayBusy() {
        kept.lock();
        kept.unlock();
        residences.byWaiter(KEY, residence().lease().attempt);
        assertThat(residence().lease().isReleasing()).isTrue();
        redis.down(true);
        assertThatThrownBy(() -> client.lock("other", false).tryLock()).isInstanceOf(LockUnavailableException.class);
        clock.advanceMillis(1);
        assertThatThrownBy(() -> kept.tryLock(1)).isInstanceOf(LockUnavailableException.class);
    }

    @Test
    void recall_whileAThreadHasTheTurn_isLeftToThatThread() {
        kept.lock();
        kept.unlock();
        Residence residence = residence();
        long attempt = residence.lease().attempt;
        assertThat(residence.turn.tryTake()).isTrue();
        residences.byWaiter(KEY, attempt);
        residence.turn.end();
        assertThat(residence.lease()).as("nobody has looked since").isNotNull();
        residences.ends.turnEnded(residence);
        assertThat(residence.lease().isReleasing()).isTrue();
        assertThat(commands()).containsExactly("release");
    }

    /** Has the client keep the lock, and give it up by a release that Redis has not heard of yet. */
    private void keepAndRecall() {
        kept.lock();
        kept.unlock();
        residences.byWaiter(KEY, residence().lease().attempt);
        assertThat(left()).containsExactly("release");
    }

    @Test
    void tryOfItsOwn_waitsForTheReleaseUnderWay() throws Exception {
        keepAndRecall();
        FutureTask<Boolean> tried = new FutureTask<>(() -> kept.tryLock());
        Thread trying = new Thread(tried);
        trying.start();
        await().until(() -> tried.isDone() || trying.getState() == Thread.State.TIMED_WAITING);
        assertThat(tried.isDone()).as("refused, though no thread has the lock").isFalse();
        release(redis.run(pending("release").call(), MILLI));
        assertThat(tried.get()).isTrue();
    }

    @Test
    void tryOfItsOwn_waitsForTheReleaseUnderWay_forACommandTimeoutOnly() throws Exception {
        keepAndRecall();
        asked.clear();
        FutureTask<Boolean> tried = new FutureTask<>(() -> kept.tryLock());
        Thread trying = new Thread(tried);
        trying.start();
        await().until(() -> tried.isDone() || trying.getState() == Thread.State.TIMED_WAITING);
        assertThat(asked).isEmpty();
        clock.advanceMillis(Settings.DEFAULTS.commandTimeoutNanos() / MILLI);
        await().until(() -> {
            clock.advanceMillis(1);
            return tried.isDone();
        });
        assertThat(catchThrowable(tried::get))
                .as("no answer has said whether it is free")
                .hasCauseInstanceOf(LockUnavailableException.class);
        assertThat(asked).as("nothing is sent without time").isEmpty();
    }

    @Test
    void tryOfItsOwn_afterAReleaseThatWasNotAnswered_doesNotOvertakeIt() {
        keepAndRecall();
        PendingCommand release = pending("release");
        release.failed(unanswered(), clock.nanoTime());
        assertThat(residence().turn.isFree()).isTrue();
        assertThat(kept.tryLock()).as("Redis has not released it").isFalse();
        release.answered(redis.run(release.call(), MILLI), clock.nanoTime());
        assertThat(kept.tryLock()).isTrue();
        kept.unlock();
    }

    @Test
    void tryOfAnother_isAnsweredAfterTheReleaseUnderWay() {
        keepAndRecall();
        residences.byTry(KEY, "another", 7);
        assertThat(left()).containsExactly("release");
        release(redis.run(pending("release").call(), MILLI));
        assertThat(left()).containsExactly("answer");
    }

    @Test
    void tryOfAnother_isAnsweredByWhoHasTheTurn() {
        kept.lock();
        kept.unlock();
        Residence residence = residence();
        assertThat(residence.turn.tryTake()).isTrue();
        residences.byTry(KEY, "another", 7);
        assertThat(left()).as("the thread with the turn may become the holder").isEmpty();
        residence.turn.end();
        residences.ends.turnEnded(residence);
        assertThat(left()).containsExactly("release");
        release(redis.run(pending("release").call(), MILLI));
        assertThat(left()).containsExactly("answer");
    }

    @Test
    void tryOfAnother_whileAThreadComesToHoldIt_isAnsweredThen() {
        kept.lock();
        kept.unlock();
        tryOfAnother();
        clock.advanceMillis(1);
        kept.lock();
        assertThat(left()).containsExactly("answer");
        kept.unlock();
    }

    /** Another client tries the lock while a thread of this client has the turn. */
    private void tryOfAnother() {
        residence().ask(() -> residences.byTry(KEY, "another", 7));
    }

    @Test
    void tryOfAnother_whileAThreadAsksForATokenAndComesToHoldIt_isAnsweredThen() {
        kept.lock();
        kept.unlock();
        during("reenter", () -> {
            clock.advanceMillis(1);
            tryOfAnother();
        });
        kept.lock();
        assertThat(count("reenter")).isEqualTo(1);
        assertThat(left()).containsExactly("answer");
        kept.unlock();
    }

    @Test
    void tryOfAnother_whileAThreadReleasesALeaseThatIsOver_isAnsweredBeforeTheThreadAsksAnew() {
        kept.lock();
        kept.unlock();
        clock.advanceMillis(1);
        residence().recall(residence().lease().attempt, clock.nanoTime());
        List<String> leftThen = new ArrayList<>();
        during("release", this::tryOfAnother);
        during("free", this::tryOfAnother);
        during("take", () -> leftThen.addAll(left()));
        kept.lock();
        assertThat(leftThen).containsExactly("answer");
        kept.unlock();
    }

    @Test
    void releaseThatIsAnsweredTwice_endsNoTurnOfAnother() {
        keepAndRecall();
        PendingCommand release = pending("release");
        release.failed(unanswered(), clock.nanoTime());
        assertThat(residence().turn.tryTake()).isTrue();
        release.answered(redis.run(release.call(), MILLI), clock.nanoTime());
        assertThat(residence().turn.isFree()).as("the turn is that of the next").isFalse();
    }

    @Test
    void lock_underALeaseThatIsOver_releasesItItself() {
        kept.lock();
        kept.unlock();
        clock.advanceMillis(1);
        residence().recall(residence().lease().attempt, clock.nanoTime());
        asked.clear();
        kept.lock();
        assertThat(asked.get(0).script().name()).isIn("free", "release");
        assertThat(commands()).isEmpty();
        kept.unlock();
    }

    @Test
    void tokenOfTheNextMicrosecond_isWaitedFor_withoutARequest() {
        kept.lock();
        clock.moveAtReadings(50);
        asked.clear();
        for (long token = residence().lease().token + 1; token < residence().lease().token + 100; token++) {
            kept.unlock();
            kept.lock();
            assertThat(kept.held().token).isEqualTo(token);
        }
        assertThat(asked).isEmpty();
    }

    @Test
    void thread_thatHasWaitedForTheTurn_isQueuedUntilItHasTheLock() throws Exception {
        kept.lock();
        kept.unlock();
        Residence residence = residence();
        assertThat(residence.turn.tryTake()).isTrue();
        FutureTask<Void> waits = new FutureTask<>(() -> kept.lock(), null);
        Thread thread = new Thread(waits);
        thread.start();
        await().until(residence.turn::isWanted);
        assertThat(client.queuedThreads(kept.keys())).containsExactly(thread);
        List<Thread> onItsWay = new ArrayList<>();
        during("reenter", () -> onItsWay.addAll(client.queuedThreads(kept.keys())));
        residence.turn.end();
        waits.get();
        assertThat(onItsWay).containsExactly(thread);
        assertThat(client.queuedThreads(kept.keys())).isEmpty();
    }

    @Test
    void tokenThatComesJustAfterItWasWaitedFor_isTaken() {
        kept.lock();
        clock.moveAtReadings(1);
        asked.clear();
        for (int i = 0; i < 300; i++) {
            kept.unlock();
            kept.lock();
        }
        assertThat(count("release") + count("free")).as("a lease that is good").isZero();
        kept.unlock();
    }

    @Test
    void lease_thatIsRecalledInItsSlice_passesToAThreadThatWaits() throws Exception {
        kept.lock();
        Hold lease = residence().lease();
        CountDownLatch over = new CountDownLatch(1);
        FutureTask<Hold> waits = new FutureTask<>(() -> {
            kept.lock();
            Hold mine = residence().lease();
            over.await();
            kept.unlock();
            return mine;
        });
        Thread thread = new Thread(waits);
        thread.start();
        await().until(() -> residence().turn.isWanted() && thread.getState() == Thread.State.WAITING);
        residence().recall(lease.attempt, clock.nanoTime());
        clock.advanceMicros(10);
        asked.clear();
        kept.unlock();
        await().until(() -> residence().holding() != null);
        assertThat(asked).as("its slice lasts").isEmpty();
        clock.advanceMillis(1);
        over.countDown();
        assertThat(waits.get()).isSameAs(lease);
        assertThat(residence().lease()).as("its slice is over").isNull();
    }

    @Test
    void recall_ofAnEarlierLease_changesNothing() {
        kept.lock();
        kept.unlock();
        long attempt = residence().lease().attempt;
        residences.byWaiter(KEY, attempt - 1);
        assertThat(residence().lease()).isNotNull();
        assertThat(residence().turn.tryTakeFirst()).as("the turn is free").isTrue();
        residence().turn.end();
        residences.byWaiter(KEY, attempt);
        assertThat(residence().lease().isReleasing()).isTrue();
    }

    @Test
    void closedMailbox_keepsNothing() {
        kept.lock();
        client.mailbox.close();
        kept.unlock();
        assertThat(redis.hash(KEY)).as("no client could recall the lock").isEmpty();
    }

    /** A lease that is lost, by the watchdog, as its release begins. */
    private final class LostAtRelease extends CopiedLease {

        private boolean released;

        LostAtRelease(Hold lease) {
            super(lease);
        }

        @Override
        public long beginRelease(long now) {
            if (!released) {
                released = true;
                ask(Asker.WATCHDOG, 0);
                client.losses.lose(this, LockLost.Reason.UNCONFIRMED);
                watch();
            }
            return super.beginRelease(now);
        }
    }

    @Test
    void leaseThatIsLostAsItsReleaseBegins_isEndedInRedis() {
        LostAtRelease other = keepInstead(LostAtRelease::new);
        kept.lock();
        residence().recall(other.attempt, clock.nanoTime());
        clock.advanceMillis(1);
        assertThatThrownBy(kept::unlock).isInstanceOf(LockLostException.class).hasMessageContaining("UNCONFIRMED");
        watch();
        assertThat(commands()).containsExactly("leave");
        assertThat(client.holds.all()).isEmpty();
    }
}
