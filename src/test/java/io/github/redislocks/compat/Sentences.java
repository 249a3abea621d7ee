package io.github.redislocks.compat;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.Condition;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.Parameter;

/** A lock of one kind, and threads that use it: what the tests of all sentences share. */
@Timeout(60)
@Tag("server")
abstract class Sentences {

    @Parameter
    Kind kind;

    private final List<Actor<?>> actors = new ArrayList<>();
    Kind.Locks locks;
    /** The lock as the test's thread sees it, and as others see it: the same, or the one of another client. */
    Subject lock;

    Subject there;

    @BeforeEach
    void open() {
        locks = kind.open();
        lock = locks.here;
        there = locks.there;
    }

    @AfterEach
    void close() {
        actors.forEach(actor -> actor.thread.interrupt());
        locks.close();
    }

    /** An action, of a test or of a thread in it, that may be interrupted. */
    @FunctionalInterface
    interface Step {
        void run() throws InterruptedException;
    }

    <T> Actor<T> start(Callable<T> action) {
        Actor<T> actor = new Actor<>(action);
        actors.add(actor);
        return actor.start();
    }

    /** Does it in another thread, and waits for its end. */
    void elsewhere(Step step) throws InterruptedException {
        start(() -> {
                    step.run();
                    return null;
                })
                .result();
    }

    /** Whether an action was ended by an interrupt, and, either way, whether it left the interrupt flag set. */
    record Ended(boolean interrupted, boolean flag) {

        static final Ended BY_INTERRUPT = new Ended(true, false);
        static final Ended WELL = new Ended(false, false);
        static final Ended WELL_WITH_FLAG = new Ended(false, true);

        /** The outcome of an action of the calling thread, whose flag is then cleared. */
        static Ended of(Step step) {
            boolean interrupted = false;
            try {
                step.run();
            } catch (InterruptedException e) {
                interrupted = true;
            }
            return new Ended(interrupted, Thread.interrupted());
        }

        /** As {@link #of}, of an action that begins with the flag set. */
        static Ended ofInterrupted(Step step) {
            Thread.currentThread().interrupt();
            return of(step);
        }
    }

    /** Another thread that has the lock until it is told. */
    final class Holder {

        private final CountDownLatch go = new CountDownLatch(1);
        private final CountDownLatch has = new CountDownLatch(1);
        final Actor<Void> actor;

        /** By this view of the lock, which may be free or not; its place, or the lock, is taken on return. */
        Holder(Subject by) throws InterruptedException {
            int places = locks.places();
            boolean free = !locks.isHeld();
            actor = start(() -> {
                by.lock();
                try {
                    has.countDown();
                    go.await();
                } finally {
                    by.unlock();
                }
                return null;
            });
            if (free) {
                has.await();
            } else {
                awaitThat().until(() -> locks.places() > places);
            }
        }

        boolean has() {
            return has.getCount() == 0;
        }

        /** Lets it unlock. */
        void free() {
            go.countDown();
        }

        /** Lets it unlock, and waits until it has. */
        void end() throws InterruptedException {
            free();
            actor.result();
        }
    }

    /** Asks every millisecond, in the calling thread. */
    static ConditionFactory awaitThat() {
        return await().pollInSameThread()
                .pollDelay(Duration.ZERO)
                .pollInterval(Duration.ofMillis(1))
                .atMost(Duration.ofSeconds(20));
    }

    /** Waits until an actor waits for the lock, and is parked. */
    static void awaitParked(Subject by, Actor<?> actor) {
        awaitThat().until(() -> by.hasQueuedThread(actor.thread) && isParked(actor.thread));
    }

    static boolean isParked(Thread thread) {
        return thread.getState() == Thread.State.WAITING || thread.getState() == Thread.State.TIMED_WAITING;
    }

    /** Waits until so many threads wait in a Condition, and has the lock then. */
    static void lockWithWaiters(Subject by, Condition condition, int count) {
        awaitThat().until(() -> {
            by.lock();
            if (by.getWaitQueueLength(condition) == count) {
                return true;
            }
            by.unlock();
            return false;
        });
    }

    /** All threads have ended, and none is left in Redis. */
    void assertFree() {
        assertThat(locks.isHeld()).as("locked").isFalse();
        assertThat(lock.hasQueuedThreads()).as("has queued threads").isFalse();
        assertThat(there.hasQueuedThreads()).as("has queued threads").isFalse();
        assertThat(lock.getHoldCount()).as("holds").isZero();
    }

    /**
     * As {@link #assertFree}, after a thread gave up at any moment: it, or the thread that named it as its successor,
     * waits only a moment until Redis has forgotten it, and the background goes on. A permanent rest outlasts this.
     */
    void awaitFree() {
        awaitThat().until(() -> !locks.isHeld() && !lock.hasQueuedThreads() && !there.hasQueuedThreads());
        assertFree();
    }

    static void unlock(Subject by, int times) {
        for (int i = 0; i < times; i++) {
            by.unlock();
        }
    }
}
