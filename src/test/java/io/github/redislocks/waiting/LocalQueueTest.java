package io.github.redislocks.waiting;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Owner;
import io.github.redislocks.state.WaitLimit;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class LocalQueueTest {

    private final LocalQueue localQueue = new LocalQueue();
    private final LockKeys keys = LockKeys.of("p", "a");
    private long numbers;

    private Attempt attempt() {
        return new Attempt(
                ++numbers,
                keys,
                new Owner("owner" + numbers),
                new Attempt.Request(30_000, true, false),
                WaitLimit.endless());
    }

    @Test
    void enter_first_hasTheTurnAndOthersWaitInOrder() {
        Attempt first = attempt();
        Attempt second = attempt();
        Attempt third = attempt();
        assertThat(localQueue.enter(first)).isTrue();
        assertThat(localQueue.enter(second)).isFalse();
        assertThat(localQueue.enter(third)).isFalse();
        localQueue.exit(keys, first.number);
        assertThat(second.isBehind()).isFalse();
        assertThat(third.isBehind()).isTrue();
        localQueue.exit(keys, second.number);
        assertThat(third.isBehind()).isFalse();
        localQueue.exit(keys, third.number);
        assertThat(localQueue.size()).isZero();
    }

    @Test
    void exit_byOneWithoutTheTurn_changesNothing() {
        Attempt first = attempt();
        Attempt second = attempt();
        localQueue.enter(first);
        localQueue.enter(second);
        localQueue.exit(keys, second.number);
        localQueue.exit(keys, 99);
        assertThat(second.isBehind()).isTrue();
        assertThat(localQueue.successor(keys, first.number)).isSameAs(second);
        assertThat(localQueue.successor(keys, second.number)).isNull();
        assertThat(localQueue.size()).isEqualTo(1);
    }

    @Test
    void leave_waiting_isUndoneAlone_contendingKeepsTheTurn() {
        Attempt first = attempt();
        Attempt second = attempt();
        localQueue.enter(first);
        localQueue.enter(second);
        assertThat(localQueue.leave(second)).isEqualTo(LocalQueue.Left.WAITING);
        assertThat(localQueue.leave(second)).isEqualTo(LocalQueue.Left.NOWHERE);
        assertThat(localQueue.leave(first)).isEqualTo(LocalQueue.Left.CONTENDING);
        assertThat(localQueue.size()).isEqualTo(1);
        localQueue.exit(keys, first.number);
        assertThat(localQueue.size()).isZero();
    }

    @Test
    void leave_anywhereInTheLine_theOthersKeepTheirOrder() {
        List<Attempt> line =
                new ArrayList<>(Stream.generate(this::attempt).limit(7).toList());
        line.forEach(localQueue::enter);
        for (int gone : new int[] {3, 5, 1}) {
            // In this order: one in the middle, the last, the first that waits.
            assertThat(localQueue.leave(line.remove(gone))).isEqualTo(LocalQueue.Left.WAITING);
        }
        Attempt last = attempt();
        localQueue.enter(last);
        line.add(last);
        for (int i = 0; i < line.size(); i++) {
            assertThat(line)
                    .filteredOn(attempt -> !attempt.isBehind())
                    .hasSize(i + 1)
                    .endsWith(line.get(i));
            localQueue.exit(keys, line.get(i).number);
        }
        assertThat(localQueue.size()).isZero();
    }

    @Test
    void inherit_heirThatHasGone_isRefusedAndTheTurnStays() {
        Attempt first = attempt();
        Attempt successor = attempt();
        localQueue.enter(first);
        localQueue.enter(successor);
        localQueue.leave(successor);
        assertThat(localQueue.inherit(first.number, successor)).isFalse();
        assertThat(successor.isBehind()).isTrue();
        Attempt next = attempt();
        localQueue.enter(next);
        assertThat(localQueue.inherit(first.number, next)).isTrue();
        assertThat(next.isBehind()).isFalse();
    }

    @Test
    void inherit_again_isTrueForTheOneThatHasTheTurn() {
        Attempt first = attempt();
        Attempt successor = attempt();
        localQueue.enter(first);
        localQueue.enter(successor);
        localQueue.exit(keys, first.number);
        assertThat(localQueue.inherit(first.number, successor)).isTrue();
        assertThat(localQueue.size()).isEqualTo(1);
    }

    @Test
    void exit_wakesTheThreadThatHasTheTurnNext() throws InterruptedException {
        Attempt first = attempt();
        localQueue.enter(first);
        AtomicReference<Attempt> entered = new AtomicReference<>();
        Thread waiter = new Thread(() -> {
            Attempt own = attempt();
            localQueue.enter(own);
            entered.set(own);
            while (own.isBehind()) {
                LockSupport.park(own);
            }
        });
        waiter.start();
        await().until(() -> entered.get() != null && waiter.getState() == Thread.State.WAITING);
        localQueue.exit(keys, first.number);
        waiter.join(10_000);
        assertThat(waiter.isAlive()).isFalse();
    }
}
