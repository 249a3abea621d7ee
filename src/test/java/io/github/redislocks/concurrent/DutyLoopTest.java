package io.github.redislocks.concurrent;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests that a background thread repeats its task, whatever the task throws. */
@Timeout(20)
class DutyLoopTest {

    @Test
    void loop_afterATaskThatThrows_repeatsTheTask() throws InterruptedException {
        List<Throwable> thrown =
                List.of(new IllegalStateException("one"), new OutOfMemoryError("two"), new StackOverflowError("three"));
        List<Integer> turns = new ArrayList<>();
        AtomicReference<DutyLoop> self = new AtomicReference<>();
        DutyLoop loop = new DutyLoop(Threads.DAEMONS, "duty", () -> {
            int turn = turns.size();
            turns.add(turn);
            if (turn == thrown.size()) {
                self.get().close();
                return;
            }
            if (thrown.get(turn) instanceof Error error) {
                throw error;
            }
            throw new IllegalStateException(thrown.get(turn));
        });
        self.set(loop);
        loop.start();
        loop.thread().join();
        assertThat(turns).containsExactly(0, 1, 2, 3);
    }

    @Test
    void loop_afterAnErrorThatCannotBeLogged_repeatsTheTask() throws InterruptedException {
        int[] turns = {0};
        AtomicReference<DutyLoop> self = new AtomicReference<>();
        DutyLoop loop = new DutyLoop(Threads.DAEMONS, "duty", () -> {
            if (++turns[0] == 2) {
                self.get().close();
                return;
            }
            throw new IllegalStateException("not to be told") {
                private static final long serialVersionUID = 1L;

                @Override
                public StackTraceElement[] getStackTrace() {
                    throw new OutOfMemoryError("in the logger");
                }

                @Override
                public void printStackTrace(PrintStream stream) {
                    throw new OutOfMemoryError("in the logger");
                }
            };
        });
        self.set(loop);
        loop.start();
        loop.thread().join();
        assertThat(turns[0]).isEqualTo(2);
    }

    /** With a full heap, an allocation in front of the task would end the thread. */
    @Test
    void loop_beforeItsFirstTask_allocatesNothing() throws InterruptedException {
        ThreadMXBean heap = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long[] allocated = new long[2];
        Threads threads = Threads.of(
                work -> new Thread(() -> {
                    allocated[0] = heap.getCurrentThreadAllocatedBytes();
                    work.run();
                }),
                "test");
        AtomicReference<DutyLoop> self = new AtomicReference<>();
        DutyLoop loop = new DutyLoop(threads, "duty", () -> {
            allocated[1] = heap.getCurrentThreadAllocatedBytes();
            self.get().close();
        });
        self.set(loop);
        loop.start();
        loop.thread().join();
        assertThat(allocated[1]).isEqualTo(allocated[0]);
    }

    @Test
    void loop_closedBeforeTheStart_runsNoTask() throws InterruptedException {
        List<String> turns = new ArrayList<>();
        DutyLoop loop = new DutyLoop(Threads.DAEMONS, "duty", () -> turns.add("one"));
        loop.close();
        loop.start();
        loop.thread().join();
        assertThat(turns).isEmpty();
        assertThat(loop.isClosed()).isTrue();
    }
}
