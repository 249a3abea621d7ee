package io.github.redislocks.shared;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Owner;
import io.github.redislocks.state.Settings;
import io.github.redislocks.state.WaitLimit;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** Threads that enter and leave a share at full speed, while another thread closes it, opens it again, and ends it. */
class ShareRaceTest {

    private static final int SHARES = 5_000;
    private static final int ENTRIES = 100;

    private final LockKeys keys = LockKeys.of(Settings.DEFAULT_KEY_PREFIX, "job");
    private final Sharer sharer = new Sharer("client", keys, null, null);
    /** The shares that a thread has begun to end. */
    private final Set<Share> ended = ConcurrentHashMap.newKeySet();

    private final AtomicInteger inside = new AtomicInteger();
    private final AtomicInteger entries = new AtomicInteger();
    private volatile boolean over;

    private Share share(long number) {
        Attempt attempt =
                new Attempt(number, keys, sharer, new Attempt.Request(30_000, true, false), WaitLimit.endless());
        return new Share(new Hold(attempt, new Attempt.Grant(1, false, Long.MAX_VALUE, 0, true), 0, 0, null), 0);
    }

    /** As {@link Shares#left}, without Redis. */
    private void left(Share share) {
        if (share != null && !share.isOpen() && sharer.beginsEnd(share)) {
            ended.add(share);
            sharer.ended(share.hold);
        }
    }

    private void read() {
        Cell cell = sharer.cell(new Owner("reader"));
        while (!over) {
            Share entered = sharer.enter(cell, 0);
            if (entered == null) {
                left(sharer.share());
                continue;
            }
            entries.incrementAndGet();
            if (ended.contains(entered)) {
                inside.incrementAndGet();
            }
            cell.leave(entered);
            left(entered);
        }
    }

    /** A thread may have entered and another have closed the share again since the look. */
    @Test
    void aShareThatWasOpenedAgain_isNotEndedByAnOlderLook() {
        Share share = share(1);
        assertThat(share.closeIdle()).isTrue();
        int seen = share.seen();
        assertThat(share.reopenIdle()).isTrue();
        assertThat(share.closeIdle()).isTrue();
        assertThat(share.beginEnd(seen)).isFalse();
        assertThat(share.beginEnd(share.seen())).isTrue();
    }

    /** The answer to a renewal opens a closed share, while another writer recalls it. */
    @Test
    void aRecallDuringAReopening_leavesTheShareClosed() {
        AtomicReference<Share> closed = new AtomicReference<>();
        CompletableFuture<Void> recalls = CompletableFuture.runAsync(
                () -> {
                    while (!over) {
                        Share next = closed.getAndSet(null);
                        if (next != null) {
                            next.close(3);
                            entries.incrementAndGet();
                        }
                    }
                },
                task -> new Thread(task).start());
        for (int i = 1; i <= 10 * SHARES; i++) {
            Share share = share(i);
            share.close(1);
            closed.set(share);
            for (int spin = i % 64; spin > 0; spin--) {
                Thread.onSpinWait();
            }
            boolean unused = share.reopen(2);
            while (entries.get() < i) {
                Thread.onSpinWait();
            }
            if (share.isOpen()) {
                inside.incrementAndGet();
            }
        }
        over = true;
        recalls.join();
        assertThat(inside).as("shares that are open after a recall").hasValue(0);
    }

    @Test
    void aShareThatEnds_hasNobodyInside() throws Exception {
        List<CompletableFuture<Void>> readers = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            readers.add(CompletableFuture.runAsync(this::read, task -> new Thread(task).start()));
        }
        Cell asker = sharer.cell(new Owner("asker"));
        int shares = 0;
        // The readers may get no processor for a while.
        while (shares < SHARES || entries.get() < ENTRIES) {
            Share share = share(++shares);
            asker.waits(0);
            sharer.begin(asker, share);
            asker.leave(share);
            if (share.closeIdle()) {
                left(share);
                sharer.reopenIdle(share);
            }
            share.close(0);
            left(share);
            while (sharer.share() != null) {
                Thread.onSpinWait();
            }
        }
        over = true;
        for (CompletableFuture<Void> reader : readers) {
            reader.join();
        }
        assertThat(ended).hasSize(shares);
        assertThat(inside).hasValue(0);
    }
}
