package io.github.redislocks;

import static io.github.redislocks.FixedLease.fixed;
import static io.github.redislocks.fixture.twin.Verbs.verb;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.redis.Call;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.testkit.twin.Fault;
import io.github.redislocks.testkit.twin.HeldCalls;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/**
 * An attempt that is over leaves nothing in Redis, whatever of its requests was not answered, runs twice or runs late,
 * nor of a successor that one named; and the rest that is left for a moment touches no later attempt of its thread.
 */
class LeaveTest extends FakeTime {

    private static final Duration PATIENCE = Duration.ofSeconds(5);

    /** A thread of the first client that wants the lock, and takes its interrupt for an answer. */
    private Thread interruptible() {
        Thread thread = new Thread(() -> {
            try {
                lock.lockInterruptibly();
                lock.unlock();
            } catch (InterruptedException expected) {
                // The thread goes.
            }
        });
        thread.start();
        await().until(() -> thread.getState() == Thread.State.WAITING);
        return thread;
    }

    /** The last call of a verb. */
    private Call logged(String verb) {
        return redis.log().calls().stream()
                .map(logged -> logged.call())
                .filter(verb(verb))
                .reduce((first, last) -> last)
                .orElseThrow();
    }

    /** The next call of a verb, as it leaves the client. */
    private AtomicReference<Call> firstSent(String verb) {
        AtomicReference<Call> first = new AtomicReference<>();
        redis.hold(call -> {
            if (verb(verb).test(call)) {
                first.compareAndSet(null, call);
            }
            return false;
        });
        return first;
    }

    private void lockIsFree() {
        settle();
        assertThat(server.hash(KEY)).isEmpty();
        assertThat(server.zset(KEY + ":queue")).isEmpty();
        assertThat(server.hash(KEY + ":waiters")).isEmpty();
        assertThat(other.tryLock()).isTrue();
        assertThat(other.previousHolderLost()).isFalse();
        other.unlock();
        assertThat(losses).isEmpty();
    }

