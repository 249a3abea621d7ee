package io.github.redislocks.redis;

import io.github.redislocks.concurrent.Clock;

/**
 * Sends calls that have a deadline. A request that reaches the server after its deadline changes nothing. This may
 * happen although the request is in time, if the server's time is unknown to the client or the server's clock was set.
 * Such a call is sent once more, with a deadline computed from the time in the reply.
 *
 * <p>Each of the two requests goes through the {@code Sender}, which notes its outcome: the first may be answered and
 * the second not.
 */
public final class DatedCalls {

    /** Sends one request. Returns and throws as {@link Redis#run} does. */
    @FunctionalInterface
    public interface Sender {
        Reply send(Call call, long timeoutNanos);
    }

    private final Clock clock;
    private final Sender sender;

    public DatedCalls(Clock clock, Sender sender) {
        this.clock = clock;
        this.sender = sender;
    }

    /**
     * Sends a call, and sends it once more if it ran too late and time is left. Returns and throws as {@link Redis#run}
     * does, for the two requests together.
     */
    public Reply run(Call call, long timeoutNanos) {
        long start = clock.nanoTime();
        Reply reply = sender.send(call, timeoutNanos);
        if (!call.isLate(reply)) {
            return reply;
        }
        try {
            Reply second = sender.send(call, timeoutNanos - (clock.nanoTime() - start));
            boolean unused = call.isLate(second);
            return reply.resent() ? second.resentOnce() : second;
        } catch (RedisException e) {
            if (reply.resent()) {
                throw new RedisException.Unanswered(String.valueOf(e.getMessage()), true, e);
            }
            throw e;
        }
    }
}
