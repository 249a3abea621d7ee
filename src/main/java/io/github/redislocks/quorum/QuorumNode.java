package io.github.redislocks.quorum;

import io.github.redislocks.concurrent.Loggers;
import io.github.redislocks.concurrent.ScalingExecutor;
import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.events.EventNotifier;
import io.github.redislocks.health.Outage;
import io.github.redislocks.health.OutageNews;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.redis.ServerTime;
import io.github.redislocks.state.Settings;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * One master of a quorum. It has threads of its own, since all are asked at the same time and none may wait for
 * another: for calls as many as are under way, at most one for each connection, and one for batches. What was asked too
 * long ago is not sent.
 */
public final class QuorumNode {

    private static final Set<String> TELL_TIME = Set.of("VOTED", "TAKEN", "YOUNG", "LATE");
    private static final Outcome NOTHING = Outcome.of(new Reply("GONE", List.of()));
    private static final long IDLE_SECONDS = 5;

    public final int index;
    public final QuorumServer server;
    public final Redis redis;
    public final ServerTime time;
    public final Threads threads;
    public final UnansweredVotes unanswered = new UnansweredVotes();

    public final ThreadPoolExecutor calls;
    public final ThreadPoolExecutor lane;
    private final CircuitBreaker reachability = new CircuitBreaker();
    private final OutageNews news;
    private final Outage silence = new Outage(Long.MAX_VALUE);
    private volatile boolean closing;
    private final long awayNanos;
    private final WithdrawRetries retries;

    public QuorumNode(
            int index,
            QuorumServer server,
            Settings settings,
            QuorumCalls quorum,
            ScheduledExecutorService scheduler,
            Threads threads) {
        this.threads = threads;
        this.index = index;
        this.server = server;
        this.redis = server.redis;
        this.time = server.time;
        this.news =
                new OutageNews("A master of the quorum", redis::address, () -> closing, new EventNotifier(List.of()));
        this.awayNanos = settings.commandTimeoutNanos() / 2;
        this.retries = new WithdrawRetries(this, quorum, scheduler);
        this.calls = new ScalingExecutor(
                settings.maxConnections(), IDLE_SECONDS, threads.factory("node-" + redis.address()));
        this.lane = new ScalingExecutor(1, IDLE_SECONDS, threads.factory("lane-" + redis.address()));
    }

