package io.github.redislocks.quorum;

import io.github.redislocks.concurrent.BackgroundLog;
import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.events.EventNotifier;
import io.github.redislocks.health.Outage;
import io.github.redislocks.health.OutageNews;
import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.RedisException;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Whether one master of a quorum is there, by what became of its calls: whether to ask it, and what is logged. */
final class NodeHealth {

    /** Half of the least time that a node is waited for, unless the command timeout is shorter. */
    private static final long LITTLE_NANOS = 10_000_000;

    private final CircuitBreaker reachability = new CircuitBreaker();
    private final Outage silence = new Outage(Long.MAX_VALUE);
    private final Supplier<String> address;
    private final OutageNews news;
    private final BackgroundLog log;
    private final long awayNanos;
    /** A call that had less time says nothing. */
    private final long littleNanos;

    /**
     * @param awayNanos a call that had less time and was not answered says little
     * @param closing whether failures are not logged any more
     */
    NodeHealth(Supplier<String> address, long awayNanos, BooleanSupplier closing, Threads threads) {
        this.address = address;
        this.awayNanos = awayNanos;
        this.littleNanos = Math.min(LITTLE_NANOS, awayNanos);
        EventNotifier events = new EventNotifier(List.of(), threads);
        this.log = events.log();
        this.news = new OutageNews("A master of the quorum", address, closing, events);
    }

    /** Lets what was found so far be logged, for a time. */
    void awaitLogged(Duration limit) {
        log.await(limit);
    }

    /** Whether nothing has failed since it answered last. */
    boolean isSound() {
        return reachability.isClosed();
    }

    /**
     * As {@link CircuitBreaker#enter}, for a call that has so much time. A node that is down is asked nothing that has
     * too little, unless it has not been asked for long: mostly nothing is learned by it, and a node that hangs keeps
     * each such request until it goes on.
     */
    boolean enter(long now, long leftNanos) {
        boolean mayAsk = leftNanos >= littleNanos || isSound() || reachability.isOverdue(now);
        return mayAsk && reachability.enter(now, leftNanos);
    }

    /** Why it is not asked. */
    String why() {
        return reachability.why();
    }

    /** Nothing was learned. */
    void unknown() {
        reachability.unknown(System.nanoTime());
    }

    void answered() {
        silence.end();
        reachability.answered();
        news.heard(System.nanoTime());
    }

    /** Draws from what became of some calls whether the node is there. */
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

    /** The failure with the node's name, since there are several. */
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
