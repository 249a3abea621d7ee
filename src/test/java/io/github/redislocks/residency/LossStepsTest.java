package io.github.redislocks.residency;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.LockListener;
import io.github.redislocks.LockLost;
import io.github.redislocks.LockLostException;
import io.github.redislocks.LossListener;
import io.github.redislocks.engine.Sync;
import io.github.redislocks.fixture.NearTheEnd;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Owner;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What follows from a loss, wherever an error or the thread that had the hold comes in between. */
@Timeout(30)
class LossStepsTest extends SteppedResidence {

    private final Queue<LockLost> losses = new ConcurrentLinkedQueue<>();

    @Override
    protected List<LockListener> listeners() {
        return LossListener.to((LockLost loss) -> losses.add(loss));
    }

    /**
     * The thread that finds the loss is about to tell of it when the watchdog sees to the lease, and meets an error.
     */
    @Test
    void loss_thatItsThreadCouldNotTell_isToldByTheWatchdog() {
        kept.lock();
        ThreadHold local = residence().holding();
        Hold lease = residence().lease();
        lease.lose(LockLost.Reason.TAKEN);
        assertThat(local.lose(LockLost.Reason.TAKEN)).isTrue();
        assertThat(local.beginTelling()).isTrue();
        client.losses.ended(lease);
        local.endTelling(false);
        watch();
        assertThat(residence().turn.isFree()).as("the turn is free").isTrue();
        kept.lock();
        kept.unlock();
        assertThatThrownBy(kept::unlock).isInstanceOf(LockLostException.class).hasMessageContaining("TAKEN");
        assertThat(client.holds.all()).isEmpty();
    }

    /** A thread per task: the one that is looked at has unlocked, and has ended, and the next has the lock. */
    @Test
    void holderThatEndsDuringInspection_doesNotEndTheHoldOfTheNext() {
        kept.lock();
        kept.unlock();
        Residence residence = residence();
        Hold lease = residence.lease();
        Owner first = new Owner("client:first") {
            private boolean seen;

            @Override
            public boolean isAlive() {
                if (!seen) {
                    seen = true;
                    ThreadHold mine = residence.holding();
                    assertThat(mine.beginRelease(clock.nanoTime())).isPositive();
                    residence.passOn(mine, clock.nanoTime());
                    kept.lock();
                }
                return false;
            }
        };
        clock.advanceMillis(2_000);
        assertThat(residence.turn.tryTake()).isTrue();
        assertThat(residence.take(lease, first, clock.nanoTime())).isNotNull();
        lease.renewAt(clock.nanoTime());
        watch();
        assertThat(lease.lossReason()).isNull();
        kept.unlock();
        assertThat(losses).isEmpty();
    }

    @Test
    void lossThatIsSaidTwice_endsNoTurnOfAnother() {
        kept.lock();
        ThreadHold lost = residence().holding();
        client.losses.lose(residence().lease(), LockLost.Reason.TAKEN);
        assertThat(residence().turn.tryTake()).isTrue();
        residence().lost(lost);
        assertThat(residence().turn.tryTakeFirst())
                .as("the turn is that of the next")
                .isFalse();
        residence().turn.end();
        assertThatThrownBy(kept::unlock).isInstanceOf(LockLostException.class);
    }

    @Test
    void lossThatAnErrorHasStopped_isGoneOnWith() {
        kept.lock();
        Hold lease = residence().lease();
        // As far as it had come.
        assertThat(residence().holding().lose(LockLost.Reason.TAKEN)).isTrue();
        client.losses.lose(lease, LockLost.Reason.TAKEN);
        assertThat(residence().turn.isFree()).isTrue();
        assertThatThrownBy(kept::unlock).isInstanceOf(LockLostException.class).hasMessageContaining("TAKEN");
    }

    @Test
    void stackOverflow_whereverItComesInALoss_keepsNoTurn_andTheLossIsTold() throws Exception {
        int overflows = 0;
        for (int above = 0; above < 120; above++) {
            Sync lock = client.lock("deep" + above, false, KEEPING);
            CountDownLatch held = new CountDownLatch(1);
            CountDownLatch late = new CountDownLatch(1);
            int left = above;
            FutureTask<Boolean> holder = new FutureTask<>(() -> {
                lock.lock();
                held.countDown();
                late.await();
                return NearTheEnd.overflows(left, lock::held);
            });
            Thread thread = NearTheEnd.thread(holder);
            thread.start();
            held.await();
            Residence residence = residences.known(lock.keys().lock());
            clock.advanceMillis(LEASE);
            late.countDown();
            overflows += holder.get() ? 1 : 0;
            thread.join();
            for (int walk = 0; walk < 2; walk++) {
                client.renewals.inspect(clock.nanoTime(), clock.nanoTime(), (key, job) -> {});
            }
            assertThat(residence.turn.isFree()).as("%d calls above", above).isTrue();
        }
        assertThat(overflows).isPositive();
        await().until(() -> losses.size() == 120);
    }

