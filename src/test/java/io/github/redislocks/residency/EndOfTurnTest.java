package io.github.redislocks.residency;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.LockLost;
import io.github.redislocks.LockLostException;
import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.engine.Sync;
import io.github.redislocks.fixture.NearTheEnd;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Timing;
import io.github.redislocks.watchdog.PendingCommand;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A thread that ends its turn looks once more whether another client wants the lock. */
@Timeout(30)
class EndOfTurnTest extends SteppedResidence {

    /** More than any of these calls needs. */
    private static final int DEPTHS = 250;
    /** As many as a request needs. */
    private static final int REQUEST_FRAMES = 40;

    /** The thread that stops where it reads the clock, until {@link #goOn}. */
    private volatile Thread slow;

    private final CountDownLatch goOn = new CountDownLatch(1);

    @Override
    protected Clock stepping() {
        Clock all = super.stepping();
        return new Clock() {
            @Override
            public long nanoTime() {
                if (Thread.currentThread() == slow) {
                    awaitGoOn();
                }
                return all.nanoTime();
            }

            @Override
            public long untilNanos(Instant time) {
                return all.untilNanos(time);
            }

            @Override
            public void park(Object blocker, long nanos) {
                all.park(blocker, nanos);
            }
        };
    }

    private void awaitGoOn() {
        try {
            goOn.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** A waiting thread of the client is slow to take the turn, and the slice of the lease ends meanwhile. */
    @Test
    void recalledLease_whoseSliceEndsDuringAnUnlock_isGivenUpAtTheEndOfTheTurn() throws Exception {
        kept.lock();
        Thread waiter = new Thread(() -> {
            kept.lock();
            kept.unlock();
        });
        waiter.start();
        await().until(() -> residence().turn.isWanted());
        slow = waiter;
        residence().recall(residence().lease().attempt, clock.nanoTime());
        clock.advanceMicros(Timing.SLICE_NANOS / 1_000 - 100);
        // The first reading of the unlock is within the slice, and the next after the slice.
        clock.moveAtReadings(60_000);
        kept.unlock();
        clock.moveAtReadings(0);
        assertThat(commands()).containsExactly("release");
        goOn.countDown();
        PendingCommand release = inside.watchdog().commands().iterator().next();
        release.begin();
        release.answered(redis.run(release.call(clock.nanoTime(), MILLI), MILLI), clock.nanoTime());
        release.end();
        waiter.join();
    }

    @Test
    void recalledLease_whoseTurnEndsWithoutStack_isGivenUpByTheWatchdog() throws Exception {
        int overflows = 0;
        for (int left = 0; NearTheEnd.goesOn(left, overflows, DEPTHS); left++) {
            Sync deep = client.lock("deep" + left, false, KEEPING);
            deep.lock();
            deep.unlock();
            Residence residence = residences.of(deep.keys(), 1);
            residence.recall(residence.lease().attempt, clock.nanoTime());
            clock.advanceMillis(300);
            int above = left;
            boolean met =
                    NearTheEnd.inAThread(() -> NearTheEnd.overflows(above, () -> residences.ends.turnEnded(residence)));
            overflows += met ? 1 : 0;
            watch();
            residences.inspect(clock.nanoTime(), clock.nanoTime(), (key, job) -> {});
            assertThat(residence.lease() == null || !residence.lease().isOpen())
                    .as("%d calls above", left)
                    .isTrue();
        }
        assertThat(overflows).isBetween(1, NearTheEnd.MOST - 1);
    }

    @Test
    void tryOfAnotherClient_whoseAnswerMeetsTheEndOfTheStack_isAnsweredAtTheEndOfTheNextTurn() throws Exception {
        int overflows = 0;
        for (int left = 0; NearTheEnd.goesOn(left, overflows, DEPTHS); left++) {
            Residence residence = residences.of(LockKeys.of("redis-locks", "deep" + left), 1);
            AtomicBoolean answered = new AtomicBoolean();
            residence.ask(() -> {
                NearTheEnd.useFrames(REQUEST_FRAMES);
                answered.set(true);
            });
            int above = left;
            boolean met =
                    NearTheEnd.inAThread(() -> NearTheEnd.overflows(above, () -> residences.ends.turnEnded(residence)));
            overflows += met ? 1 : 0;
            residences.ends.turnEnded(residence);
            assertThat(answered).as("%d calls above", left).isTrue();
        }
        assertThat(overflows).isBetween(1, NearTheEnd.MOST - 1);
    }

    /** A lease that is lost when it has just been found open. */
    private final class LostWhenSeen extends CopiedLease {

        LostWhenSeen(Hold lease) {
            super(lease);
        }

        @Override
        public boolean isOpen() {
            boolean open = super.isOpen();
            client.losses.lose(this, LockLost.Reason.TAKEN);
            return open;
        }
    }

    /** The thread that declares the loss does not see the new hold yet, whose thread has just checked the lease. */
    @Test
    void leaseThatIsLostAsAThreadLocks_leavesTheTurnToTheNext() {
        keepInstead(LostWhenSeen::new);
        kept.lock();
        assertThat(residence().turn.isFree()).isTrue();
        assertThatThrownBy(kept::unlock).isInstanceOf(LockLostException.class).hasMessageContaining("TAKEN");
    }

    private final List<Residence.Found> found = new ArrayList<>();

    /** A lease under which a hold is beginning when a try without a wait comes. */
    private final class TriedWhenSeen extends CopiedLease {

        TriedWhenSeen(Hold lease) {
            super(lease);
        }

        @Override
        public boolean isOpen() {
            ThreadHold local = residence().use(this);
            if (local != null && local.isBeginning()) {
                found.add(residence().tryTurnOrSay(0));
            }
            return super.isOpen();
        }
    }

    /** The thread may still find that the lease was lost, and then no thread had the lock. */
    @Test
    void tryTurnOrSay_whileAHoldIsBeginning_findsNoHolder() {
        keepInstead(TriedWhenSeen::new);
        kept.lock();
        assertThat(found).containsExactly(Residence.Found.UNKNOWN);
        kept.unlock();
    }
}
