package io.github.redislocks.residency;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.LockLost;
import io.github.redislocks.LossListener;
import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.events.EventNotifier;
import io.github.redislocks.fixture.FakeClock;
import io.github.redislocks.lease.Losses;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Holds;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Owner;
import io.github.redislocks.state.Timing;
import io.github.redislocks.state.WaitLimit;
import java.util.HashSet;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The turns of threads: how those that come back and those that wait share them. */
@Timeout(30)
class ResidenceTest {

    private static final long SLICE_MICROS = Timing.SLICE_NANOS / 1_000;

    private final FakeClock time = new FakeClock();
    /** Who is stopped where it looks at the clock, until {@link #goOn}. */
    private volatile @Nullable Thread slow;

    private volatile CountDownLatch stopped = new CountDownLatch(1);
    private volatile CountDownLatch goOn = new CountDownLatch(1);

    private final Clock clock = new Clock() {
        @Override
        public long nanoTime() {
            if (Thread.currentThread() == slow) {
                stopped.countDown();
                uninterrupted(goOn);
            }
            return time.nanoTime();
        }

        @Override
        public void park(Object blocker, long nanos) {
            time.park(blocker, nanos);
        }
    };

    private final Queue<LockLost> told = new ConcurrentLinkedQueue<>();
    private final WalkedSet watched = new WalkedSet();
    private final Residence residence = new Residence(clock, "client:r1", LockKeys.of("p", "a"), ended(), watched);

    /** The residences that the watchdog looks at. A walk comes right after each addition. */
    private static final class WalkedSet extends HashSet<Residence> {

        private static final long serialVersionUID = 1;

        /** The task of the test that runs at the next removal. */
        private transient Runnable atRemoval = () -> {};

        @Override
        public boolean add(Residence added) {
            boolean isNew = super.add(added);
            added.unwatch();
            return isNew;
        }

        @Override
        public boolean remove(Object removed) {
            Runnable now = atRemoval;
            atRemoval = () -> {};
            now.run();
            return super.remove(removed);
        }
    }

    private Residence.Ended ended() {
        Losses losses =
                new Losses(time, (keys, attempt) -> {}, new EventNotifier(LossListener.to(told::add)), () -> {});
        return new Residence.Ended(new ThreadLosses(losses), new LossRecords(), new Holds());
    }

