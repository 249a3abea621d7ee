package io.github.redislocks.watchdog;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

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
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Tests the pipelines to a server and the outcome of each job. The test calls the sender instead of its thread. */
class BatchSenderTest {

    private static final long MILLI = 1_000_000;
    private static final long TIMEOUT = 2_000 * MILLI;
    private static final Outcome OK = Outcome.of(new Reply("OK", List.of()));
    private static final Outcome AWAY = Outcome.of(new RedisException.Unanswered("away", true, null));

    private final FakeClock clock = new FakeClock();
    private final Call call = Inspections.locked(LockKeys.of("redis-locks", "job"));
    /** The size of each pipeline. */
    private final List<Integer> pipelines = new ArrayList<>();

    private final List<Long> timeouts = new ArrayList<>();
    private final List<Long> pings = new ArrayList<>();
    private final AtomicInteger freed = new AtomicInteger();
    private Function<List<Call>, List<Outcome>> server = calls -> all(calls, OK);
    private Runnable pinged = () -> {};

    private final Redis redis = new Redis() {
        @Override
        public Reply run(Call one, long timeoutNanos) {
            throw new UnsupportedOperationException();
        }

        @Override
        public List<Outcome> runAll(List<Call> calls, long timeoutNanos) {
            pipelines.add(calls.size());
            timeouts.add(timeoutNanos);
            return server.apply(calls);
        }

        @Override
        public Subscription subscribe(String channel, long timeoutNanos) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void publish(String channel, String message, long timeoutNanos) {}

        @Override
        public String address() {
            return "server";
        }

        @Override
        public void close() {}
    };
    private final MonitoredRedis monitored =
            new MonitoredRedis(Settings.DEFAULTS, clock, redis, new EventNotifier(List.of()));
    private final Ping ping = new Ping() {
        @Override
        public String channel() {
            return "mailbox";
        }

        @Override
        public void ping(long timeoutNanos) {
            pings.add(timeoutNanos);
            pinged.run();
        }
    };
    private final BatchSender sender =
            new BatchSender(clock, redis, monitored, TIMEOUT, ping, freed::incrementAndGet, Threads.DAEMONS, "server");

    private static List<Outcome> all(List<Call> calls, Outcome outcome) {
        return calls.stream().map(one -> outcome).toList();
    }

    /** A job that records the calls of its methods. */
    private class Question implements Job {

        final List<String> told = new ArrayList<>();
        private final int size;
        private final long patienceNanos;

        Question(int size, long patienceNanos) {
            this.size = size;
            this.patienceNanos = patienceNanos;
        }

        Question() {
            this(1, Long.MAX_VALUE);
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
            return patienceNanos;
        }

        @Override
        public int size() {
            return size;
        }

        @Override
        public void answered(Reply reply, long sentNanos) {
            told.add(reply.code());
        }

        @Override
        public void failed(RedisException failure, long sentNanos) {
            told.add(String.valueOf(failure.getMessage()));
        }

        @Override
        public void end() {
            told.add("end");
        }
    }

    private class Command extends PendingCommand {

        private final List<String> told = new ArrayList<>();
        private int unanswered;

        Command() {
            super(clock, call.keys().get(0), Long.MAX_VALUE);
        }

        @Override
        public Call call() {
            return call;
        }

        @Override
        public long follow(Reply reply, long sentNanos) {
            told.add(reply.code());
            return DONE;
        }

        @Override
        public void unanswered() {
            unanswered++;
        }
    }

    private List<Question> questions(int count) {
        return Stream.generate(Question::new).limit(count).toList();
    }

    private void send(boolean withPing, List<? extends Job> jobs) {
        sender.send(new ArrayList<>(jobs), withPing);
        sender.run();
    }