    @Test
    void loss_thatIsUnlockedBeforeItsRecordIsMade_leavesNone() {
        kept.lock();
        Hold lease = residence().lease();
        ThreadHold local = residence().holding();
        // What the watchdog does, up to the record.
        lease.lose(LockLost.Reason.TAKEN);
        assertThat(local.lose(LockLost.Reason.TAKEN)).isTrue();
        assertThat(local.beginTelling()).isTrue();
        assertThatThrownBy(kept::unlock).isInstanceOf(LockLostException.class);
        residence().lost(local);
        local.endTelling(true);
        watch();
        assertThat(client.holds.all()).isEmpty();
        assertThatThrownBy(kept::unlock)
                .isExactlyInstanceOf(IllegalMonitorStateException.class)
                .hasMessageContaining("does not hold");
    }

    @Test
    void lossWhoseTellingMeetsAnError_keepsNoLeaseFromItsHeartbeat() {
        kept.lock();
        kept.unlock();
        Hold lease = residence().lease();
        Owner first = new Owner("client:first") {
            @Override
            public String description() {
                throw broken;
            }
        };
        ThreadHold lost = new ThreadHold(lease, first, 1, false, 0);
        lost.begin();
        assertThat(lost.lose(LockLost.Reason.TAKEN)).isTrue();
        residences.threadLosses.add(lost);
        clock.advanceMillis(2_000);
        long now = clock.nanoTime();
        assertThatThrownBy(() -> residences.inspect(now, now, (key, job) -> {})).isSameAs(broken);
        assertThat(lease.nextRenewalNanos()).isEqualTo(now);
    }

    @Test
    void loss_thatIsBeingTold_isLookedAtSoon_sinceItsTellerMayMeetAnError() {
        sync.lock();
        Hold hold = client.holds.all().iterator().next();
        hold.lose(LockLost.Reason.TAKEN);
        assertThat(hold.beginTelling()).isTrue();
        long now = clock.nanoTime();
        assertThat(client.renewals.inspect(now, now, (key, job) -> {}) - now).isLessThanOrEqualTo(100 * MILLI);
        hold.endTelling(true);
        assertThat(client.renewals.inspect(now, now, (key, job) -> {}) - now).isGreaterThan(1_000 * MILLI);
    }

    @Test
    void losses_notUnlocked_areKeptInTwoRecords_andEachUnlockThrows() {
        for (int i = 0; i < 10; i++) {
            kept.lock();
            kept.lock();
            client.losses.lose(residence().lease(), LockLost.Reason.TAKEN);
            redis.del(KEY);
        }
        int records = 0;
        for (ThreadHold each = latest(); each != null; each = each.earlier()) {
            records++;
        }
        assertThat(records).isEqualTo(2);
        for (int i = 0; i < 20; i++) {
            assertThatThrownBy(kept::unlock).isInstanceOf(LockLostException.class);
        }
        assertThat(client.holds.all()).isEmpty();
        assertThatThrownBy(kept::unlock).isExactlyInstanceOf(IllegalMonitorStateException.class);
    }

    /** The record of the latest loss of this thread. */
    private ThreadHold latest() {
        return residences.threadLosses.of(kept.keys(), inside.owners().caller());
    }

    /** Loses the hold of a lock that is kept, as the watchdog does, as far as before the record of the loss. */
    private ThreadHold loseUpToTheRecord() {
        ThreadHold hold = residence().holding();
        residence().lease().lose(LockLost.Reason.TAKEN);
        assertThat(hold.lose(LockLost.Reason.TAKEN)).isTrue();
        assertThat(hold.beginTelling()).isTrue();
        redis.del(KEY);
        return hold;
    }

    private void goOn(ThreadHold lost) {
        Hold lease = lost.lease;
        residence().lost(lost);
        lost.endTelling(true);
        client.losses.ended(lease);
    }

    private void unlocksOfLosses(int times) {
        for (int i = 0; i < times; i++) {
            assertThatThrownBy(kept::unlock).isInstanceOf(LockLostException.class);
        }
        watch();
        assertThat(client.holds.all()).isEmpty();
        assertThatThrownBy(kept::unlock).isExactlyInstanceOf(IllegalMonitorStateException.class);
    }