    private static void uninterrupted(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private void beginLease() {
        beginLease(5);
    }

    /** Begins a lease whose first token is the given one. */
    private Hold beginLease(long token) {
        Attempt attempt = new Attempt(
                token, residence.keys, residence, new Attempt.Request(30_000, true, false), WaitLimit.endless());
        Hold acquired = new Hold(attempt, new Attempt.Grant(token, false, Long.MAX_VALUE, 0, true), 0, 10, null);
        residence.begin(acquired);
        return acquired;
    }

    /** Begins a lease under which a thread has the lock and unlocks it. */
    private Hold useNewLease(long token) {
        assertThat(residence.tryTurn()).isTrue();
        Hold acquired = beginLease(token);
        assertThat(residence.take(acquired, new Owner("client:1"), 0)).isNotNull();
        residence.passOn(1_000_000);
        return acquired;
    }

    /** While another has the turn: starts a thread that waits for it, and is slow to take it. */
    private FutureTask<Void> waiter() {
        stopped = new CountDownLatch(1);
        goOn = new CountDownLatch(1);
        FutureTask<Void> task = new FutureTask<>(() -> {
            boolean turn = residence.awaitTurn(WaitLimit.endless());
            assertThat(turn).isTrue();
            residence.entered();
            return null;
        });
        Thread thread = new Thread(task);
        slow = thread;
        thread.start();
        await().until(() -> residence.queuedThreads().contains(thread));
        return task;
    }

    /** Ends the turn; the waiter is about to take it. */
    private void endTurnAndLetItCome() {
        residence.endTurn();
        uninterrupted(stopped);
    }

    @Test
    void leaseThatIsLostWhileAThreadTakesIt_wasLastThatOfTheThreadBefore() {
        assertThat(residence.tryTurn()).isTrue();
        beginLease();
        Hold lease = Objects.requireNonNull(residence.lease());
        Owner owner = new Owner("client:1");
        long token = Objects.requireNonNull(residence.take(lease, owner, 0)).token;
        residence.passOn(1_000_000);
        assertThat(residence.tryTurn()).isTrue();
        lease.lose(LockLost.Reason.TAKEN);
        assertThat(residence.take(lease, owner, 1_000_000)).isNull();
        assertThat(Objects.requireNonNull(residence.lossOfUnlocked(lease, LockLost.Reason.TAKEN))
                        .token())
                .isEqualTo(token);
    }

    @Test
    void lossOfALease_isNoneOfAThreadThatHasUnlockedUnderTheNext() {
        Hold first = useNewLease(5);
        first.lose(LockLost.Reason.TAKEN);
        residence.ended(first);
        Hold second = useNewLease(20);
        assertThat(residence.lossOfUnlocked(first, LockLost.Reason.TAKEN)).isNull();
        assertThat(residence.lossOfUnlocked(second, LockLost.Reason.TAKEN)).isNotNull();
    }

    @Test
    void lossOfALease_isToldForTheThreadThatHasUnlocked_thoughTheNextLeaseBegins() {
        Hold first = useNewLease(5);
        first.lose(LockLost.Reason.TAKEN);
        watched.atRemoval = () -> useNewLease(20);
        residence.lost(first, LockLost.Reason.TAKEN);
        await().until(() -> !told.isEmpty());
        assertThat(told).singleElement().extracting(LockLost::token).isEqualTo(5L);
    }

    @Test
    void lease_thatBeginsDuringAWalk_isWatched() {
        assertThat(residence.tryTurn()).isTrue();
        beginLease();
        assertThat(watched).containsExactly(residence);
    }

    @Test
    void passOn_thatMeetsAnError_endsTheTurn() {
        assertThat(residence.tryTurn()).isTrue();
        beginLease();
        Hold lease = Objects.requireNonNull(residence.lease());
        assertThat(residence.take(lease, new Owner("client:1"), 0)).isNotNull();
        residence.ended(lease);
        watched.atRemoval = () -> {
            throw new OutOfMemoryError("of the test");
        };
        assertThatThrownBy(() -> residence.passOn(1_000_000)).isInstanceOf(OutOfMemoryError.class);
        assertThat(residence.isTurnFree()).isTrue();
    }

    @Test
    void thread_thatHasWaited_isQueuedUntilItSaysItself() throws Exception {
        assertThat(residence.tryTurn()).isTrue();
        CountDownLatch seen = new CountDownLatch(1);
        FutureTask<Void> task = new FutureTask<>(() -> {
            assertThat(residence.awaitTurn(WaitLimit.endless())).isTrue();
            uninterrupted(seen);
            residence.entered();
            return null;
        });
        new Thread(task).start();
        await().until(residence::isWanted);
        residence.endTurn();
        await().until(() -> !residence.isWanted());
        residence.entered();
        assertThat(residence.queuedThreads()).hasSize(1);
        seen.countDown();
        task.get();
        assertThat(residence.queuedThreads()).isEmpty();
    }

    @Test
    void thread_withinTheFirstSliceOfTheLease_comesBackBeforeThoseThatWait() throws Exception {
        assertThat(residence.tryTurn()).isTrue();
        beginLease();
        FutureTask<Void> waiter = waiter();
        endTurnAndLetItCome();
        time.advanceMicros(SLICE_MICROS - 1);
        assertThat(residence.tryTurn()).isTrue();
        residence.endTurn();
        time.advanceMicros(1);
        assertThat(residence.tryTurn()).as("its slice is over").isFalse();
        goOn.countDown();
        waiter.get();
        assertThat(residence.isTurnFree()).isFalse();
    }

    @Test
    void thread_thatHasWaited_hasASlice() throws Exception {
        assertThat(residence.tryTurn()).isTrue();
        beginLease();
        time.advanceMicros(5 * SLICE_MICROS);
        FutureTask<Void> first = waiter();
        residence.endTurn();
        goOn.countDown();
        first.get();
        FutureTask<Void> second = waiter();
        endTurnAndLetItCome();
        assertThat(residence.tryTurn()).as("within the slice of the first").isTrue();
        residence.endTurn();
        time.advanceMicros(SLICE_MICROS);
        assertThat(residence.tryTurn()).isFalse();
        goOn.countDown();
        second.get();
    }

    @Test
    void client_whichGivesTheLeaseUp_waitsForNoSlice() throws Exception {
        assertThat(residence.tryTurn()).isTrue();
        FutureTask<Void> waiter = waiter();
        endTurnAndLetItCome();
        assertThat(residence.tryTurn()).as("no slice was begun").isFalse();
        assertThat(residence.tryTurnFirst()).isTrue();
        goOn.countDown();
        residence.endTurn();
        waiter.get();
    }
}