    @Test
    void run_withRepliesOfNoServer_endsNoOutage() {
        Outcome unasked = Outcome.of(new Reply(Reply.UNASKED, List.of()));
        clock.advanceMillis(1_000);
        server = calls -> {
            clock.advanceMillis(TIMEOUT / MILLI);
            List<Outcome> outcomes = new ArrayList<>(all(calls, unasked));
            outcomes.set(0, AWAY);
            return outcomes;
        };
        List<Question> jobs = questions(70);
        send(false, jobs);
        assertThat(pipelines).containsExactly(32);
        assertThat(jobs.get(1).told).containsExactly("begin", Reply.UNASKED, "end");
        assertThat(monitored.of(call.keys().get(0)).silence(clock.nanoTime())).isPositive();
        server = calls -> all(calls, unasked);
        send(false, questions(70));
        assertThat(pipelines).as("no sign that Redis is away").containsExactly(32, 70);
        assertThat(monitored.of(call.keys().get(0)).silence(clock.nanoTime())).isPositive();
    }

    @Test
    void run_sendsPipelines_andEachJobGetsItsReply() {
        List<Question> jobs = questions(70);
        assertThat(sender.isIdle()).isTrue();
        sender.send(new ArrayList<>(jobs), false);
        assertThat(sender.isFree()).isFalse();
        assertThat(sender.isIdle()).isFalse();
        sender.run();
        assertThat(sender.isFree()).isTrue();
        assertThat(sender.isIdle()).isTrue();
        assertThat(pipelines).containsExactly(32, 32, 6);
        assertThat(jobs).allSatisfy(job -> assertThat(job.told).containsExactly("begin", "OK", "end"));
        assertThat(freed).hasValue(1);
        assertThat(pings).isEmpty();
    }

    @Test
    void pipeline_isBoundedByTheNumberOfHolds() {
        send(false, List.of(new Question(31, TIMEOUT), new Question(40, TIMEOUT), new Question(1, TIMEOUT)));
        assertThat(pipelines).containsExactly(2, 1);
    }

    @Test
    void pipelines_toADistantServer_areLongerUpToABound() {
        server = calls -> {
            clock.advanceMillis(1);
            return all(calls, OK);
        };
        send(false, questions(32 + 96 + 1));
        assertThat(pipelines).containsExactly(32, 96, 1);
        pipelines.clear();
        server = calls -> {
            clock.advanceMillis(1_000);
            return all(calls, OK);
        };
        send(false, questions(96 + 512 + 1));
        assertThat(pipelines).containsExactly(96, 512, 1);
    }

    private long timeout(long patienceNanos) {
        send(true, List.of(new Question(1, patienceNanos), new Question(1, 1_700 * MILLI)));
        assertThat(pings.get(pings.size() - 1)).isEqualTo(timeouts.get(timeouts.size() - 1));
        return timeouts.get(timeouts.size() - 1);
    }

    @Test
    void timeout_isThePatienceOfTheJobs_butLongEnoughForADistantServer() {
        assertThat(timeout(5 * MILLI)).as("nothing is known").isEqualTo(750 * MILLI);
        assertThat(timeout(5 * MILLI)).as("near").isEqualTo(100 * MILLI);
        assertThat(timeout(300 * MILLI)).isEqualTo(300 * MILLI);
        Function<List<Call>, List<Outcome>> quick = server;
        server = calls -> {
            clock.advanceMillis(30);
            return quick.apply(calls);
        };
        assertThat(timeout(300 * MILLI)).isEqualTo(300 * MILLI);
        assertThat(timeout(5 * MILLI)).as("eight round trips").isEqualTo(240 * MILLI);
        server = calls -> {
            clock.advanceMillis(240);
            return all(calls, AWAY);
        };
        timeout(5 * MILLI);
        assertThat(timeout(5 * MILLI)).as("after a silence").isEqualTo(750 * MILLI);
        assertThat(timeout(1_500 * MILLI)).isEqualTo(1_500 * MILLI);
        timeouts.clear();
        send(false, questions(1));
        assertThat(timeouts).containsExactly(TIMEOUT);
    }

    @Test
    void job_thatNeedNotBeSentAnyMore_isLeftOut() {
        Question withdrawn = new Question() {
            @Override
            public boolean begin() {
                return false;
            }
        };
        Question other = new Question();
        send(false, List.of(withdrawn, other, withdrawn));
        assertThat(pipelines).containsExactly(1);
        assertThat(withdrawn.told).isEmpty();
        assertThat(other.told).containsExactly("begin", "OK", "end");
    }

