package io.github.redislocks.residency;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.LockLost;
import io.github.redislocks.LossListener;
import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.events.EventNotifier;
import io.github.redislocks.fixture.FakeClock;
import io.github.redislocks.fixture.Logged;
import io.github.redislocks.fixture.NearTheEnd;
import io.github.redislocks.lease.Losses;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Holds;
import io.github.redislocks.state.Keeper;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Owner;
import io.github.redislocks.state.Timing;
import io.github.redislocks.state.WaitLimit;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The turns of threads: how those that come back and those that wait share them. */
@Timeout(30)
@Isolated("It looks at what all threads log")
class ResidenceTest {

    /** More than a turn needs. */
    private static final int DEPTHS = 120;

    private static final long SLICE_MICROS = Timing.SLICE_NANOS / 1_000;

    private final FakeClock time = new FakeClock();
    /** The thread that stops when it reads the clock, until {@link #goOn}. */
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
    /** An event while the loss of a lease is being handled. */
    private Runnable duringLoss = () -> {};

    private final Residence residence = new Residence(clock, "client:r1", LockKeys.of("p", "a"), losses(), new Holds());

    private ThreadLosses losses() {
        EventNotifier events = new EventNotifier(LossListener.to(told::add));
        return new ThreadLosses(new Losses(time, (keys, attempt) -> duringLoss.run(), events, () -> {}));
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
        assertThat(residence.turn.tryTake()).isTrue();
        Hold acquired = beginLease(token);
        residence.passOn(begun(residence.take(acquired, new Owner("client:1"), 0)), 1_000_000);
        return acquired;
    }

    /** While another has the turn: starts a thread that waits for it, and is slow to take it. */
    private FutureTask<Void> waiter() {
        stopped = new CountDownLatch(1);
        goOn = new CountDownLatch(1);
        FutureTask<Void> task = new FutureTask<>(() -> {
            boolean turn = residence.turn.await(WaitLimit.endless());
            assertThat(turn).isTrue();
            residence.turn.entered();
            return null;
        });
        Thread thread = new Thread(task);
        slow = thread;
        thread.start();
        await().until(() -> residence.turn.queuedThreads().contains(thread));
        return task;
    }

    /** Ends the turn; the waiter is about to take it. */
    private void endTurnAndLetItCome() {
        residence.turn.end();
        uninterrupted(stopped);
    }

    /** The hold of a thread that begins to release it. */
    private static ThreadHold begun(@Nullable ThreadHold local) {
        ThreadHold taken = Objects.requireNonNull(local);
        assertThat(taken.beginRelease(0)).isPositive();
        return taken;
    }

    @Test
    void leaseThatIsLostWhileAThreadTakesIt_wasLastThatOfTheThreadBefore() {
        Hold lease = useNewLease(5);
        assertThat(residence.turn.tryTake()).isTrue();
        lease.lose(LockLost.Reason.TAKEN);
        assertThat(residence.take(lease, new Owner("client:1"), 1_000_000)).isNull();
        residence.lost(lease, LockLost.Reason.TAKEN);
        assertTold(5L);
    }

    /** A thread has a hold under a lease, and has begun to release it, when the lease is lost. */
    private ThreadHold unlockingUnderALostLease() {
        assertThat(residence.turn.tryTake()).isTrue();
        Hold lease = beginLease(5);
        ThreadHold local = begun(residence.take(lease, new Owner("client:1"), 0));
        lease.lose(LockLost.Reason.TAKEN);
        return local;
    }

    private void assertTold(Long... tokens) {
        await().until(() -> told.size() >= tokens.length);
        assertThat(told).extracting(LockLost::token).containsExactly(tokens);
    }

    @Test
    void lossOfALease_thatOverlapsAnUnlock_isTold() {
        ThreadHold local = unlockingUnderALostLease();
        duringLoss = () -> residence.passOn(local, 1_000_000);
        assertThat(residence.lost(local.lease, LockLost.Reason.TAKEN)).isEqualTo(Keeper.FollowUp.DONE);
        assertTold(5L);
    }

    @Test
    void lossOfALease_whoseThreadUnlocks_andLocksBeforeTheLossIsHandledAgain_isTold() {
        ThreadHold local = unlockingUnderALostLease();
        assertThat(residence.lost(local.lease, LockLost.Reason.TAKEN)).isEqualTo(Keeper.FollowUp.LATER);
        residence.passOn(local, 1_000_000);
        useNewLease(20);
        assertTold(5L);
    }

