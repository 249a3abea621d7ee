package io.github.redislocks.watchdog;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.events.EventNotifier;
import io.github.redislocks.fixture.FakeClock;
import io.github.redislocks.health.MonitoredRedis;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.script.Inspections;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Settings;
import java.util.HashSet;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of one walk of the watchdog: each server gets its jobs, whatever happens to other servers and tasks. */
@Timeout(30)
class SweepTest {

    private static final String CHANNEL = "mailbox";

    private final FakeClock clock = new FakeClock();
    private final Call call = Inspections.locked(LockKeys.of("redis-locks", "job"));
    private final List<Integer> batches = new CopyOnWriteArrayList<>();
    private final AtomicInteger pings = new AtomicInteger();
    private final AtomicBoolean noThread = new AtomicBoolean();
    /** Blocks the server of the key "held". */
    private final CountDownLatch held = new CountDownLatch(1);

    private final Redis redis = new Redis() {
        @Override
        public Reply run(Call one, long timeoutNanos) {
            throw new UnsupportedOperationException();
        }

        @Override
        public List<Outcome> runAll(List<Call> calls, long timeoutNanos) {
            batches.add(calls.size());
            if (Thread.currentThread().getName().contains("held")) {
                try {
                    held.await();
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            }
            return calls.stream()
                    .map(one -> Outcome.of(new Reply("OK", List.of())))
                    .toList();
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
    private final Watchdog watchdog = new Watchdog(
            clock,
            redis,
            new MonitoredRedis(Settings.DEFAULTS, clock, redis, new EventNotifier(List.of())),
            1_000_000_000,
            Threads.of(
                    work -> {
                        if (noThread.get()) {
                            throw new OutOfMemoryError("unable to create native thread, of the test");
                        }
                        return Threads.daemon("", work);
                    },
                    "test"));
    private final Ping ping = new Ping() {
        @Override
        public String channel() {
            return CHANNEL;
        }

        @Override
        public void ping(long timeoutNanos) {
            pings.incrementAndGet();
        }
    };

    SweepTest() {
        watchdog.lookAfter(ping, List.of());
    }

    @AfterEach
    void close() {
        held.countDown();
        watchdog.close();
    }

    private final class Question implements Job {

        final List<String> told = new CopyOnWriteArrayList<>();
        private final boolean ping;

        Question(boolean ping) {
            this.ping = ping;
        }

        @Override
        public boolean begin() {
            told.add("begin");
            return true;
        }

        @Override
        public Call call(long sentNanos, long timeoutNanos) {
            return call;
        }

        @Override
        public long patienceNanos() {
            return Long.MAX_VALUE;
        }

        @Override
        public boolean wantsPing() {
            return ping;
        }

        @Override
        public void answered(Reply reply, long sentNanos) {
            told.add(reply.code());
        }

        @Override
        public void failed(RedisException failure, long sentNanos) {
            told.add("failed");
        }

        @Override
        public void end() {
            told.add("end");
        }

        private void awaitEnd() {
            await().until(() -> told.contains("end"));
        }
    }

    private Sweep sweep() {
        return new Sweep(clock, watchdog, CHANNEL, 0);
    }

    /** Walks once; these jobs are due, each at the server of its key. */
    private void walk(String keys, Question... jobs) {
        Task task = (now, horizon, due) -> {
            for (int i = 0; i < jobs.length; i++) {
                due.add(keys.split(" ", -1)[i], jobs[i]);
            }
            return Long.MAX_VALUE;
        };
        sweep().over(List.of(task), 0);
    }

    private void walk(String key) {
        Question job = new Question(false);
        walk(key, job);
        job.awaitEnd();
    }

    /** A thread may stall between the start of its release and the command that sends the release. */
    @Test
    void run_afterTheLastCommandsWereGivenUp_givesTheCommandUp() {
        AtomicInteger givenUp = new AtomicInteger();
        watchdog.close();
        watchdog.giveUp();
        watchdog.run(new PendingCommand(clock, "key", Long.MAX_VALUE) {
            @Override
            public Call call() {
                return call;
            }

            @Override
            public long follow(Reply reply, long sentNanos) {
                return DONE;
            }

            @Override
            public void giveUp() {
                givenUp.incrementAndGet();
            }
        });
        assertThat(givenUp).hasValue(1);
        watchdog.giveUp();
        assertThat(givenUp).as("once").hasValue(1);
    }

    @Test
    void over_returnsTheEarliestTime() {
        assertThat(sweep().over(List.of(), 0)).isEqualTo(Long.MAX_VALUE);
        assertThat(sweep().over(List.of((now, horizon, due) -> 7, (now, horizon, due) -> horizon), 5))
                .isEqualTo(5);
    }

    @Test
    void over_withATaskThatThrows_sendsTheJobsOfTheOthersAndThrows() {
        IllegalStateException error = new IllegalStateException("of the test");
        Task broken = (now, horizon, due) -> {
            throw error;
        };
        Question job = new Question(false);
        Task other = (now, horizon, due) -> {
            due.add("a", job);
            return Long.MAX_VALUE;
        };
        assertThatThrownBy(() -> sweep().over(List.of(broken, other), 0)).isSameAs(error);
        job.awaitEnd();
        assertThat(job.told).containsExactly("begin", "OK", "end");
    }

    @Test
    void over_sendsOneBatchToEachServer() {
        Question[] jobs = {new Question(false), new Question(false), new Question(false)};
        walk("a b a", jobs);
        for (Question job : jobs) {
            job.awaitEnd();
            assertThat(job.told).containsExactly("begin", "OK", "end");
        }
        assertThat(batches).containsExactlyInAnyOrder(2, 1);
        assertThat(pings).hasValue(0);
    }

    @Test
    void over_withABusyServer_leavesItsJobsOut() {
        Question first = new Question(false);
        walk("held", first);
        await().until(() -> batches.size() == 1);
        Question second = new Question(false);
        walk("held", second);
        walk("a");
        assertThat(second.told).isEmpty();
        held.countDown();
        first.awaitEnd();
    }

    /** A command that is done after its first reply. */
    private class Command extends PendingCommand {

        Command(String key) {
            super(clock, key, Long.MAX_VALUE);
        }

        @Override
        public Call call() {
            return call;
        }

        @Override
        public long follow(Reply reply, long sentNanos) {
            return DONE;
        }
    }

    @Test
    void over_withManyCommands_sendsThemInParts_andAJobWaitsForOnePart() {
        List<Command> commands =
                Stream.generate(() -> new Command("a")).limit(1_000).toList();
        Question job = new Question(false);
        int walks = 0;
        while (!commands.stream().allMatch(PendingCommand::isDone)) {
            boolean withJob = walks++ == 1;
            long before = commands.stream().filter(PendingCommand::isDone).count();
            sweep().over(
                            List.of((now, horizon, due) -> {
                                if (withJob) {
                                    due.add("a", job);
                                }
                                commands.stream()
                                        .filter(each -> each.isDue(now))
                                        .forEach(each -> due.add("a", each));
                                return Long.MAX_VALUE;
                            }),
                            0);
            await().until(() -> watchdog.sender("a", new HashSet<>()).isFree());
            assertThat(commands.stream().filter(PendingCommand::isDone).count() - before)
                    .isBetween(1L, 256L);
        }
        assertThat(job.told).containsExactly("begin", "OK", "end");
        assertThat(walks).isBetween(4, 5);
    }

    /** Otherwise a client with very many holds, which rests for long, would not send its commands in time. */
    @Test
    void over_beforeALongRest_sendsMoreCommands() {
        List<Command> commands =
                Stream.generate(() -> new Command("a")).limit(1_000).toList();
        new Sweep(clock, watchdog, CHANNEL, TimeUnit.MILLISECONDS.toNanos(60))
                .over(
                        List.of((now, horizon, due) -> {
                            commands.forEach(each -> due.add("a", each));
                            return Long.MAX_VALUE;
                        }),
                        0);
        await().until(() -> watchdog.sender("a", new HashSet<>()).isFree());
        assertThat(commands).filteredOn(PendingCommand::isDone).hasSize(600);
    }

    @Test
    void over_withACommandBehindManyJobs_sendsItWithThem() {
        Question[] jobs = Stream.generate(() -> new Question(false)).limit(300).toArray(Question[]::new);
        Command command = new Command("a");
        sweep().over(
                        List.of((now, horizon, due) -> {
                            for (Question job : jobs) {
                                due.add("a", job);
                            }
                            due.add("a", command);
                            return Long.MAX_VALUE;
                        }),
                        0);
        jobs[jobs.length - 1].awaitEnd();
        await().until(() -> watchdog.sender("a", new HashSet<>()).isFree());
        assertThat(command.isDone())
                .as("jobs that keep coming delay no command")
                .isTrue();
    }

    @Test
    void over_withManyJobs_sendsAllAtOnce() {
        Question[] jobs = Stream.generate(() -> new Question(false)).limit(300).toArray(Question[]::new);
        walk("a ".repeat(jobs.length), jobs);
        jobs[jobs.length - 1].awaitEnd();
        assertThat(jobs).allMatch(job -> job.told.contains("OK"));
    }

    @Test
    void over_withAServerThatGetsNoThread_sendsToTheOthersAndTriesAgainSoon() {
        watchdog.sender("a", new HashSet<>());
        Question unsent = new Question(false);
        Question sent = new Question(false);
        watchdog.start(ping, List.of((now, horizon, due) -> {
            if (noThread.get() || !sent.told.isEmpty()) {
                due.add("b", unsent);
            }
            if (noThread.get() && sent.told.isEmpty()) {
                due.add("a", sent);
            }
            return Long.MAX_VALUE;
        }));
        noThread.set(true);
        watchdog.wakeNow();
        sent.awaitEnd();
        assertThat(unsent.told).isEmpty();
        noThread.set(false);
        await().until(() -> {
            clock.advanceMillis(100);
            return unsent.told.contains("OK");
        });
    }

    @Test
    void sender_idleForAMinute_isClosedUnlessItIsTheOnlyOne() {
        watchdog.start(ping, List.of());
        walk("a");
        Thread a = watchdog.threads().get(1);
        walkAfter(60_001);
        assertThat(a.isAlive()).as("the only one").isTrue();
        walk("a");
        walk("b");
        walkAfter(60_000);
        assertThat(watchdog.threads()).hasSize(3);
        walk("b");
        walkAfter(1);
        assertThat(watchdog.threads()).hasSize(2).doesNotContain(a);
        await().until(() -> !a.isAlive());
    }

    private void walkAfter(long millis) {
        clock.advanceMillis(millis);
        watchdog.wakeNow();
        await().until(watchdog::isIdle);
    }

    @Test
    void close_stopsAllThreads_andThreadsOfLaterSenders() throws InterruptedException {
        watchdog.start(ping, List.of());
        walk("a");
        List<Thread> threads = watchdog.threads();
        watchdog.close();
        watchdog.sender("b", new HashSet<>());
        assertThat(watchdog.threads()).hasSize(3).containsAll(threads);
        for (Thread thread : watchdog.threads()) {
            thread.join();
        }
    }

    /** A leave whose successor has gone adds another leave. */
    @Test
    void hasCommands_whileTheLastCommandAddsAnother_isTrue() {
        Command next = new Command("a");
        AtomicBoolean looked = new AtomicBoolean(true);
        Command last = new Command("a") {
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
    void over_withAJobThatWantsAPing_pingsTheMailboxOnce() {
        Question plain = new Question(false);
        Question pinging = new Question(true);
        walk("a b", plain, pinging);
        plain.awaitEnd();
        pinging.awaitEnd();
        await().until(() -> pings.get() == 1);
        await().until(() -> watchdog.sender(CHANNEL, new HashSet<>()).isFree());
        Question beside = new Question(true);
        walk(CHANNEL, beside);
        beside.awaitEnd();
        await().until(() -> pings.get() == 2);
        assertThat(batches).hasSize(3);
    }

    @Test
    void over_twice_usesTheSameSender() {
        walk("a");
        walk("a");
        assertThat(watchdog.threads()).hasSize(2);
        walk("b");
        assertThat(watchdog.threads()).hasSize(3);
    }
}