    @Test
    void run_withoutAReply_sendsNoFurtherPipeline() {
        server = calls -> all(calls, AWAY);
        List<Question> jobs = questions(33);
        send(false, jobs);
        assertThat(pipelines).containsExactly(32);
        assertThat(jobs.get(0).told).containsExactly("begin", "away", "end");
        assertThat(jobs.get(32).told)
                .containsExactly("begin", "not sent, since Redis did not answer the requests before it", "end");
        clock.advanceMillis(1);
        assertThat(monitored.of(call.keys().get(0)).age(clock.nanoTime())).isPositive();
    }

    @Test
    void run_withAReplyOfAServerThatIsNotReady_isNoOutage() {
        server = calls -> all(calls, Outcome.of(new RedisException.Unready("young", 1)));
        List<Question> jobs = questions(33);
        send(false, jobs);
        assertThat(pipelines).containsExactly(32, 1);
        assertThat(jobs.get(32).told).containsExactly("begin", "young", "end");
        clock.advanceMillis(1);
        assertThat(monitored.of(call.keys().get(0)).age(clock.nanoTime())).isZero();
    }

    @Test
    void run_withAReplyAfterAnOutage_endsTheOutage() {
        server = calls -> all(calls, AWAY);
        send(false, questions(1));
        for (Outcome answer : List.of(OK, Outcome.of(new RedisException.Unready("young", 1)))) {
            server = calls -> all(calls, answer);
            send(false, questions(1));
            clock.advanceMillis(1);
            assertThat(monitored.of(call.keys().get(0)).age(clock.nanoTime())).isZero();
        }
    }

    /** A job without an outcome would be due again at once, so that the walk and the sender would not rest. */
    @Test
    void run_thatMeetsAnError_countsTheJobsAsUnanswered() {
        server = calls -> {
            throw new OutOfMemoryError("of the test");
        };
        Question job = new Question();
        sender.send(new ArrayList<>(List.of(job)), false);
        assertThatThrownBy(sender::run).isInstanceOf(OutOfMemoryError.class);
        assertThat(job.told).hasSize(3).startsWith("begin").endsWith("end");
        assertThat(sender.isFree()).isTrue();
    }

    @Test
    void run_withAJobThatThrows_countsItAsUnanswered_andServesTheNext() {
        Question broken = new Question() {
            @Override
            public void answered(Reply reply, long sentNanos) {
                throw new IllegalStateException("of the test");
            }
        };
        Question after = new Question();
        send(false, List.of(broken, after));
        assertThat(broken.told).containsExactly("begin", "an error kept the reply from its job", "end");
        assertThat(after.told).containsExactly("begin", "OK", "end");
    }

    @Test
    void run_withAPingThatFails_completes() {
        pinged = () -> {
            throw new RedisException.Unanswered("away", true, null);
        };
        Question job = new Question();
        send(true, List.of(job));
        assertThat(pings).containsExactly(TIMEOUT);
        assertThat(job.told).containsExactly("begin", "OK", "end");
        assertThat(sender.isFree()).isTrue();
    }

    private Command sendNow() {
        Command command = new Command();
        command.begin();
        assertThat(sender.sendNow(command)).isTrue();
        return command;
    }

    @Test
    void sendNow_duringABatch_sendsBetweenItsPipelines() {
        Command first = sendNow();
        assertThat(sender.isIdle()).isFalse();
        List<Command> later = new ArrayList<>();
        server = calls -> {
            if (calls.size() == 32) {
                later.add(sendNow());
            }
            return all(calls, OK);
        };
        send(false, questions(33));
        assertThat(pipelines).as("urgent, half, urgent, half").containsExactly(1, 32, 1, 1);
        assertThat(first.told).containsExactly("OK");
        assertThat(later)
                .singleElement()
                .satisfies(each -> assertThat(each.isDone()).isTrue());
    }