    private void lockAndLose() {
        kept.lock();
        client.losses.lose(residence().lease(), LockLost.Reason.TAKEN);
        redis.del(KEY);
    }

    @Test
    void secondLoss_thatIsUnlockedBeforeItsRecordIsMade_leavesNone() {
        lockAndLose();
        kept.lock();
        ThreadHold second = loseUpToTheRecord();
        assertThatThrownBy(kept::unlock).isInstanceOf(LockLostException.class);
        assertThatThrownBy(kept::unlock).isInstanceOf(LockLostException.class);
        goOn(second);
        unlocksOfLosses(0);
    }

    @Test
    void loss_thatIsUnlockedBeforeItsRecordIsMade_isNoneOfTheNextHold() {
        kept.lock();
        ThreadHold first = loseUpToTheRecord();
        assertThatThrownBy(kept::unlock).isInstanceOf(LockLostException.class);
        assertThat(residence().turn.isFree()).as("the turn is free").isTrue();
        kept.lock();
        goOn(first);
        client.losses.lose(residence().lease(), LockLost.Reason.TAKEN);
        redis.del(KEY);
        unlocksOfLosses(1);
    }

    /** Whoever found the loss met an error before the listeners were told. */
    private void loseUntold(Sync lock) {
        ThreadHold local = residence().holding();
        if (local == null) {
            Hold hold = lock.hold();
            hold.lose(LockLost.Reason.TAKEN);
            assertThat(hold.beginTelling()).isTrue();
            client.localQueue.exit(hold.keys(), hold.attempt);
            hold.endTelling(false);
        } else {
            loseUpToTheRecord();
            residence().lost(local);
            local.endTelling(false);
            client.losses.ended(local.lease);
        }
        redis.del(KEY);
    }

    private void lossesAreTold(Sync lock, boolean keeps) {
        lock.lock();
        client.losses.lose(keeps ? residence().lease() : lock.hold(), LockLost.Reason.TAKEN);
        redis.del(KEY);
        lock.lock();
        loseUntold(lock);
        lock.lock();
        watch();
        await().until(() -> losses.size() == 2);
        lock.unlock();
        for (int i = 0; i < 2; i++) {
            assertThatThrownBy(lock::unlock).isInstanceOf(LockLostException.class);
        }
        assertThat(client.holds.all()).isEmpty();
    }

    @Test
    void secondLoss_thatCouldNotBeTold_isTold_thoughItsThreadLocksAgainAtOnce() {
        lossesAreTold(sync, false);
    }

    @Test
    void secondLoss_ofALockThatIsKept_thatCouldNotBeTold_isTold_thoughItsThreadLocksAgainAtOnce() {
        lossesAreTold(kept, true);
    }

    @Test
    void secondLoss_thatIsBeingTold_asItsThreadLocksAgain_hasARecordOfItsOwn() {
        lockAndLose();
        kept.lock();
        ThreadHold second = loseUpToTheRecord();
        residence().lost(second);
        client.losses.ended(second.lease);
        kept.lock();
        // Whoever was about to tell meets an error.
        second.endTelling(false);
        assertThat(latest()).isSameAs(second);
        watch();
        await().until(() -> losses.size() == 2);
        kept.unlock();
        unlocksOfLosses(2);
    }

    @Test
    void secondLoss_whileItIsReported_keepsItsOwnRecord_andIsReportedAfterAnError() {
        sync.lock();
        client.losses.lose(sync.hold(), LockLost.Reason.TAKEN);
        redis.del(KEY);
        sync.lock();
        Hold second = sync.hold();
        assertThat(second.lose(LockLost.Reason.TAKEN)).isTrue();
        assertThat(second.beginTelling()).isTrue();
        client.localQueue.exit(second.keys(), second.attempt);
        redis.del(KEY);
        sync.lock();
        // Whoever was about to tell meets an error.
        second.endTelling(false);
        assertThat(sync.hold().below).isSameAs(second);
        watch();
        await().until(() -> losses.size() == 2);
        sync.unlock();
        for (int i = 0; i < 2; i++) {
            assertThatThrownBy(sync::unlock).isInstanceOf(LockLostException.class);
        }
    }

    @Test
    void losses_oneAfterTheOther_areAllToldAndToBeUnlocked() {
        lockAndLose();
        lockAndLose();
        lockAndLose();
        await().until(() -> losses.size() == 3);
        unlocksOfLosses(3);
    }
}
