package io.github.redislocks.quorum;

import io.github.redislocks.concurrent.BackgroundLog;
import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.events.EventNotifier;
import io.github.redislocks.health.Outage;
import io.github.redislocks.health.OutageReporter;
import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.RedisException;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Whether one node of a quorum answers, judged by the outcomes of its calls. Decides whether the node may be asked, and
 * logs its outages.
 */
final class NodeHealth {

    /** Half of the least time that a poll allows a node, unless the command timeout is shorter. */
    private static final long LITTLE_NANOS = 10_000_000;

    private final CircuitBreaker reachability = new CircuitBreaker();
    private final Outage silence = new Outage(Long.MAX_VALUE);
    private final Supplier<String> address;
    private final OutageReporter news;
    private final BackgroundLog log;
    private final long awayNanos;
    /** The failure of a call that had less time than this says nothing about the health of the node. */
    private final long littleNanos;

    /**
     * @param awayNanos the failure of a call that had less time than this is no outage
     * @param closing whether the quorum is closing, so that failures are no longer logged
     */
    NodeHealth(Supplier<String> address, long awayNanos, BooleanSupplier closing, Threads threads) {
        this.address = address;
        this.awayNanos = awayNanos;
        this.littleNanos = Math.min(LITTLE_NANOS, awayNanos);
        EventNotifier events = new EventNotifier(List.of(), threads);
        this.log = events.log();
        this.news = new OutageReporter("A master of the quorum", address, closing, events);
    }

    /** Waits until the log entries queued so far are written, at most for {@code limit}. */
    void awaitLogged(Duration limit) {
        log.await(limit);
    }

    /** Returns true if no call has failed since the last answer. */
    boolean isSound() {
        return reachability.isClosed();
    }

    /**
     * Whether a call may ask the node now, as in {@link CircuitBreaker#enter}. A call with little time may probe a node
     * that is down only if no other call has done so for long: such a probe mostly has no result, and a node that hangs
     * stores its request.
     */
    boolean enter(long now, long leftNanos) {
        boolean mayAsk = leftNanos >= littleNanos || isSound() || reachability.isOverdue(now);
        return mayAsk && reachability.enter(now, leftNanos);
    }

    /** Why calls fail at once. */
    String why() {
        return reachability.why();
    }

    /** Notes that a call has no result: it says nothing about the node. */
    void unknown() {
        reachability.unknown(System.nanoTime());
    }

    void answered() {
        silence.end();
        reachability.answered();
        news.answered(System.nanoTime());
    }

    /** Notes the outcomes of calls that were sent together. */
    void note(List<Outcome> outcomes, long timeoutNanos) {
        boolean answers = false;
        for (Outcome outcome : outcomes) {
            RedisException failure = outcome.failure();
            answers |= !(failure instanceof RedisException.Unanswered);
            if (failure instanceof RedisException.Refused) {
                news.refuses("calls at " + address.get(), failure, System.nanoTime());
            }
        }
        if (answers) {
            answered();
        } else if (timeoutNanos < littleNanos) {
            reachability.unknown(System.nanoTime());
        } else {
            RedisException last = named(Objects.requireNonNull(outcomes.get(0).failure()));
            long now = System.nanoTime();
            reachability.failed(now, String.valueOf(last.getMessage()));
            if (isCut(outcomes.get(0).failure()) || timeoutNanos >= awayNanos) {
                silence.failed(now - timeoutNanos, now);
                news.away(last, now - silence.age(now), now);
            }
        }
    }

    private static boolean isCut(@Nullable RedisException failure) {
        return failure instanceof RedisException.Unanswered unanswered && unanswered.isCut();
    }

    /** The failure, with the node's address in its message. */
    RedisException named(RedisException failure) {
        String text = String.valueOf(failure.getMessage());
        if (failure instanceof RedisException.Unanswered unanswered) {
            boolean says = text.contains(address.get());
            String full = says ? text : address.get() + ": " + text;
            return unanswered.busy()
                    ? RedisException.Unanswered.busy(full, failure)
                    : new RedisException.Unanswered(full, unanswered.sent(), failure);
        }
        return failure;
    }
}