    @Test
    void sendNow_ofMany_usesSeparatePipelines() {
        List<Command> commands = Stream.generate(this::sendNow).limit(33).toList();
        sender.run();
        assertThat(pipelines).containsExactly(32);
        sender.run();
        assertThat(pipelines).containsExactly(32, 1);
        assertThat(commands).allMatch(PendingCommand::isDone);
        assertThat(timeouts).containsOnly(TIMEOUT);
        assertThat(freed).hasValue(2);
    }

    @Test
    void sendNow_toADistantServer_usesLongerPipelines() {
        server = calls -> {
            clock.advanceMillis(1);
            return all(calls, OK);
        };
        List<Command> commands = Stream.generate(this::sendNow).limit(32 + 96).toList();
        sender.run();
        sender.run();
        assertThat(pipelines).containsExactly(32, 96);
        assertThat(commands).allMatch(PendingCommand::isDone);
    }

    @Test
    void sendNow_withoutAReply_failsAllAfterOneTimeout() {
        server = calls -> all(calls, AWAY);
        List<Command> commands = Stream.generate(this::sendNow).limit(100).toList();
        sender.run();
        assertThat(pipelines).containsExactly(32);
        assertThat(commands).allSatisfy(command -> {
            assertThat(command.isUnderWay()).isFalse();
            assertThat(command.isDone()).isFalse();
            assertThat(command.unanswered).isEqualTo(1);
        });
        assertThat(sender.isIdle()).isTrue();
    }

    @Test
    void run_withARefusal_sendsTheNextPipeline() {
        server = calls -> all(calls, Outcome.of(new RedisException.Refused("WRONGTYPE", null)));
        List<Command> commands = Stream.generate(this::sendNow).limit(33).toList();
        sender.run();
        assertThat(commands.get(32).unanswered)
                .as("the command is in the next pipeline")
                .isZero();
        List<Question> jobs = questions(33);
        send(false, jobs);
        assertThat(jobs.get(32).told).containsExactly("begin", "WRONGTYPE", "end");
    }

    @Test
    void sendNow_withACommandThatThrowsWhenItFails_endsAllCommands() {
        server = calls -> all(calls, AWAY);
        Stream.generate(this::sendNow).limit(32).forEach(command -> {});
        Command broken = new Command() {
            @Override
            public void failed(RedisException failure, long sentNanos) {
                throw new IllegalStateException("of the test");
            }
        };
        broken.begin();
        sender.sendNow(broken);
        Command after = sendNow();
        assertThat(catchThrowable(sender::run)).isNotNull();
        assertThat(broken.isUnderWay()).isFalse();
        server = calls -> all(calls, OK);
        sender.run();
        assertThat(after.isDone()).isTrue();
    }

    @Test
    void sendNow_withACommandThatMakesNoCall_endsTheCommand() {
        Command command = new Command() {
            @Override
            public Call call() {
                throw new IllegalStateException("of the test");
            }
        };
        command.begin();
        sender.sendNow(command);
        assertThat(catchThrowable(sender::run)).isNotNull();
        assertThat(command.isUnderWay()).isFalse();
        assertThat(freed).hasValue(1);
    }

    @Test
    void close_leavesUrgentCommandsToOtherSenders() {
        Command waiting = sendNow();
        sender.close();
        assertThat(waiting.isUnderWay()).isFalse();
        Command late = new Command();
        late.begin();
        assertThat(sender.sendNow(late)).isFalse();
        assertThat(late.isUnderWay()).isFalse();
        assertThat(freed).hasValue(2);
        assertThat(pipelines).isEmpty();
    }

    @Test
    void usedNanos_isTheTimeOfTheLastWork() {
        long made = clock.nanoTime();
        clock.advanceMillis(1);
        assertThat(sender.usedNanos()).isEqualTo(made);
        send(false, questions(1));
        assertThat(sender.usedNanos() - made).isEqualTo(MILLI);
        clock.advanceMillis(1);
        sendNow();
        assertThat(sender.usedNanos() - made).isEqualTo(TimeUnit.MILLISECONDS.toNanos(2));
    }
}