    @Test
    void successor_whoseEarlierAttemptHasNotLeftYet_isServedAsTheLaterOne() throws InterruptedException {
        inside.mailbox().open(TimeUnit.SECONDS.toNanos(20));
        RedisReentrantLock fair =
                locks.reentrantLock("job", LockOptions.defaults().fair(true));
        lock.lock();
        AtomicReference<Boolean> tried = new AtomicReference<>();
        CountDownLatch locked = new CountDownLatch(1);
        Thread twice = new Thread(() -> {
            try {
                tried.set(fair.tryLock(200, TimeUnit.MILLISECONDS));
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
            lock.lock();
            assertThat(lock.isHeldByCurrentThread()).isTrue();
            locked.countDown();
            await().until(() -> server.hash(KEY + ":waiters").isEmpty());
            settle();
            assertThat(lock.isHeldByCurrentThread()).isTrue();
            lock.ensureHeld();
            assertThat(other.tryLock()).isFalse();
            lock.unlock();
        });
        twice.start();
        await().until(() -> server.zset(KEY + ":queue").size() == 1);
        HeldCalls leaves = redis.hold(verb("leave"));
        clock.advanceMillis(200);
        leaves.awaitParked(1, PATIENCE);
        clock.advanceMillis(50);
        await().until(() -> tried.get() != null && twice.getState() == Thread.State.WAITING);
        assertThat(tried.get()).isFalse();
        lock.unlock();
        leaves.release();
        locked.await();
        twice.join();
        lockIsFree();
    }

    @Test
    void leaveThatNamesASuccessor_unansweredWhileThatGoes_leavesNoPlace() throws InterruptedException {
        other.lock();
        Thread first = interruptible();
        await().until(() -> server.zset(KEY + ":queue").size() == 1);
        settle();
        Thread second = interruptible();
        redis.failNext(1, verb("leave"), Fault.REPLY_LOST);
        HeldCalls leave = redis.hold(verb("leave"));
        first.interrupt();
        leave.awaitParked(1, PATIENCE);
        // The thread waits in the local queue, and goes without a request.
        second.interrupt();
        second.join();
        leave.release();
        pass(1_500);
        first.join();
        assertThat(server.zset(KEY + ":queue")).isEmpty();
        other.unlock();
        lockIsFree();
    }

    @Test
    void leaveThatNamesASuccessor_unansweredWhileThatStays_servesIt() throws InterruptedException {
        other.lock();
        Thread first = interruptible();
        await().until(() -> server.zset(KEY + ":queue").size() == 1);
        Waiter second = new Waiter();
        second.start();
        await().until(() -> second.getState() == Thread.State.WAITING);
        redis.failNext(1, verb("leave"), Fault.REPLY_LOST);
        first.interrupt();
        first.join();
        pass(500);
        assertThat(server.zset(KEY + ":queue")).hasSize(1);
        other.unlock();
        await().until(second::holds);
        second.end();
        lockIsFree();
    }

    @Test
    void unlock_whoseSuccessorsGoWhileTheyAreNamed_returnsOnceTheLockIsFree() {
        lock.lock();
        Thread first = interruptible();
        Thread second = interruptible();
        // Each goes when it has been named, and the script that names it has not run.
        redis.hold(verb("release").and(call -> staysAlive(first)));
        redis.hold(verb("leave").and(call -> staysAlive(second)));
        lock.unlock();
        assertThat(server.hash(KEY)).isEmpty();
        assertThat(lock.hasQueuedThreads()).isFalse();
        assertThat(redis.log().count("leave")).isEqualTo(2);
    }

    /** Interrupts a thread and waits for its end; so it does not. */
    private static boolean staysAlive(Thread thread) {
        thread.interrupt();
        try {
            thread.join();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
        return thread.isAlive();
    }

    @Test
    void acquireAnsweredByItsSecondCopy_whoseFirstRunsAfterTheUnlock_blocksNobody() {
        redis.failNext(1, verb("acquire"), Fault.FIRST_COPY_LATE);
        lock.lock();
        Call first = logged("acquire");
        lock.unlock();
        clock.advanceMillis(1);
        assertThat(redis.runLate(first).code()).as("a hold that nobody has").isEqualTo("OK");
        pass(200);
        lockIsFree();
        clock.advanceMillis(1);
        assertThat(redis.runLate(first).code()).as("its time is not over").isEqualTo("OK");
        pass(1_200);
        lockIsFree();
        assertThat(redis.runLate(first).code()).isEqualTo("LATE");
    }

    @Test
    void leave_afterAnUnlock_saysNothingOfTheLossOfAnotherLock() {
        redis.failNext(1, verb("acquire"), Fault.FIRST_COPY_LATE);
        lock.lock();
        Call first = logged("acquire");
        RedisReentrantLock another = locks.reentrantLock("another");
        another.lock();
        assertThat(another.forceUnlock()).isTrue();
        lock.unlock();
        clock.advanceMillis(1);
        assertThat(redis.runLate(first).code()).as("a hold that nobody has").isEqualTo("OK");
        pass(200);
        assertThat(server.hash(KEY)).isEmpty();
        assertThat(other.tryLock()).isTrue();
        assertThat(other.previousHolderLost()).isFalse();
        other.unlock();
    }

    @Test
    void acquireAnsweredByItsSecondCopy_isNotEndedByItsLeave() {
        redis.failNext(1, verb("acquire"), Fault.FIRST_COPY_LATE);
        lock.lock();
        pass(5_000);
        lock.ensureHeld();
        assertThat(server.hash(KEY)).isNotEmpty();
        lock.unlock();
        pass(100);
        lockIsFree();
    }

    @Test
    void acquireUnansweredOnce_whoseCopyRunsAfterTheUnlock_blocksNobody() {
        redis.failNext(1, verb("acquire"), Fault.REQUEST_LOST);
        AtomicReference<Call> lost = firstSent("acquire");
        whileTimePasses(lock::lock);
        lock.unlock();
        clock.advanceMillis(1);
        assertThat(redis.runLate(lost.get()).code())
                .as("a hold that nobody has")
                .isEqualTo("OK");
        pass(200);
        lockIsFree();
    }

    @Test
    void heartbeatAnsweredByItsSecondCopy_whoseFirstRunsAfterTheUnlock_blocksNobody() throws InterruptedException {
        other.lock();
        Waiter waiter = new Waiter();
        waiter.startAndQueue();
        redis.failNext(1, verb("heartbeat"), Fault.FIRST_COPY_LATE);
        pass(1_500);
        Call first = logged("heartbeat");
        other.unlock();
        await().until(waiter::holds);
        waiter.end();
        assertThat(redis.runLate(first).code()).isEqualTo("GRANTED");
        pass(200);
        lockIsFree();
    }

    /** A try of which no request is answered; returns the last of them, which may still run. */
    private Call unansweredTry(Fault fault) {
        redis.failNext(Integer.MAX_VALUE, verb("acquire"), fault);
        AtomicReference<Call> last = new AtomicReference<>();
        redis.hold(call -> {
            if (verb("acquire").test(call)) {
                last.set(call);
            }
            return false;
        });
        whileTimePasses(() -> assertThatThrownBy(() -> lock.tryLock(500, TimeUnit.MILLISECONDS))
                .isInstanceOf(LockUnavailableException.class));
        return last.get();
    }

    @Test
    void attemptThatGivesUp_whileItsRequestMayStillRun_leavesAtOnceAndOnceMoreWhenNoneCan() {
        Call last = unansweredTry(Fault.REPLY_LOST);
        pass(30);
        assertThat(server.hash(KEY))
                .as("not only when nothing can run any more")
                .isEmpty();
        assertThat(redis.runLate(last).code()).isEqualTo("OK");
        pass(1_100);
        lockIsFree();
        assertThat(redis.runLate(last).code()).isEqualTo("LATE");
    }

    @Test
    void leave_thoughTheTimeOfRedisIsFarFromItsEstimate_isSentUntilNothingCanRun() {
        Call last = unansweredTry(Fault.REQUEST_LOST);
        clock.stepServerMillis(-600);
        pass(400);
        assertThat(redis.runLate(last).code())
                .as("the acquisition may still run")
                .isEqualTo("OK");
        pass(700);
        lockIsFree();
        assertThat(redis.runLate(last).code()).isEqualTo("LATE");
    }

    @Test
    void grant_toAnAttemptThatIsOver_isGivenBackAtOnce() throws InterruptedException {
        other.lock();
        Thread waiter = interruptible();
        await().until(() -> server.zset(KEY + ":queue").size() == 1);
        redis.failNext(1, verb("heartbeat"), Fault.REQUEST_LOST);
        AtomicReference<Call> lost = firstSent("heartbeat");
        pass(1_500);
        waiter.interrupt();
        waiter.join();
        settle();
        assertThat(server.zset(KEY + ":queue")).isEmpty();
        // The lost heartbeat makes its place anew; it has a second to do so.
        redis.runLate(lost.get());
        other.unlock();
        settle();
        await().until(() -> server.hash(KEY).isEmpty());
        pass(1_200);
        lockIsFree();
    }

    @Test
    void hold_ofAnAttemptInDoubt_namesNoSuccessor_whoAsksByItself() throws InterruptedException {
        redis.failNext(1, verb("acquire"), Fault.FIRST_COPY_LATE);
        lock.lock();
        Waiter next = new Waiter();
        next.start();
        await().until(() -> next.getState() == Thread.State.WAITING);
        lock.unlock();
        await().until(next::holds);
        assertThat(logged("release").args()).as("owner and attempt").hasSize(2);
        next.end();
        pass(100);
        lockIsFree();
    }

    @Test
    void hold_hadByAMessageWhileItsHeartbeatIsOnItsWay_namesNoSuccessor() throws InterruptedException {
        other.lock();
        Waiter waiter = new Waiter();
        waiter.startAndQueue();
        HeldCalls heartbeat = redis.hold(verb("heartbeat"));
        clock.advanceMillis(1_500);
        heartbeat.awaitParked(1, PATIENCE);
        other.unlock();
        await().until(waiter::holds);
        Waiter next = new Waiter();
        next.start();
        await().until(() -> next.getState() == Thread.State.WAITING);
        waiter.end();
        await().until(next::holds);
        assertThat(logged("release").args()).as("owner and attempt").hasSize(2);
        heartbeat.release();
        next.end();
        settle();
        lockIsFree();
    }

    @Test
    void awaitThatIsSentTwice_whileAHeartbeatMayBringItsHoldBack_leavesNobodyInTheCondition()
            throws InterruptedException {
        other.lock();
        Thread waiter = new Thread(() -> {
            lock.lock();
            try {
                assertThat(lock.newCondition().await(50, TimeUnit.MILLISECONDS)).isFalse();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
            lock.unlock();
        });
        waiter.start();
        await().until(() -> server.zset(KEY + ":queue").size() == 1);
        HeldCalls heartbeat = redis.hold(verb("heartbeat"));
        clock.advanceMillis(1_500);
        heartbeat.awaitParked(1, PATIENCE);
        redis.failNext(1, verb("await"), Fault.FIRST_COPY_LATE);
        other.unlock();
        await().until(() -> redis.log().count("await") == 1 && waiter.getState() != Thread.State.RUNNABLE);
        Call copy = logged("await");
        clock.advanceMillis(50);
        await().until(() -> !waiter.isAlive());
        HeldCalls leaves = redis.hold(verb("leave"));
        heartbeat.release();
        leaves.awaitParked(1, PATIENCE);
        redis.runLate(copy);
        leaves.release();
        pass(1_200);
        lockIsFree();
    }

    @Test
    void attemptInDoubtThatGoes_namesNoSuccessor_whoAsksByItself() throws InterruptedException {
        other.lock();
        redis.failNext(1, verb("acquire"), Fault.REPLY_LOST);
        Thread first = interruptible();
        Waiter second = new Waiter();
        second.start();
        passUntil(() -> server.zset(KEY + ":queue").size() == 1);
        first.interrupt();
        passUntil(() -> !first.isAlive());
        assertThat(logged("leave").args().get(4)).isEmpty();
        passUntil(() -> server.zset(KEY + ":queue").size() == 1);
        other.unlock();
        await().until(second::holds);
        second.end();
        pass(1_200);
        lockIsFree();
    }

    @Test
    void holdThatIsLostWhileItsReleaseIsOnItsWay_keepsItsTurnUntilThatIsAnswered() throws InterruptedException {
        fixed(lock, Duration.ofMillis(900)).lock();
        long attempt = Long.parseLong(logged("acquire").args().get(1));
        // Redis keeps it for longer than its client.
        clock.stepServerMillis(-5_000);
        Thread next = interruptible();
        Thread owner = Thread.currentThread();
        HeldCalls first = redis.hold(verb("release").and(call -> Thread.currentThread() == owner));
        HeldCalls second = redis.hold(verb("release").and(call -> Thread.currentThread() != owner));
        redis.failNext(1, verb("release"), Fault.REQUEST_LOST);
        Thread mover = new Thread(() -> {
            first.awaitParked(1, PATIENCE);
            clock.advanceMillis(900);
            first.release();
        });
        mover.start();
        assertThatThrownBy(lock::unlock).isInstanceOf(LockLostException.class);
        mover.join();
        assertThat(inside.localQueue().successor(LockKeys.of("redis-locks", "job"), attempt))
                .as("waits for the release, which may serve it")
                .isNotNull();
        next.interrupt();
        next.join();
        second.release();
        pass(500);
        assertThat(server.hash(KEY)).isEmpty();
        assertThat(losses).hasSize(1);
    }
}
