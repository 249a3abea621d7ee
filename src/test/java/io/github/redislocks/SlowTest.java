package io.github.redislocks;

import static io.github.redislocks.fixture.twin.Verbs.verb;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.concurrent.BackgroundLog;
import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.fixture.Logged;
import io.github.redislocks.fixture.OwnThread;
import io.github.redislocks.state.Settings;
import io.github.redislocks.testkit.twin.Fault;
import io.github.redislocks.waiting.SlowWaits;
import io.github.redislocks.watchdog.Job;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;

/** Tests what is logged of waits and holds that take long, how often, and at which cost; and who holds and waits. */
@Isolated("It looks at what all threads log")
class SlowTest extends FakeTime {

    private static final String WAITED = "has been waited for";
    private static final String HELD = "has been held";

    private final List<Waiter> waiters = new ArrayList<>();

    @Override
    Settings options() {
        return Settings.DEFAULTS.withSlowWait(Duration.ofSeconds(2)).withSlowHold(Duration.ofSeconds(8));
    }

    private void startWaiters(int count) {
        for (int i = 0; i < count; i++) {
            int before = inside.attempts().count();
            Waiter waiter = new Waiter();
            waiters.add(waiter);
            waiter.start();
            await().until(() -> inside.attempts().count() == before + 1);
        }
        await().until(() -> server.zset(KEY + ":queue").size() == 1);
        settle();
    }

    private void endWaiters() throws InterruptedException {
        other.unlock();
        for (Waiter waiter : waiters) {
            waiter.release = true;
        }
        for (Waiter waiter : waiters) {
            waiter.join();
        }
    }

    private static int count(String text, String part) {
        return text.split(part, -1).length - 1;
    }

    @Test
    void slowWait_isLoggedOnceForAll_withTheHolder_byOneQuestion() throws InterruptedException {
        other.lock();
        String token = Long.toString(other.fencingToken());
        startWaiters(20);
        String log = Logged.by(() -> {
            pass(1_900);
            assertThat(Logged.soFar()).doesNotContain(WAITED);
            pass(10_000);
        });
        assertThat(count(log, WAITED)).isEqualTo(1);
        assertThat(log)
                .contains("\"job\"", waiters.get(0).getName(), "the first of 20 calls here", others.clientId(), token)
                .contains("1 place is in line");
        assertThat(redis.log().count("inspect")).isEqualTo(1);
        endWaiters();
    }

