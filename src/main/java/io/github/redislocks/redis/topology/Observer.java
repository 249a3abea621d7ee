package io.github.redislocks.redis.topology;

import io.github.redislocks.concurrent.LogLimiter;
import io.github.redislocks.redis.Address;
import io.github.redislocks.redis.SingleServer;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A server that a {@link TopologyWatch} asks about a topology: a Sentinel or a cluster node. Has the result of the last
 * question. Guarded by the watch's lock.
 *
 * @param <A> the type of a reply
 */
public final class Observer<A> {

    /**
     * How long the replies may differ from the topology in use before this is logged. After a failover, all servers
     * know of it sooner.
     */
    private static final long DISSENT_NANOS = TimeUnit.SECONDS.toNanos(5);

    public final Address address;
    final SingleServer server;

    private final LogLimiter news = new LogLimiter();
    private final LogLimiter dissent = new LogLimiter();
    /** Whether a question is under way. Also read without the lock. */
    private volatile boolean asked;

    private boolean due = true;
    private long endedNanos;
    private @Nullable A answer;
    private @Nullable String trouble;
    private @Nullable RuntimeException thrown;
    /** When the replies started to differ from the topology that the client uses; 0 if they do not differ. */
    private long differsSinceNanos;

    Observer(Address address, SingleServer server) {
        this.address = address;
        this.server = server;
    }

    void startQuestion() {
        asked = true;
        due = false;
    }

    /** Notes that the question is over, with or without a reply. */
    void endQuestion() {
        asked = false;
    }

    void answered(A with, long now) {
        asked = false;
        endedNanos = now;
        answer = with;
        trouble = null;
        thrown = null;
        news.stop();
    }

    void failed(String why, @Nullable RuntimeException what, long now) {
        asked = false;
        endedNanos = now;
        answer = null;
        trouble = why;
        thrown = what;
    }

    boolean isWarningDue(long now) {
        return news.start(now, now);
    }

    /** Whether the replies before the current one differed from the topology that the client uses. */
    public boolean differs() {
        return differsSinceNanos != 0;
    }

    /**
     * Notes whether the last reply differs from the topology that the client uses. Returns true once, when the replies
     * have differed for {@link #DISSENT_NANOS}.
     */
    boolean isDissent(boolean differs, long now) {
        if (!differs || differsSinceNanos == 0) {
            differsSinceNanos = differs ? now : 0;
            dissent.stop();
        }
        return differs && now - differsSinceNanos > DISSENT_NANOS && dissent.start(differsSinceNanos, now);
    }

    public boolean isAsked() {
        return asked;
    }

    /** Makes the next question due without a pause, as soon as the current one has ended. */
    public void hurry() {
        due = true;
    }

    /**
     * The nanoseconds until the next question is due; 0 if it is due.
     *
     * @param pauseNanos the pause after the last question
     */
    public long dueInNanos(long pauseNanos, long now) {
        return due ? 0 : Math.max(0, endedNanos + pauseNanos - now);
    }

    /** The reply to the last question; null if there was none. */
    @Nullable
    public A answer() {
        return answer;
    }

    /** Why the last question got no usable reply; null if it got one, or if no question was asked yet. */
    @Nullable
    public String trouble() {
        return trouble;
    }

    /** The exception with which the last question failed; null if it did not fail. */
    @Nullable
    RuntimeException thrown() {
        return thrown;
    }
}
