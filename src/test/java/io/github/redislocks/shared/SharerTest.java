package io.github.redislocks.shared;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.redislocks.LockLost;
import io.github.redislocks.events.EventNotifier;
import io.github.redislocks.fixture.FakeClock;
import io.github.redislocks.lease.Losses;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.HandleOwner;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Holds;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Owner;
import io.github.redislocks.state.Settings;
import io.github.redislocks.state.WaitLimit;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Threads that enter a share while others close it. */
class SharerTest {

    private final LockKeys keys = LockKeys.of(Settings.DEFAULT_KEY_PREFIX, "job");
    private final Losses losses =
            new Losses(new FakeClock(), (of, attempt) -> {}, new EventNotifier(List.of()), () -> {});
    private final Sharer sharer = new Sharer("client", keys, losses, new Holds());
    private final Share share = new Share(hold(), 0);
    /** The cell of the thread that asked for the share, and lets the others in. */
    private final Cell asker = cell(() -> {});

    private boolean left;

    private Hold hold() {
        Attempt attempt = new Attempt(1, keys, sharer, new Attempt.Request(30_000, true, false), WaitLimit.endless());
        return new Hold(attempt, new Attempt.Grant(1, false, Long.MAX_VALUE, 0, true), 0, 0, null);
    }

    /** A thread that does something when it is woken. */
    private Cell cell(Runnable woken) {
        return sharer.cell(new Owner("thread") {
            @Override
            public void wake() {
                woken.run();
            }
        });
    }

    /** A recall, and the exit of the threads that are in already, end no share into which others are let. */
    @Test
    void begin_recalledWhileItLetsThreadsIn_isNotEndedUnderThem() {
        asker.waits(0);
        List<Cell> waiting = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            Cell cell = cell(this::closeAndLeave);
            cell.waits(0);
            waiting.add(cell);
        }
        sharer.begin(asker, share);
        assertThat(asker.isIn(share)).isTrue();
        for (Cell cell : waiting) {
            assertThat(share.isEnding() && cell.isIn(share))
                    .as("inside a share that ends")
                    .isFalse();
        }
    }

    /** A writer recalls the share, and all threads but the asker leave. */
    private void closeAndLeave() {
        if (!left) {
            left = true;
            if (sharer.share() != null) {
                share.close(1);
            }
            sharer.cells().stream().filter(cell -> cell != asker).forEach(cell -> cell.leave(share));
            sharer.beginsEnd(share);
        }
    }

    @Test
    void begin_allWhoWaited_areIn() {
        Cell first = cell(() -> {});
        Cell second = cell(() -> {});
        asker.waits(0);
        first.waits(0);
        sharer.begin(asker, share);
        assertThat(first.isIn(share)).isTrue();
        assertThat(second.isOut()).isTrue();
        assertThat(asker.leave(share)).isTrue();
        assertThat(sharer.beginsEnd(share)).as("an open share ends").isFalse();
        share.close(1);
        assertThat(sharer.beginsEnd(share)).as("a used share ends").isFalse();
        assertThat(first.leave(share)).isTrue();
        assertThat(sharer.beginsEnd(share)).isTrue();
        assertThat(sharer.beginsEnd(share)).as("ends twice").isFalse();
    }

    /** The thread that declared the loss found no reader, and will not look again. */
    @Test
    void begin_ofAShareThatWasJustLost_tellsTheReaders() {
        asker.waits(0);
        assertThat(share.hold.lose(LockLost.Reason.TAKEN)).isTrue();
        sharer.begin(asker, share);
        assertThat(asker.loss()).isNotNull();
        assertThat(sharer.share()).isNull();
    }

    @Test
    void answerAfter_waitsForTheEndOfAnEndingShareOnly() {
        AtomicInteger answers = new AtomicInteger();
        asker.waits(0);
        sharer.begin(asker, share);
        sharer.answerAfter(share, answers::incrementAndGet);
        assertThat(answers).as("a used share").hasValue(1);
        assertThat(asker.leave(share)).isTrue();
        share.close(1);
        assertThat(sharer.beginsEnd(share)).isTrue();
        sharer.answerAfter(share, answers::incrementAndGet);
        assertThat(answers).as("an ending share").hasValue(1);
        sharer.ended(share.hold);
        assertThat(answers).hasValue(2);
        sharer.answerAfter(share, answers::incrementAndGet);
        assertThat(answers).as("a share that has ended").hasValue(3);
    }

    /** A downgrade that meets an error while it waits for the asker keeps nobody from asking. */
    @Test
    void beginsDowngrade_thatMeetsAnError_leavesThePartOfTheAskerToTheNext() {
        AtomicInteger woken = new AtomicInteger();
        HandleOwner waits = new HandleOwner("client", 1, this, loss -> {});
        waits.wakes(woken::incrementAndGet);
        sharer.cell(waits).waits(0);
        assertThat(sharer.beginsAsking(asker.owner)).isTrue();
        assertThatThrownBy(() -> sharer.beginsDowngrade(asker.owner, () -> {
                    sharer.endsAsking();
                    assertThat(sharer.beginsAsking(waits)).isFalse();
                    woken.set(0);
                    throw new InternalError("of the test");
                }))
                .isInstanceOf(InternalError.class);
        assertThat(woken).hasValue(1);
        assertThat(sharer.beginsAsking(waits)).isTrue();
    }

    /** A sleep of an interrupted thread would end at once, and the thread would only turn and turn. */
    @Test
    void beginsDowngrade_ofAnInterruptedThread_sleepsUninterrupted_andKeepsTheInterrupt() {
        assertThat(sharer.beginsAsking(asker.owner)).isTrue();
        List<Boolean> interrupted = new ArrayList<>();
        Thread.currentThread().interrupt();
        sharer.beginsDowngrade(new Owner("writer"), () -> {
            interrupted.add(Thread.currentThread().isInterrupted());
            if (interrupted.size() == 2) {
                sharer.endsAsking();
            }
        });
        assertThat(Thread.interrupted()).isTrue();
        assertThat(interrupted).containsExactly(true, false);
    }
}
