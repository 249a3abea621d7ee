package io.github.redislocks.lease;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.LockListener;
import io.github.redislocks.LockLost;
import io.github.redislocks.LocksRenewed;
import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.events.EventNotifier;
import io.github.redislocks.fixture.FakeClock;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Owner;
import io.github.redislocks.state.WaitLimit;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** When a hold is lost, and that what follows is done once. */
@Timeout(30)
class LossesTest {

    private static final long MILLI = 1_000_000;
    private static final Duration LIMIT = Duration.ofSeconds(20);

    private final FakeClock clock = new FakeClock();
    private final List<Long> turnsEnded = new ArrayList<>();
    private final List<Object> told = new CopyOnWriteArrayList<>();
    private final CountDownLatch mayTell = new CountDownLatch(1);
    private final AtomicBoolean noThread = new AtomicBoolean();
    private final EventNotifier events = new EventNotifier(
            List.of(new LockListener() {
                @Override
                public void lost(LockLost loss) {
                    awaitLeave();
                    told.add(loss.reason());
                }

                @Override
                public void renewed(LocksRenewed renewed) {
                    awaitLeave();
                    told.add(renewed.count());
                }
            }),
            Threads.of(
                    work -> new Thread(work) {
                        @Override
                        public synchronized void start() {
                            if (noThread.get()) {
                                throw new OutOfMemoryError("of the test");
                            }
                            super.start();
                        }
                    },
                    "client"));
    private boolean turnsFail;
    private final Losses losses = new Losses(clock, this::exit, events, () -> {});

    LossesTest() {
        clock.advanceMillis(1_000);
    }

    private void exit(LockKeys keys, long attempt) {
        if (turnsFail) {
            throw new IllegalStateException("of the test");
        }
        turnsEnded.add(attempt);
    }

    private void awaitLeave() {
        try {
            mayTell.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private Attempt attempt(long number) {
        return new Attempt(
                number,
                LockKeys.of("p", "lock" + number),
                new Owner("a:1"),
                new Attempt.Request(30_000, true, false),
                WaitLimit.endless());
    }

    /** A hold that is valid for 5 ms more. */
    private Hold hold(Attempt attempt) {
        long now = clock.nanoTime();
        Hold hold =
                new Hold(attempt, new Attempt.Grant(5, false, now + 5 * MILLI, now, true), now, Long.MAX_VALUE, null);
        hold.announced();
        return hold;
    }

    private Hold hold(long number) {
        return hold(attempt(number));
    }

    /** The losses that the listener has received once all were delivered. */
    private List<Object> told() {
        mayTell.countDown();
        losses.awaitTold(LIMIT);
        return told;
    }

    @Test
    void hold_isValidUntilItsDeadline_andLostFromThenOn() {
        Hold hold = hold(7);
        clock.advanceMillis(4);
        assertThat(losses.isValid(hold)).isTrue();
        assertThat(hold.isLost()).isFalse();
        clock.advanceMillis(1);
        assertThat(losses.isValid(hold)).isFalse();
        assertThat(turnsEnded).containsExactly(7L);
        assertThat(losses.isValid(hold)).isFalse();
        assertThat(turnsEnded).containsExactly(7L);
        assertThat(told()).containsExactly(LockLost.Reason.EXPIRED);
    }

    @Test
    void loss_isDeclaredByOneCaller_andToldOnce() {
        Hold hold = hold(7);
        assertThat(losses.lose(hold, LockLost.Reason.TAKEN)).isTrue();
        assertThat(losses.lose(hold, LockLost.Reason.CLOSED)).isFalse();
        losses.ended(hold);
        assertThat(turnsEnded).containsExactly(7L);
        assertThat(told()).containsExactly(LockLost.Reason.TAKEN);
    }

    @Test
    void holdThatIsNotLost_isNotToldAsOne() {
        losses.ended(hold(7));
        assertThat(turnsEnded).isEmpty();
        assertThat(told()).isEmpty();
    }

    @Test
    void lossWhoseReleaseGoesOn_leavesTheTurnToThatRelease() {
        Hold hold = hold(7);
        hold.beginRelease(clock.nanoTime());
        hold.releasedTooLate();
        losses.ended(hold);
        assertThat(turnsEnded).isEmpty();
        assertThat(told()).containsExactly(LockLost.Reason.UNCONFIRMED);
    }

    @Test
    void lossThatAnErrorKeptFromBeingTold_isToldByTheNextCaller() {
        Hold hold = hold(7);
        turnsFail = true;
        assertThatThrownBy(() -> losses.lose(hold, LockLost.Reason.TAKEN)).hasMessage("of the test");
        turnsFail = false;
        losses.ended(hold);
        assertThat(turnsEnded).containsExactly(7L);
        assertThat(told()).containsExactly(LockLost.Reason.TAKEN);
    }

    @Test
    void lastLostAttempt_isTheHighest() {
        assertThat(losses.lastLostAttempt()).isZero();
        losses.lose(hold(7), LockLost.Reason.TAKEN);
        assertThat(losses.lastLostAttempt()).isEqualTo(7);
        losses.lose(hold(5), LockLost.Reason.TAKEN);
        assertThat(losses.lastLostAttempt()).isEqualTo(7);
        losses.lose(hold(9), LockLost.Reason.TAKEN);
        assertThat(losses.lastLostAttempt()).isEqualTo(9);
    }

    @Test
    void attempt_hasLostWhatItsCallerHad() {
        Attempt attempt = attempt(7);
        assertThat(losses.hasLost(attempt)).isFalse();
        Hold hold = hold(attempt);
        attempt.had(hold);
        assertThat(losses.hasLost(attempt)).isFalse();
        losses.lose(hold, LockLost.Reason.TAKEN);
        assertThat(losses.hasLost(attempt)).isTrue();
    }

    @Test
    void renewals_areToldByTheirNumber() {
        losses.events.renewed(3);
        assertThat(told()).containsExactly(3L);
    }

    @Test
    void lossForWhichNoThreadCouldBeStarted_isToldLater() {
        noThread.set(true);
        losses.lose(hold(7), LockLost.Reason.TAKEN);
        noThread.set(false);
        mayTell.countDown();
        losses.events.startThreads();
        await().until(() -> told.equals(List.of(LockLost.Reason.TAKEN)));
    }
}
