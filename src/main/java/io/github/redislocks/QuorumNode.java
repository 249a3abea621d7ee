package io.github.redislocks;

import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One master of a quorum. It has threads of its own, since all are asked at the same time and none may wait for
 * another: as many as it has connections for calls, and one for batches. What was asked too long ago is not sent.
 */
final class QuorumNode {

    private static final Logger log = LoggerFactory.getLogger(RedisLocks.class);

    private static final Set<String> TELL_TIME = Set.of("VOTED", "TAKEN", "YOUNG", "LATE");
    private static final Outcome NOTHING = Outcome.of(new Reply("GONE", List.of()));
    private static final long IDLE_SECONDS = 5;
    private static final long LOOK_AGAIN_NANOS = 10_000_000_000L;
    /** More than the error of the estimate of a node's time, which is a round trip. */
    private static final long LATE_MARGIN_NANOS = 100_000_000;

    final int index;
    final Redis redis;
    final ServerTime time = new ServerTime();
    final LateVotes lateVotes = new LateVotes();

    private final Call check;
    private final ThreadPoolExecutor calls;
    private final ThreadPoolExecutor lane;
    private final Reachability reachability = new Reachability();
    private final Reminders reminders;

    private final ReentrantLock checking = new ReentrantLock();
    private volatile @Nullable String runId;
    private volatile @Nullable String objection;
    private volatile long lookedNanos;

    QuorumNode(
            int index,
            Redis redis,
            Call check,
            LockOptions options,
            QuorumCalls quorum,
            ScheduledExecutorService scheduler) {
        this.index = index;
        this.redis = redis;
        this.check = check;
        this.reminders = new Reminders(this, quorum, scheduler);
        this.calls = threads(options.maxConnections(), "redis-locks-node-" + redis.address());
        this.lane = threads(1, "redis-locks-lane-" + redis.address());
    }