    /** Else the renewals that become due meanwhile would wait for the questions about thousands of locks. */
    @Test
    void slowWaitsForManyLocks_areAskedForAFewAtATime() throws InterruptedException {
        BackgroundLog log = new BackgroundLog(Threads.DAEMONS);
        SlowWaits slow = new SlowWaits(clock, inside.attempts(), 2_000_000_000L, 3, log);
        List<RedisReentrantLock> held = new ArrayList<>();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 7; i++) {
            RedisReentrantLock lock = others.reentrantLock("many-" + i);
            lock.lock();
            held.add(lock);
            threads.add(new Thread(() -> locks.reentrantLock(lock.getName()).runWithLock(() -> {})));
        }
        threads.forEach(Thread::start);
        await().until(() -> inside.attempts().count() == 7);
        pass(3_000);
        List<Integer> asked = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            long now = clock.nanoTime();
            List<Job> jobs = new ArrayList<>();
            assertThat(slow.inspect(now, now, (key, job) -> jobs.add(job))).isGreaterThan(now);
            jobs.forEach(Job::begin);
            asked.add(jobs.size());
        }
        assertThat(asked).containsExactly(3, 3, 1, 0);
        held.forEach(RedisReentrantLock::unlock);
        for (Thread thread : threads) {
            thread.join();
        }
    }

    @Test
    void waitsThatBecomeSlowLater_areLoggedOnceMore_eachAtMostOnce() throws InterruptedException {
        other.lock();
        String log = Logged.by(() -> {
            for (int i = 0; i < 4; i++) {
                startWaiters(1);
                pass(500);
            }
            pass(20_000);
        });
        assertThat(count(log, WAITED)).isEqualTo(2);
        assertThat(log)
                .contains("the first of 3 calls here")
                .contains(waiters.get(1).getName());
        assertThat(redis.log().count("inspect")).isEqualTo(2);
        endWaiters();
    }

    @Test
    void slowWait_whoseQuestionIsNotAnswered_isLoggedNevertheless() throws InterruptedException {
        other.lock();
        startWaiters(1);
        redis.failNext(1, verb("inspect"), Fault.REQUEST_LOST);
        String log = Logged.by(() -> pass(6_000));
        assertThat(count(log, WAITED)).isEqualTo(1);
        assertThat(log).contains("who holds it is not known");
        endWaiters();
    }

    @Test
    void slowWait_forPermits_saysHowManyAreFree() {
        PermitHandle two =
                OwnThread.call(() -> others.permits("job", 3).acquire(2)).join();
        CompletableFuture<PermitHandle> waiting =
                OwnThread.call(() -> locks.permits("job", 3).acquire(2));
        await().until(() -> server.zset(KEY + ":permits:queue").size() == 1);
        settle();
        String log = Logged.by(() -> pass(4_000));
        assertThat(log)
                .contains("The pool \"job\" has been waited for")
                .contains("1 of 3 are free, and it wants 2; 1 place is in line");
        two.close();
        passUntil(waiting::isDone);
        waiting.join().close();
    }

    @Test
    void waitForALockThatIsKept_saysSo() throws InterruptedException {
        others.reentrantLock("job").acquire().releaseAfter(Duration.ofSeconds(6));
        Waiter waiter = new Waiter();
        waiters.add(waiter);
        waiter.start();
        await().until(() -> server.zset(KEY + ":queue").size() == 1);
        String log = Logged.by(() -> {
            settle();
            pass(5_800);
        });
        assertThat(log).contains("it was released, but is unavailable for another ");
        passUntil(waiter::holds);
        waiter.end();
    }

    @Test
    void waitInACondition_isNotSlow() throws InterruptedException {
        Thread thread = new Thread(
                () -> lock.runWithLock(() -> lock.newCondition("changed").awaitUninterruptibly()));
        thread.start();
        await().until(() -> server.zset(KEY + ":conditions").size() == 1);
        String log = Logged.by(() -> {
            settle();
            pass(10_000);
        });
        assertThat(log).doesNotContain(WAITED);
        other.lock();
        other.newCondition("changed").signal();
        other.unlock();
        passUntil(() -> !thread.isAlive());
    }

    @Test
    void slowHold_isLoggedOnce_whileItLasts() {
        locks.reentrantLock("quick").runWithLock(() -> pass(7_000));
        lock.lock();
        String token = Long.toString(lock.fencingToken());
        String log = Logged.by(() -> {
            pass(7_900);
            assertThat(Logged.soFar()).doesNotContain(HELD);
            pass(1_100);
            assertThat(Logged.soFar()).contains(HELD);
            pass(30_000);
        });
        lock.unlock();
        assertThat(count(log, HELD)).isEqualTo(1);
        assertThat(log)
                .contains("\"job\"", token, "thread " + Thread.currentThread().getName(), locks.clientId())
                .doesNotContain("quick");
    }

    @Test
    void clientWithoutThem_logsNothing() throws InterruptedException {
        lock.lock();
        Thread waiter = new Thread(other::lock);
        waiter.start();
        await().until(() -> server.zset(KEY + ":queue").size() == 1);
        String log = Logged.by(() -> {
            settle();
            pass(30_000);
        });
        assertThat(log).doesNotContain(WAITED).doesNotContain(others.clientId() + ":");
        lock.unlock();
        waiter.join();
    }

    @Test
    void heldAndWaitedFor_areTheNamesOfThisClient() throws InterruptedException {
        assertThat(locks.heldNames()).isEmpty();
        other.lock();
        startWaiters(2);
        LockHandle b = locks.reentrantLock("b").acquire();
        LockHandle a = locks.reentrantLock("a").acquire();
        LockHandle lost = locks.reentrantLock("c").acquire();
        others.reentrantLock("c").forceUnlock();
        pass(10_000);
        assertThat(lost.isHeld()).isFalse();
        assertThat(locks.heldNames()).containsExactly("a", "b");
        assertThat(locks.waitedForNames()).containsExactly("job");
        assertThat(others.heldNames()).containsExactly("job");
        a.release();
        assertThat(locks.heldNames()).containsExactly("b");
        b.release();
        assertThat(locks.heldNames()).isEmpty();
        endWaiters();
        assertThat(locks.waitedForNames()).isEmpty();
    }
}
