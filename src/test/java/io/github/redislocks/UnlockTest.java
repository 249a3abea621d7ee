package io.github.redislocks;

import static io.github.redislocks.FixedLease.fixed;
import static io.github.redislocks.fixture.twin.Verbs.verb;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.fixture.Moment;
import io.github.redislocks.testkit.twin.Fault;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** The cost of an unlock, the thread that gets the lock by it, and the losses that it reports. */
class UnlockTest extends FakeTime {

    private List<String> requestsOf(Runnable calls) {
        redis.log().turn(true);
        redis.log().clear();
        calls.run();
        return redis.log().calls().stream().map(call -> call.script()).toList();
    }

    private void locked() {
        // The first acquisition of a name takes the long way.
        lock.lock();
        lock.unlock();
    }

    /** A thread of a client that locks, is named when it holds the lock, and unlocks. */
    private Thread locking(RedisReentrantLock of, String name, List<String> order) {
        Thread thread = new Thread(() -> {
            of.lock();
            order.add(name);
            of.unlock();
        });
        thread.start();
        return thread;
    }

    private Thread behind(List<String> order, String name) {
        Thread thread = locking(lock, name, order);
        await().until(() -> thread.getState() == Thread.State.WAITING);
        settle();
        return thread;
    }

    /** The first client has waited for another one, and so hears messages. */
    private void subscribed() throws InterruptedException {
        other.lock();
        Thread waiter = locking(lock, "", new CopyOnWriteArrayList<>());
        queues(1);
        other.unlock();
        waiter.join();
    }

    private void queues(int places) {
        await().until(() -> server.zset(KEY + ":queue").size() == places);
        settle();
    }

    @Test
    void shortHold_costsTwoShortRequests() {
        locked();
        assertThat(requestsOf(() -> {
                    lock.lock();
                    lock.unlock();
                }))
                .containsExactly("take", "free");
    }

    @Test
    void longHold_costsTwoRequests() {
        locked();
        assertThat(requestsOf(() -> {
                    lock.lock();
                    clock.advanceMillis(1);
                    lock.unlock();
                }))
                .containsExactly("take", "release");
    }

    @Test
    void reentry_costsTwoRequests() {
        locked();
        assertThat(requestsOf(() -> {
                    lock.lock();
                    lock.lock();
                    lock.unlock();
                    lock.unlock();
                }))
                .containsExactly("take", "reenter", "release_inner", "free");
    }

    @Test
    void unlock_behindWhichAThreadOfTheClientWaits_costsOneRequestForBoth() throws InterruptedException {
        locked();
        lock.lock();
        List<String> order = new CopyOnWriteArrayList<>();
        Thread next = behind(order, "next");
        assertThat(requestsOf(() -> {
                    lock.unlock();
                    awaitEnd(next);
                }))
                .containsExactly("release", "free");
    }

    /** The answer to the release brings the place of the successor. */
    @Test
    void unlock_whoseSuccessorIsQueuedBehindAnotherClient_costsNoRequestOfTheSuccessor() throws InterruptedException {
        subscribed();
        lock.lock();
        List<String> order = new CopyOnWriteArrayList<>();
        Thread next = behind(order, "next");
        Thread elsewhere = locking(other, "elsewhere", order);
        queues(1);
        clock.advanceMillis(1);
        redis.log().clear();
        lock.unlock();
        elsewhere.join();
        next.join();
        assertThat(order).containsExactly("elsewhere", "next");
        assertThat(redis.log().count("acquire", "take")).isZero();
    }

    @Test
    void unlock_sentTwice_isNoLoss() {
        lock.lock();
        clock.advanceMillis(1);
        redis.failNext(1, verb("release"), Fault.SENT_TWICE);
        lock.unlock();
        othersHaveTheLock();
    }

    @Test
    void innerUnlock_unanswered_counts() {
        lock.lock();
        lock.lock();
        redis.failNext(1, verb("release_inner"), Fault.REQUEST_LOST);
        lock.unlock();
        assertThat(lock.getHoldCount()).isEqualTo(1);
        lock.unlock();
        othersHaveTheLock();
    }

    @Test
    void unlock_answeredAfterTheLeaseHasEnded_isAnExpiry() {
        fixed(lock, Duration.ofSeconds(3)).lock();
        clock.advanceMillis(2_500);
        redis.hold(call -> {
            if (verb("release").test(call)) {
                clock.advanceMillis(501);
            }
            return false;
        });
        assertThatThrownBy(lock::unlock).isInstanceOf(LockLostException.class).hasMessageContaining("EXPIRED");
        settle();
        assertThat(losses).extracting(LockLost::reason).containsExactly(LockLost.Reason.EXPIRED);
    }

    @Test
    void unlock_afterReentriesAndALoss_reportsItOnceForEach() {
        lock.lock();
        lock.lock();
        server.del(KEY);
        assertThatThrownBy(lock::unlock).isInstanceOf(LockLostException.class);
        assertThatThrownBy(lock::unlock).isInstanceOf(LockLostException.class);
        assertThatThrownBy(lock::unlock).isExactlyInstanceOf(IllegalMonitorStateException.class);
    }

    /** The successor has gone, and its leave is not answered: the unlock waits for that a moment. */
    @Test
    void unlock_interruptedWhileItsSuccessorLeaves_returnsInAMomentAndKeepsTheInterrupt() throws InterruptedException {
        lock.lock();
        Thread successor = new Thread(() -> {
            try {
                lock.lockInterruptibly();
            } catch (InterruptedException e) {
                // The thread leaves.
            }
        });
        successor.start();
        await().until(() -> successor.getState() == Thread.State.WAITING);
        settle();
        Thread holder = Thread.currentThread();
        redis.hold(call -> {
            if (verb("release").test(call)) {
                successor.interrupt();
                while (successor.isAlive()) {
                    Moment.pass();
                }
            }
            return verb("leave").test(call);
        });
        clock.advanceMillis(1);
        holder.interrupt();
        whileTimePasses(lock::unlock);
        assertThat(Thread.interrupted()).isTrue();
        redis.heal();
        pass(TimeUnit.SECONDS.toMillis(3));
        othersHaveTheLock();
    }
}
