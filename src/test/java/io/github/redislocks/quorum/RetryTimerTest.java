package io.github.redislocks.quorum;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.concurrent.Threads;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tasks run a moment later, whatever earlier tasks and starts of the thread met. */
@Timeout(30)
class RetryTimerTest {

    private final AtomicBoolean scarce = new AtomicBoolean();
    private final AtomicInteger threads = new AtomicInteger();
    /** Fails instead of a thread's start: pools of later JDKs start threads without {@code start()}. */
    private final ThreadFactory factory = work -> {
        if (scarce.get()) {
            throw new OutOfMemoryError("unable to create native thread, of the test");
        }
        threads.incrementAndGet();
        return new Thread(work);
    };

    private final RetryTimer timer = new RetryTimer(Threads.of(factory, "test"));
    private final List<String> done = new CopyOnWriteArrayList<>();

    @AfterEach
    void close() {
        timer.close();
    }

    @Test
    void tasks_areRunOnOneThread_whichStartsWithTheFirst() {
        assertThat(threads).as("before there is a need").hasValue(0);
        timer.later(() -> done.add("first"));
        timer.later(() -> done.add("second"));
        await().until(() -> done.size() == 2);
        timer.later(() -> done.add("third"));
        await().until(() -> done.size() == 3);
        assertThat(threads).hasValue(1);
    }

    @Test
    void task_addedTwice_isRunOnce() {
        Runnable task = () -> done.add("once");
        timer.later(task);
        timer.later(task);
        timer.later(() -> done.add("other"));
        await().until(() -> done.contains("other"));
        timer.later(() -> done.add("last"));
        await().until(() -> done.contains("last"));
        assertThat(done).containsOnlyOnce("once");
    }

    @Test
    void tasks_thatAddThemselvesAgain_queueOneTurnAtMost() {
        for (int i = 0; i < 5; i++) {
            timer.later(new Runnable() {
                @Override
                public void run() {
                    done.add("again");
                    timer.later(this);
                }
            });
        }
        await().until(() -> done.size() >= 15);
        assertThat(timer.waitingTurns()).isLessThanOrEqualTo(1);
    }

    @Test
    void task_afterOneThatFails_isRun() {
        timer.later(() -> {
            throw new OutOfMemoryError("of the test");
        });
        timer.later(() -> done.add("next"));
        await().until(() -> done.size() == 1);
    }

    @Test
    void thread_thatCouldNotBeStarted_isStartedByTheNext() {
        Runnable task = () -> done.add("first");
        scarce.set(true);
        timer.later(task);
        scarce.set(false);
        timer.later(task);
        await().until(() -> done.size() == 1);
    }

    @Test
    void closed_startsNoThread() {
        timer.close();
        timer.later(() -> done.add("late"));
        assertThat(threads).hasValue(0);
    }
}
