package io.github.redislocks;

import static io.github.redislocks.fixture.twin.Verbs.verb;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.fixture.twin.Fault;
import io.github.redislocks.fixture.twin.HeldCalls;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Reply;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

/** That the watchdog is woken when something is due: nothing here wakes it but the library itself. */
class WatchdogTest extends FakeTime {

    private final Watchdog watchdog = locks.client().watchdog;

    private Hold hold() {
        return locks.client().holds.all().iterator().next();
    }

    private long outage() {
        return locks.client().availability(KEY).age(clock.nanoTime());
    }

    @Test
    void reentryThatBeginsTheRenewal_isRenewedInTime() {
        lock.lock(Duration.ofSeconds(25));
        settle();
        lock.lock();
        assertThat(hold().nextRenewalNanos).isEqualTo(clock.nanoTime() + 10_000_000_000L);
        await().until(() -> clock.nextWake() <= hold().nextRenewalNanos);
        clock.advanceMillis(10_000);
        await().until(() -> redis.log().count("renew") == 1);
    }

    @Test
    void grantByAMessage_isConfirmedWhenAThirdOfItIsOver() throws InterruptedException {
        other.lock();
        Waiter waiter = new Waiter();
        waiter.startAndQueue();
        clock.advanceMillis(1_000);
        other.unlock();
        await().until(() -> !locks.client().holds.all().isEmpty());
        long third = (hold().deadlineNanos() - clock.nanoTime()) / 3_000_000;
        assertThat(third).as("of a claim of 4.5 s, a second ago").isBetween(1_100L, 1_170L);
        clock.advanceMillis(third - 1);
        settle();
        assertThat(redis.log().count("renew")).isZero();
        clock.advanceMillis(2);
        await().until(() -> redis.log().count("renew") == 1);
        waiter.end();
    }

    @Test
    void errand_isSentInTime() {
        lock.lock();
        settle();
        redis.failNext(1, verb("release"), Fault.REQUEST_LOST);
        lock.unlock();
        clock.advanceMillis(100);
        await().until(() -> server.hash(KEY).isEmpty());
    }

    @Test
    void whatComesWhileABatchIsUnderWay_isSentAfterIt() {
        RedisReentrantLock second = locks.reentrantLock("second");
        lock.lock();
        second.lock();
        settle();
        HeldCalls renewals = redis.hold(verb("renew"));
        clock.advanceMillis(10_000);
        renewals.awaitParked(1, Duration.ofSeconds(5));
        redis.failNext(1, verb("release"), Fault.REQUEST_LOST);
        second.unlock();
        clock.advanceMillis(100);
        await().until(() -> clock.nextWake() > clock.nanoTime());
        renewals.release();
        await().until(() -> server.hash("redis-locks:{second}").isEmpty());
    }

    @Test
    void batch_saysWhetherRedisAnswers() {
        lock.lock();
        redis.failNext(1, verb("renew"), Fault.REQUEST_LOST);
        pass(10_000);
        assertThat(outage()).isPositive();
        pass(5_000);
        assertThat(redis.log().count("renew")).isEqualTo(1);
        assertThat(outage()).isZero();
    }

    @Test
    void heartbeats_pingTheMailbox_andRenewalsDoNot() throws InterruptedException {
        other.lock();
        pass(12_000);
        assertThat(redis.log().messages()).isZero();
        Waiter waiter = new Waiter();
        waiter.startAndQueue();
        for (int i = 0; i < 5; i++) {
            pass(1_000);
            // Its reader has no clock: time must not move on before it has read that.
            await().until(() -> !locks.client().mailbox.isPinging());
        }
        assertThat(redis.log().count("heartbeat")).isPositive();
        assertThat(redis.log().messages()).isEqualTo(redis.log().count("heartbeat"));
        other.unlock();
        waiter.end();
        lock.lock();
        settle();
        long pings = redis.log().messages();
        pass(12_000);
        assertThat(redis.log().count("renew")).isPositive();
        assertThat(redis.log().messages()).isEqualTo(pings);
    }

    @Test
    void close_waitsForErrands_andEndsBothThreads() {
        assertThat(watchdog.threads()).allMatch(Thread::isDaemon);
        lock.lock();
        redis.failNext(2, verb("release"), Fault.REQUEST_LOST);
        lock.unlock();
        settle();
        assertThat(server.hash(KEY)).as("the errand has failed once").isNotEmpty();
        assertThat(lock.isLocked()).as("Redis answers again").isTrue();
        whileTimePasses(locks::close);
        assertThat(server.hash(KEY)).isEmpty();
        assertThat(watchdog.threads()).noneMatch(Thread::isAlive);
    }

    @Test
    void errand_givenToASenderThatCloses_isSentByAnother() {
        AtomicBoolean begun = new AtomicBoolean();
        redis.log().clear();
        Errand errand = new Errand(clock, KEY, Long.MAX_VALUE) {
            @Override
            Call call() {
                return Protocol.locked(Keys.of("redis-locks", "job"));
            }

            @Override
            Need need() {
                // So that only the watchdog has it as long as the test wants.
                return begun.get() ? Need.NOW : Need.LATER;
            }

            @Override
            long follow(Reply reply, long sentNanos) {
                return DONE;
            }
        };
        watchdog.run(errand);
        settle();
        // It does not run: as if it was closed before it had looked.
        Sender closing = new Sender(locks.client());
        errand.begin();
        assertThat(closing.sendNow(errand)).isTrue();
        begun.set(true);
        pass(100);
        assertThat(redis.log().count("locked")).isZero();
        closing.close();
        await().until(() -> clock.nextWake() <= errand.nextTryNanos());
        clock.advanceMillis(20);
        await().until(() -> redis.log().count("locked") == 1);
    }

    /** Something urgent that is followed by the next, as where threads without number give up all the time. */
    private final class Endless extends Errand {

        private final AtomicBoolean over;

        Endless(AtomicBoolean over) {
            super(clock, KEY, Long.MAX_VALUE);
            this.over = over;
        }

        @Override
        Call call() {
            return Protocol.locked(Keys.of("redis-locks", "job"));
        }

        @Override
        long follow(Reply reply, long sentNanos) {
            if (!over.get()) {
                watchdog.run(new Endless(over));
            }
            return DONE;
        }
    }

    @Test
    void whatIsUrgent_withoutEnd_keepsNoRenewalFromBeingSent() {
        lock.lock();
        settle();
        AtomicBoolean over = new AtomicBoolean();
        watchdog.run(new Endless(over));
        await().until(() -> redis.log().count("locked") > 10);
        clock.advanceMillis(10_000);
        try {
            await().atMost(Duration.ofSeconds(5)).until(() -> redis.log().count("renew") == 1);
        } finally {
            over.set(true);
        }
        lock.unlock();
    }
}