    private static ThreadPoolExecutor threads(int count, String name) {
        ThreadPoolExecutor threads = new ThreadPoolExecutor(
                count, count, IDLE_SECONDS, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), Threads.daemons(name));
        threads.allowCoreThreadTimeOut(true);
        return threads;
    }

    /** What tells this server from others; null until it has answered. */
    @Nullable
    String runId() {
        return runId;
    }

    /** Why this node cannot be one of a quorum, or null. */
    @Nullable
    String objection() {
        return objection;
    }

    /** Puts these questions to the node and returns at once; each poll hears what became of its own. */
    void ask(List<? extends Poll> polls, long deadlineNanos, boolean background) {
        long quiet = deadlineNanos + LATE_MARGIN_NANOS;
        List<Poll> concerned = concerned(polls);
        if (concerned.isEmpty()) {
            return;
        }
        // From now on, not only when it is sent: a withdrawal may overtake it on the way there.
        concerned.forEach(poll -> poll.asking(this, quiet));
        try {
            (background ? lane : calls).execute(() -> answer(concerned, deadlineNanos, background));
        } catch (RejectedExecutionException e) {
            tell(concerned, quiet, unsent(redis.address() + ": closed"));
        } catch (Throwable e) {
            // No thread could be started: this node is one less, and the others have been asked or will be.
            tell(concerned, quiet, unsent(redis.address() + ": " + e));
        }
    }

    /** Those that it has to be asked; the others hear that it has nothing. */
    private List<Poll> concerned(List<? extends Poll> polls) {
        List<Poll> concerned = new ArrayList<>(polls.size());
        for (Poll poll : polls) {
            if (poll.concerns(this)) {
                concerned.add(poll);
            } else {
                poll.heard(this, NOTHING);
            }
        }
        return concerned;
    }

    /** Asks once more from a time on. */
    void again(Withdrawal.Order order, long notBeforeNanos) {
        reminders.add(order, notBeforeNanos);
    }

    /** Of how many attempts it remembers something. */
    int remembered() {
        return lateVotes.size() + reminders.size();
    }

    private void answer(List<? extends Poll> asked, long deadlineNanos, boolean background) {
        long now = System.nanoTime();
        // What was on its way when it was asked may have been answered meanwhile.
        List<Poll> polls = concerned(asked);
        if (polls.isEmpty()) {
            return;
        }
        long quiet = deadlineNanos + LATE_MARGIN_NANOS;
        long deadline = deadlineNanos;
        for (Poll poll : polls) {
            deadline =
                    Math.min(deadline, poll.patienceNanos() == Long.MAX_VALUE ? deadline : now + poll.patienceNanos());
        }
        if (deadline - now <= 0) {
            tell(polls, quiet, unsent(redis.address() + ": too many calls wait"));
            return;
        }
        if (!reachability.enter(now)) {
            tell(polls, quiet, unsent(reachability.why()));
            return;
        }
        try {
            checkOnce(deadline - now);
            List<Poll> late = pass(polls, deadline, quiet, background);
            if (!late.isEmpty() && deadline - System.nanoTime() > 0) {
                // They told the time, by which the next ones are not late.
                late = pass(late, deadline, quiet, background);
            }
            tell(late, quiet, Outcome.of(new Reply("LATE", List.of())));
        } catch (RedisException e) {
            note(List.of(Outcome.of(e)), deadline - now);
            tell(polls, quiet, Outcome.of(named(e)));
        } catch (Throwable e) {
            reachability.unknown();
            // Of those that have been told nothing it is not known whether they were sent.
            tell(polls, quiet, Outcome.of(new RedisException.Unanswered(redis.address() + ": " + e, true, e)));
            log.error("A call to {} failed", redis.address(), e);
        }
    }

    /** Sends these, and returns those that came too late by the node's clock. */
    private List<Poll> pass(List<Poll> polls, long deadline, long quiet, boolean background) {
        long sent = System.nanoTime();
        long timeout = Math.max(1, deadline - sent);
        List<Call> requests = new ArrayList<>(polls.size());
        for (Poll poll : polls) {
            poll.sending(this);
            requests.add(poll.call(this, sent, timeout));
        }
        List<Outcome> outcomes = background ? redis.runAll(requests, timeout) : List.of(run(requests.get(0), timeout));
        note(outcomes, timeout);
        List<Poll> late = new ArrayList<>();
        for (int i = 0; i < polls.size(); i++) {
            Outcome outcome = outcomes.get(i);
            Reply reply = outcome.reply();
            if (reply != null && TELL_TIME.contains(reply.code())) {
                // Counted from the sending it may be ahead by a round trip, and by a slow one more than the margin.
                // Then
                // rather behind: a request that is late by mistake is sent again.
                time.saw(reply, Math.max(sent, System.nanoTime() - LATE_MARGIN_NANOS));
            }
            if (reply != null && reply.is("LATE")) {
                late.add(polls.get(i));
            } else {
                RedisException failure = outcome.failure();
                tell(polls.get(i), quiet, failure == null ? outcome : Outcome.of(named(failure)));
            }
        }
        return late;
    }

    /** Draws from what became of some calls whether the node is there. */
    private void note(List<Outcome> outcomes, long timeoutNanos) {
        boolean answered =
                outcomes.stream().anyMatch(outcome -> !(outcome.failure() instanceof RedisException.Unanswered));
        if (answered) {
            reachability.answered();
        } else if (timeoutNanos < QuorumCalls.MIN_PATIENCE_NANOS / 2) {
            reachability.unknown();
        } else {
            RedisException last = named(Objects.requireNonNull(outcomes.get(0).failure()));
            reachability.failed(System.nanoTime(), String.valueOf(last.getMessage()));
        }
    }

    private Outcome run(Call call, long timeoutNanos) {
        try {
            return Outcome.of(redis.run(call, timeoutNanos));
        } catch (RedisException e) {
            return Outcome.of(e);
        }
    }

    private void tell(List<? extends Poll> polls, long quietFromNanos, Outcome outcome) {
        polls.forEach(poll -> tell(poll, quietFromNanos, outcome));
    }

    private void tell(Poll poll, long quietFromNanos, Outcome outcome) {
        try {
            poll.asked(this, quietFromNanos, outcome);
        } finally {
            poll.heard(this, outcome);
        }
    }

    private static Outcome unsent(String message) {
        return Outcome.of(new RedisException.Unanswered(message, false, null));
    }

    /** The failure with the node's name, since there are several. */
    private RedisException named(RedisException failure) {
        String text = String.valueOf(failure.getMessage());
        if (failure instanceof RedisException.Unanswered unanswered) {
            boolean says = text.contains(redis.address());
            String full = says ? text : redis.address() + ": " + text;
            return unanswered.busy()
                    ? RedisException.Unanswered.busy(full, failure)
                    : new RedisException.Unanswered(full, unanswered.sent(), failure);
        }
        return failure;
    }

    /** Looks at the server before its first call, and learns its time. */
    private void checkOnce(long timeoutNanos) {
        if (isToBeLookedAt()) {
            checking.lock();
            try {
                if (isToBeLookedAt()) {
                    look(timeoutNanos);
                }
            } finally {
                checking.unlock();
            }
        }
        String why = objection;
        if (why != null) {
            throw new RedisException.Refused(why, null);
        }
    }

    /** Before its first call; and again now and then if something spoke against it. */
    private boolean isToBeLookedAt() {
        return runId == null || (objection != null && System.nanoTime() - lookedNanos > LOOK_AGAIN_NANOS);
    }

    private void look(long timeoutNanos) {
        long sent = System.nanoTime();
        lookedNanos = sent;
        Reply answer = redis.run(check, timeoutNanos);
        time.saw(answer, Math.max(sent, System.nanoTime() - LATE_MARGIN_NANOS));
        ServerCheck server = new ServerCheck(redis.address(), answer);
        server.warnings().forEach(log::warn);
        String why = server.objection();
        if (why != null) {
            log.warn(why);
        }
        String warning = ServerCheck.warningOfSubscribing(redis, check.args().get(0), timeoutNanos);
        if (warning != null) {
            log.warn(warning);
        }
        objection = why;
        runId = server.runId();
    }

    /** Sends a message and does not wait for it. */
    void publish(String channel, String message, long timeoutNanos) {
        long deadline = System.nanoTime() + timeoutNanos;
        try {
            lane.execute(() -> {
                long now = System.nanoTime();
                if (deadline - now <= 0 || !reachability.enter(now)) {
                    return;
                }
                try {
                    redis.publish(channel, message, deadline - now);
                    reachability.answered();
                } catch (RedisException e) {
                    note(List.of(Outcome.of(e)), deadline - now);
                }
            });
        } catch (RejectedExecutionException e) {
            // Closed: nobody waits for it.
        }
    }

    /** Takes no more work. */
    void shutDown() {
        calls.shutdown();
        lane.shutdown();
    }

    /** Ends when what it was told before is done, at most at a time. */
    void close(long deadlineNanos) {
        try {
            if (calls.awaitTermination(deadlineNanos - System.nanoTime(), TimeUnit.NANOSECONDS)
                    && lane.awaitTermination(deadlineNanos - System.nanoTime(), TimeUnit.NANOSECONDS)) {
                log.debug("{} is done", redis.address());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        redis.close();
    }
}