    /** Puts these questions to the node and returns at once; each poll hears what became of its own. */
    public void ask(List<? extends Poll> polls, long deadlineNanos, boolean background) {
        long quiet = deadlineNanos + QuorumServer.LATE_MARGIN_NANOS;
        retries.resume();
        List<Poll> concerned = concerned(polls);
        if (concerned.isEmpty()) {
            return;
        }
        // From now on, not only when it is sent: a withdrawal may overtake it on the way there.
        concerned.forEach(poll -> poll.asking(this, quiet));
        try {
            (background ? lane : calls).execute(() -> answer(concerned, deadlineNanos, background));
        } catch (RejectedExecutionException e) {
            tell(concerned, quiet, unsent(redis.address() + ": " + e.getMessage()));
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
    public void again(WithdrawPoll.Order order, long notBeforeNanos) {
        retries.add(order, notBeforeNanos);
    }

    /** Of how many attempts it remembers something. */
    public int remembered() {
        return unanswered.size() + retries.size();
    }

    private void answer(List<? extends Poll> asked, long deadlineNanos, boolean background) {
        long began = System.nanoTime();
        long quiet = deadlineNanos + QuorumServer.LATE_MARGIN_NANOS;
        long deadline = deadlineNanos;
        // Those that have been told nothing.
        List<? extends Poll> open = asked;
        try {
            // What was on its way when it was asked may have been answered meanwhile.
            open = concerned(asked);
            for (Poll poll : open) {
                deadline = poll.patienceNanos() == Long.MAX_VALUE
                        ? deadline
                        : Math.min(deadline, began + poll.patienceNanos());
            }
            if (open.isEmpty()) {
                return;
            }
            if (deadline - began <= 0) {
                tell(open, quiet, unsent(redis.address() + ": too many calls wait"));
                return;
            }
            if (!reachability.enter(began)) {
                tell(open, quiet, unsent(reachability.why()));
                return;
            }
            server.checkOnce(deadline - began);
            open = pass(open, deadline, quiet, background);
            if (!open.isEmpty() && deadline - System.nanoTime() > 0) {
                // They told the time, by which the next ones are not late; or another server has been met.
                server.checkOnce(Math.max(1, deadline - System.nanoTime()));
                open = pass(open, deadline, quiet, background);
            }
            tell(open, quiet, Outcome.of(new Reply("LATE", List.of())));
        } catch (RedisException e) {
            note(List.of(Outcome.of(e)), deadline - began);
            tell(open, quiet, Outcome.of(named(e)));
        } catch (Throwable e) {
            reachability.unknown();
            // It is not known whether they were sent.
            tell(open, quiet, Outcome.of(new RedisException.Unanswered(redis.address() + ": " + e, true, e)));
            report("A call failed", e);
        }
    }

    /**
     * Sends these, and returns those that are to be sent again, now that more is known of the server. If it throws,
     * none of them has been told anything.
     */
    private List<Poll> pass(List<? extends Poll> polls, long deadline, long quiet, boolean background) {
        long sent = System.nanoTime();
        long timeout = Math.max(1, deadline - sent);
        List<Call> requests = new ArrayList<>(polls.size());
        for (Poll poll : polls) {
            poll.sending(this);
            requests.add(poll.call(this, sent, timeout));
        }
        List<Outcome> outcomes = background ? redis.runAll(requests, timeout) : List.of(run(requests.get(0), timeout));
        note(outcomes, timeout);
        outcomes.forEach(outcome -> learn(outcome, sent));
        Outcome ofOther = meet(outcomes, deadline);
        List<Poll> late = new ArrayList<>();
        for (int i = 0; i < polls.size(); i++) {
            Outcome outcome = outcomes.get(i);
            Reply reply = outcome.reply();
            RedisException failure = outcome.failure();
            if (reply != null && reply.is("OTHER") && ofOther != null) {
                tell(polls.get(i), quiet, ofOther);
            } else if (reply != null && (reply.is("LATE") || reply.is("OTHER"))) {
                late.add(polls.get(i));
            } else {
                tell(polls.get(i), quiet, failure == null ? outcome : Outcome.of(named(failure)));
            }
        }
        return late;
    }

    /** Draws from an answer what it tells of the server. */
    private void learn(Outcome outcome, long sent) {
        Reply reply = outcome.reply();
        if (outcome.failure() instanceof RedisException.Refused refused && refused.says("READONLY")) {
            server.becameReplica();
        } else if (reply != null && TELL_TIME.contains(reply.code())) {
            // Counted from the sending it may be ahead by a round trip, and by a slow one more than the margin. Then
            // rather behind: a request that is late by mistake is sent again.
            time.saw(reply, Math.max(sent, System.nanoTime() - QuorumServer.LATE_MARGIN_NANOS));
        }
    }

    /** Meets the server if it is another one. Returns what polls without its vote hear; null: ask again. */
    private @Nullable Outcome meet(List<Outcome> outcomes, long deadline) {
        for (Outcome outcome : outcomes) {
            Reply reply = outcome.reply();
            if (reply != null && reply.is("OTHER")) {
                long left = Math.max(1, deadline - System.nanoTime());
                try {
                    long wait = server.meet(reply.text(0), left);
                    return wait > 0 ? Outcome.of(new Reply("YOUNG", List.of(wait))) : null;
                } catch (RedisException e) {
                    note(List.of(Outcome.of(e)), left);
                    return Outcome.of(named(e));
                }
            }
        }
        return null;
    }

    /** Draws from what became of some calls whether the node is there. */
    private void note(List<Outcome> outcomes, long timeoutNanos) {
        boolean answered =
                outcomes.stream().anyMatch(outcome -> !(outcome.failure() instanceof RedisException.Unanswered));
        if (answered) {
            answered();
        } else if (timeoutNanos < QuorumCalls.MIN_PATIENCE_NANOS / 2) {
            reachability.unknown();
        } else {
            RedisException last = named(Objects.requireNonNull(outcomes.get(0).failure()));
            long now = System.nanoTime();
            reachability.failed(now, String.valueOf(last.getMessage()));
            // A call that had little time says little.
            if (isCut(outcomes.get(0).failure()) || timeoutNanos >= awayNanos) {
                silence.failed(now - timeoutNanos, now);
                news.away(last, now - silence.age(now), now);
            }
        }
    }

    private static boolean isCut(@Nullable RedisException failure) {
        return failure instanceof RedisException.Unanswered unanswered && unanswered.isCut();
    }

    private void answered() {
        silence.end();
        reachability.answered();
        news.heard(System.nanoTime());
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

    /** Whatever it makes of it, the others are to be told of theirs. */
    private void tell(Poll poll, long quietFromNanos, Outcome outcome) {
        try {
            try {
                poll.asked(this, quietFromNanos, outcome);
            } finally {
                poll.heard(this, outcome);
            }
        } catch (Throwable e) {
            report("An answer was not understood", e);
        }
    }

    private void report(String what, Throwable e) {
        Loggers.INTERNAL.error("{} at {}", what, redis.address(), e);
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

    /** The subscription that should receive what is published to a channel. */
    public interface Listener {

        /** How much it has heard. */
        long heard();

        /** Told that a message was published after it had heard so much. */
        void published(long heardBefore);
    }

    /** Sends a message and does not wait for it. */
    public void publish(String channel, String message, long timeoutNanos, @Nullable Listener listener) {
        long deadline = System.nanoTime() + timeoutNanos;
        try {
            lane.execute(() -> {
                long now = System.nanoTime();
                if (deadline - now <= 0 || !reachability.enter(now)) {
                    return;
                }
                try {
                    long heard = listener == null ? 0 : listener.heard();
                    redis.publish(channel, message, deadline - now);
                    answered();
                    if (listener != null) {
                        listener.published(heard);
                    }
                } catch (RedisException e) {
                    note(List.of(Outcome.of(e)), deadline - now);
                } catch (Throwable e) {
                    reachability.unknown();
                    report("A message was not sent", e);
                }
            });
        } catch (Throwable e) {
            // Closed, or no thread could be started: nobody waits for it, and others may bring it.
        }
    }

    /** Takes no more work. */
    public void shutDown() {
        closing = true;
        calls.shutdown();
        lane.shutdown();
    }

    /** Ends when what it was told before is done, at most at a time. */
    public void close(long deadlineNanos) {
        try {
            for (ThreadPoolExecutor each : List.of(calls, lane)) {
                boolean unused = each.awaitTermination(deadlineNanos - System.nanoTime(), TimeUnit.NANOSECONDS);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            redis.close();
        }
    }
}
