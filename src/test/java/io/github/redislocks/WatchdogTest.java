package io.github.redislocks;

import static io.github.redislocks.FixedLease.fixed;
import static io.github.redislocks.fixture.twin.Verbs.verb;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.client.Inside;
import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.events.EventNotifier;
import io.github.redislocks.health.MonitoredRedis;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.script.Inspections;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.testkit.twin.Fault;
import io.github.redislocks.testkit.twin.HeldCalls;
import io.github.redislocks.watchdog.BatchSender;
import io.github.redislocks.watchdog.PendingCommand;
import io.github.redislocks.watchdog.Watchdog;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

/** Tests that the watchdog is woken when something is due: here only the library itself wakes it. */
class WatchdogTest extends FakeTime {

    private final Watchdog watchdog = inside.watchdog();

    private Hold hold() {
        return inside.holds().all().iterator().next();
    }

    private long outage() {
        return inside.monitored().of(KEY).age(clock.nanoTime());
    }

    @Test
    void reentryThatBeginsTheRenewal_isRenewedInTime() {
        fixed(lock, Duration.ofSeconds(25)).lock();
        settle();
        lock.lock();
        assertThat(hold().nextRenewalNanos()).isEqualTo(clock.nanoTime() + 10_000_000_000L);
        await().until(() -> clock.nextWake() <= hold().nextRenewalNanos());
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
        await().until(() -> !inside.holds().all().isEmpty());
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
    void command_isSentInTime() {
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
            // The reader has no clock: time must not move on before it has read the message.
            await().until(() -> !inside.mailbox().isPinging());
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
    void close_waitsForCommands_andEndsBothThreads() {
        assertThat(watchdog.threads()).allMatch(Thread::isDaemon);
        lock.lock();
        redis.failNext(2, verb("release"), Fault.REQUEST_LOST);
        lock.unlock();
        settle();
        assertThat(server.hash(KEY)).as("the command has failed once").isNotEmpty();
        assertThat(lock.isLocked()).as("Redis answers again").isTrue();
        whileTimePasses(locks::close);
        assertThat(server.hash(KEY)).isEmpty();
        assertThat(watchdog.threads()).noneMatch(Thread::isAlive);
    }

    @Test
    void command_givenToASenderThatCloses_isSentByAnother() {
        AtomicBoolean begun = new AtomicBoolean();
        redis.log().clear();
        PendingCommand command = new PendingCommand(clock, KEY, Long.MAX_VALUE) {
            @Override
            public Call call() {
                return Inspections.locked(LockKeys.of("redis-locks", "job"));
            }

            @Override
            public Need need() {
                // So that only the watchdog has it as long as the test wants.
                return begun.get() ? Need.NOW : Need.LATER;
            }

            @Override
            public long follow(Reply reply, long sentNanos) {
                return DONE;
            }
        };
        watchdog.run(command);
        settle();
        // The sender does not run, as if it was closed before it had looked.
        Inside client = inside;
        MonitoredRedis outages =
                new MonitoredRedis(client.settings(), clock, client.redis(), new EventNotifier(List.of()));
        BatchSender closing = new BatchSender(
                clock,
                client.redis(),
                outages,
                1_000_000_000,
                client.mailbox(),
                () -> client.watchdog().wakeAt(0),
                Threads.DAEMONS,
                "memory");
        command.begin();
        assertThat(closing.sendNow(command)).isTrue();
        begun.set(true);
        pass(100);
        assertThat(redis.log().count("locked")).isZero();
        closing.close();
        await().until(() -> clock.nextWake() <= command.nextTryNanos());
        clock.advanceMillis(20);
        await().until(() -> redis.log().count("locked") == 1);
    }

    /** Something urgent that is followed by the next, as where threads without number give up all the time. */
    private final class Endless extends PendingCommand {

        private final AtomicBoolean over;

        Endless(AtomicBoolean over) {
            super(clock, KEY, Long.MAX_VALUE);
            this.over = over;
        }

        @Override
        public Call call() {
            return Inspections.locked(LockKeys.of("redis-locks", "job"));
        }

        @Override
        public long follow(Reply reply, long sentNanos) {
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