    @Test
    void lossOfALease_thatIsHandledBeforeOrAfterTheNextBegins_isToldOnce() {
        String log = Logged.by(() -> {
            Hold first = useNewLease(5);
            first.lose(LockLost.Reason.TAKEN);
            Hold second = useNewLease(20);
            residence.lost(first, LockLost.Reason.TAKEN);
            second.lose(LockLost.Reason.TAKEN);
            residence.lost(second, LockLost.Reason.TAKEN);
            Hold third = useNewLease(40);
            third.lose(LockLost.Reason.TAKEN);
            residence.lost(third, LockLost.Reason.TAKEN);
            assertTold(5L, 20L, 40L);
            await().until(() -> Logged.soFar().contains("token 40"));
        });
        assertThat(log).containsOnlyOnce("token 5)").containsOnlyOnce("token 20)");
    }

    /** A thread for each task: the thread has unlocked and ended, and the next thread has the lock. */
    @Test
    void isAlive_afterTheHolderHasUnlockedAndEnded_isThatOfTheNext() {
        assertThat(residence.turn.tryTake()).isTrue();
        Hold lease = beginLease(5);
        Owner ending = new Owner("client:1") {
            @Override
            public boolean isAlive() {
                residence.passOn(begun(residence.holding()), 1);
                assertThat(residence.turn.tryTake()).isTrue();
                assertThat(residence.take(lease, new Owner("client:2"), 2_000_000))
                        .isNotNull();
                return false;
            }
        };
        assertThat(residence.take(lease, ending, 0)).isNotNull();
        assertThat(residence.isAlive()).isTrue();
    }

    @Test
    void threadThatHasWaited_countsAsQueuedUntilItHasEntered() throws Exception {
        assertThat(residence.turn.tryTake()).isTrue();
        CountDownLatch seen = new CountDownLatch(1);
        FutureTask<Void> task = new FutureTask<>(() -> {
            assertThat(residence.turn.await(WaitLimit.endless())).isTrue();
            uninterrupted(seen);
            residence.turn.entered();
            return null;
        });
        new Thread(task).start();
        await().until(residence.turn::isWanted);
        residence.turn.end();
        await().until(() -> !residence.turn.isWanted());
        residence.turn.entered();
        assertThat(residence.turn.queuedThreads()).hasSize(1);
        seen.countDown();
        task.get();
        assertThat(residence.turn.queuedThreads()).isEmpty();
    }

    @Test
    void thread_withinTheFirstSliceOfTheLease_comesBackBeforeThoseThatWait() throws Exception {
        assertThat(residence.turn.tryTake()).isTrue();
        beginLease();
        FutureTask<Void> waiter = waiter();
        endTurnAndLetItCome();
        time.advanceMicros(SLICE_MICROS - 1);
        assertThat(residence.turn.tryTake()).isTrue();
        residence.turn.end();
        time.advanceMicros(1);
        assertThat(residence.turn.tryTake()).as("its slice is over").isFalse();
        goOn.countDown();
        waiter.get();
        assertThat(residence.turn.isFree()).isFalse();
    }

    @Test
    void threadThatHasWaited_mayRetakeTheTurn_untilItsSliceEnds() throws Exception {
        assertThat(residence.turn.tryTake()).isTrue();
        beginLease();
        time.advanceMicros(5 * SLICE_MICROS);
        FutureTask<Void> first = waiter();
        residence.turn.end();
        goOn.countDown();
        first.get();
        FutureTask<Void> second = waiter();
        endTurnAndLetItCome();
        assertThat(residence.turn.tryTake()).as("within the slice of the first").isTrue();
        residence.turn.end();
        time.advanceMicros(SLICE_MICROS);
        assertThat(residence.turn.tryTake()).isFalse();
        goOn.countDown();
        second.get();
    }

    @Test
    void tryTakeFirst_withinASlice_takesTheTurn() throws Exception {
        assertThat(residence.turn.tryTake()).isTrue();
        FutureTask<Void> waiter = waiter();
        endTurnAndLetItCome();
        assertThat(residence.turn.tryTake()).as("no slice was begun").isFalse();
        assertThat(residence.turn.tryTakeFirst()).isTrue();
        goOn.countDown();
        residence.turn.end();
        waiter.get();
    }

    /** A thread that takes the turn at the end of its stack, and has some work before it ends the turn. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void turn_takenAtTheEndOfTheStack_canBeEnded(boolean first) throws Exception {
        int overflows = 0;
        for (int left = 0; NearTheEnd.goesOn(left, overflows, DEPTHS); left++) {
            int above = left;
            boolean met = NearTheEnd.inAThread(() -> NearTheEnd.overflows(above, () -> {
                if (first ? residence.turn.tryTakeFirst() : residence.turn.tryTake()) {
                    NearTheEnd.useFrames(4);
                    residence.turn.end();
                }
            }));
            overflows += met ? 1 : 0;
            assertThat(residence.turn.isFree()).as("%d calls above", left).isTrue();
        }
        assertThat(overflows).isBetween(1, NearTheEnd.MOST - 1);
    }
}
