package io.github.redislocks.watchdog;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.events.EventNotifier;
import io.github.redislocks.fixture.FakeClock;
import io.github.redislocks.fixture.Logged;
import io.github.redislocks.health.MonitoredRedis;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.script.Scripts;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Settings;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Isolated;

/** When the watchdog walks, what it does with commands, and which senders it keeps. */
@Timeout(20)
@Isolated("It looks at what all threads log")
class WatchdogStepsTest {

    private static final long MILLI = 1_000_000;

    private final FakeClock clock = new FakeClock();
    private final LockKeys keys = LockKeys.of("redis-locks", "job");
    private final List<Long> walks = new CopyOnWriteArrayList<>();
    private final List<Long> horizons = new CopyOnWriteArrayList<>();
    private final AtomicInteger batches = new AtomicInteger();
    /** What the server of the key "held" waits for. */
    private final CountDownLatch held = new CountDownLatch(1);

    private volatile boolean away;
    private volatile boolean noThread;
    private volatile RuntimeException trouble;
    private volatile Error channelTrouble;
    private volatile long rest;
    /** When the only task wants to be looked at next. */
    private volatile long wanted = Long.MAX_VALUE;

    private final Redis redis = new Redis() {
        @Override
        public Reply run(Call one, long timeoutNanos) {
            throw new UnsupportedOperationException();
        }

        @Override
        public List<Outcome> runAll(List<Call> calls, long timeoutNanos) {
            batches.incrementAndGet();
            if (Thread.currentThread().getName().contains("held")) {
                try {
                    held.await();
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            }
            Outcome outcome = away
                    ? Outcome.of(new RedisException.Unanswered("away", true, null))
                    : Outcome.of(new Reply("OK", List.of()));
            return calls.stream().map(one -> outcome).toList();
        }

        @Override
        public Subscription subscribe(String channel, long timeoutNanos) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void publish(String channel, String message, long timeoutNanos) {}

        @Override
        public String serverOf(String key) {
            return key;
        }

        @Override
        public String address() {
            return "server";
        }

        @Override
        public void close() {}
    };
    private final MonitoredRedis monitored =
            new MonitoredRedis(Settings.DEFAULTS, clock, redis, new EventNotifier(List.of()));
    private final Watchdog watchdog = new Watchdog(
            clock,
            redis,
            monitored,
            1_000_000_000,
            Threads.of(
                    work -> new Thread(work) {
                        @Override
                        public synchronized void start() {
                            if (noThread) {
                                throw new OutOfMemoryError("of the test");
                            }
                            super.start();
                        }
                    },
                    "client"));
    private final Task task = new Task() {
        @Override
        public long inspect(long now, long horizon, Batch due) {
            walks.add(now);
            horizons.add(horizon);
            if (trouble != null) {
                throw trouble;
            }
            return wanted;
        }

        @Override
        public long restNanos() {
            return rest;
        }
    };
    private final Ping ping = new Ping() {
        @Override
        public String channel() {
            if (channelTrouble != null) {
                throw channelTrouble;
            }
            return "mailbox";
        }

        @Override
        public void ping(long timeoutNanos) {}
    };

    /** A command that is done when it is answered. */
    private final class Command extends PendingCommand {

        private final AtomicInteger answers = new AtomicInteger();
        private final AtomicInteger givenUp = new AtomicInteger();
        private volatile Need need = Need.NOW;

        Command(String key) {
            super(clock, key, Long.MAX_VALUE);
        }

        @Override
        public Call call() {
            return Scripts.locked(keys);
        }

        @Override
        public Need need() {
            return need;
        }

        @Override
        public long follow(Reply reply, long sentNanos) {
            answers.incrementAndGet();
            return DONE;
        }

        @Override
        public void giveUp() {
            givenUp.incrementAndGet();
        }
    }

    WatchdogStepsTest() {
        clock.advanceMillis(1_000);
    }

    @AfterEach
    void close() {
        held.countDown();
        watchdog.close();
    }

    private static ConditionFactory soon() {
        return await().pollDelay(Duration.ZERO).pollInterval(Duration.ofMillis(1));
    }

    private Thread scheduler() {
        return watchdog.threads().get(0);
    }

    /** Starts it and waits until it has nothing to do. */
    private void start() {
        watchdog.start(ping, List.of(task));
        parksUntil(Long.MAX_VALUE);
    }

    private void parksUntil(long nanos) {
        soon().until(() -> clock.wakeOf(scheduler()) == nanos);
    }

    private long in(long millis) {
        return clock.nanoTime() + millis * MILLI;
    }

    /** Has it walk now, and waits until it has. */
    private void walk() {
        int before = walks.size();
        watchdog.wakeAt(0);
        soon().until(() -> walks.size() > before && clock.wakeOf(scheduler()) > 0);
    }

    private void runs(Command command) {
        watchdog.run(command);
        soon().until(command::isDone);
        assertThat(command.answers).hasValue(1);
    }

    @Test
    void walk_isAtTheEarliestTimeThatWasNamed() {
        start();
        long at = in(50);
        watchdog.wakeAt(in(100));
        parksUntil(in(100));
        watchdog.wakeAt(at);
        parksUntil(at);
        watchdog.wakeAt(in(70));
        wanted = in(120);
        assertThat(walks).isEmpty();
        clock.advanceMillis(50);
        parksUntil(wanted);
        assertThat(walks).containsExactly(at);
        assertThat(horizons).containsExactly(at);
    }

    @Test
    void walk_comesWithEachLook_whileSomethingIsDueAtAll() {
        start();
        wanted = in(10_000);
        watchdog.wakeAt(wanted);
        for (int look = 0; look < 2; look++) {
            parksUntil(in(2_000));
            assertThat(walks).hasSize(look);
            clock.advanceMillis(2_000);
            int seen = look + 1;
            soon().until(() -> walks.size() == seen);
        }
        wanted = Long.MAX_VALUE;
        clock.advanceMillis(2_000);
        soon().until(() -> walks.size() == 3);
        parksUntil(Long.MAX_VALUE);
    }

    @Test
    void walks_areAsFarApartAsItsTasksWant() {
        rest = 40 * MILLI;
        start();
        walk();
        assertThat(horizons).containsExactly(in(40));
        long end = in(40);
        watchdog.wakeAt(in(10));
        parksUntil(end);
        assertThat(watchdog.isIdle()).isTrue();
        clock.advanceMillis(39);
        assertThat(walks).hasSize(1);
        clock.advanceMillis(1);
        soon().until(() -> walks.size() == 2);
    }

    @Test
    void errorOfATask_isLogged_andTheNextWalkComesSoon() {
        start();
        trouble = new IllegalStateException("of the test");
        String logged = Logged.by(() -> {
            watchdog.wakeAt(0);
            parksUntil(in(100));
        });
        assertThat(logged).contains("met an error", "of the test");
        trouble = null;
        assertThat(Logged.by(() -> {
                    clock.advanceMillis(100);
                    parksUntil(Long.MAX_VALUE);
                }))
                .isEmpty();
        assertThat(walks).hasSize(2);
    }

    @Test
    void walkThatFails_isRepeatedSoon() {
        start();
        channelTrouble = new OutOfMemoryError("of the test");
        watchdog.wakeAt(0);
        parksUntil(in(100));
        assertThat(walks).isEmpty();
        channelTrouble = null;
        clock.advanceMillis(100);
        parksUntil(Long.MAX_VALUE);
        assertThat(walks).hasSize(1);
    }

    @Test
    void command_isSentByAWalk_ifThereIsNoSender_andAtOnceIfThereIsOne() {
        start();
        Command first = new Command("a");
        runs(first);
        assertThat(walks).isNotEmpty();
        walk();
        assertThat(watchdog.commands()).isEmpty();
        assertThat(watchdog.threads()).hasSize(2);
        rest = 60_000 * MILLI;
        walk();
        runs(new Command("a"));
    }

    @Test
    void commandThatIsUnderWay_isNotSentTwice() {
        start();
        Command command = new Command("held");
        watchdog.prepare("held");
        watchdog.run(command);
        soon().until(() -> batches.get() == 1);
        assertThat(watchdog.isIdle()).isFalse();
        walk();
        held.countDown();
        soon().until(command::isDone);
        walk();
        assertThat(command.answers).hasValue(1);
        assertThat(watchdog.commands()).isEmpty();
        soon().until(watchdog::isIdle);
    }

    @Test
    void commandThatIsNotAnswered_isSentAgainAtItsTime_orWhenItIsHastened() {
        start();
        away = true;
        Command command = new Command(keys.lock());
        watchdog.run(command);
        soon().until(() -> batches.get() == 1 && !command.isUnderWay());
        parksUntil(command.nextTryNanos());
        assertThat(watchdog.hasCommands(0)).as("the server is away").isFalse();
        away = false;
        watchdog.hasten(command);
        soon().until(command::isDone);
        assertThat(command.answers).hasValue(1);
    }

    @Test
    void commandThatHasToWait_isAskedAgain() {
        start();
        Command command = new Command("a");
        command.need = PendingCommand.Need.LATER;
        watchdog.prepare("a");
        watchdog.run(command);
        parksUntil(in(20));
        assertThat(batches).hasValue(0);
        assertThat(watchdog.hasCommands(0)).isFalse();
        command.need = PendingCommand.Need.NOW;
        assertThat(watchdog.hasCommands(0)).isTrue();
        clock.advanceMillis(20);
        soon().until(command::isDone);
        assertThat(watchdog.hasCommands(0)).isFalse();
    }

    /** As a leave does whose successor has gone. */
    @Test
    void commandThatTheLastOneAdds_isNotOverlooked() {
        Command next = new Command("a");
        AtomicBoolean looked = new AtomicBoolean(true);
        PendingCommand last = new PendingCommand(clock, "a", Long.MAX_VALUE) {
            @Override
            public Call call() {
                return Scripts.locked(keys);
            }

            @Override
            public long follow(Reply reply, long sentNanos) {
                watchdog.run(next);
                return DONE;
            }

            @Override
            public boolean isDone() {
                if (looked.compareAndSet(false, true)) {
                    begin();
                    call(0, 1);
                    answered(new Reply("OK", List.of()), 0);
                    end();
                }
                return super.isDone();
            }
        };
        watchdog.run(last);
        looked.set(false);
        assertThat(watchdog.hasCommands(0)).isTrue();
    }

    @Test
    void commandsThatNobodySends_areGivenUpAtTheEnd() {
        Command done = new Command("a");
        Command open = new Command("b");
        watchdog.lookAfter(ping, List.of(task));
        watchdog.run(done);
        watchdog.run(open);
        assertThat(watchdog.commands()).containsExactly(done, open);
        assertThat(watchdog.isIdle()).as("a walk is due").isFalse();
        done.answered(new Reply("OK", List.of()), clock.nanoTime());
        watchdog.giveUp();
        assertThat(done.givenUp).hasValue(0);
        assertThat(open.givenUp).hasValue(1);
    }

    @Test
    void sendersThatHaveHadNothingToSend_areClosed_exceptTheOnlyOne() {
        start();
        watchdog.prepare("a");
        clock.advanceMillis(60_001);
        walk();
        assertThat(watchdog.threads()).hasSize(2);
        watchdog.prepare("b");
        watchdog.prepare("c");
        runs(new Command("a"));
        Thread a = watchdog.threads().stream()
                .filter(thread -> thread.getName().contains("sender-a"))
                .findAny()
                .orElseThrow();
        clock.advanceMillis(60_000);
        walk();
        assertThat(watchdog.threads()).hasSize(4);
        runs(new Command("b"));
        clock.advanceMillis(1);
        walk();
        assertThat(watchdog.threads()).hasSize(2).doesNotContain(a);
        soon().until(() -> !a.isAlive());
    }

    @Test
    void senderThatCannotBeStarted_isMadeAnew() {
        start();
        noThread = true;
        assertThatThrownBy(() -> watchdog.prepare("a")).isInstanceOf(OutOfMemoryError.class);
        assertThat(watchdog.threads()).hasSize(1);
        noThread = false;
        runs(new Command("a"));
    }

    @Test
    void close_endsItsThreads_andThoseMadeLater() throws InterruptedException {
        start();
        watchdog.prepare("a");
        List<Thread> threads = watchdog.threads();
        assertThat(threads).hasSize(2).allMatch(Thread::isAlive);
        watchdog.close();
        for (Thread thread : threads) {
            thread.join();
        }
        watchdog.prepare("b");
        for (Thread thread : watchdog.threads()) {
            thread.join();
        }
    }
}
