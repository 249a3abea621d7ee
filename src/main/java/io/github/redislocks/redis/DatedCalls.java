package io.github.redislocks.redis;

import io.github.redislocks.concurrent.Clock;

/**
 * Sends calls that have a deadline. A request that reaches the server after its deadline does nothing. If the server's
 * time was unknown, or its clock was set, that may happen to a request in time. Such a call is sent once more, with a
 * deadline by the time in that reply.
 *
 * <p>Each of the two requests goes through the {@code Sender}, so that the outcome of each is noted: the first may be
 * answered and the second not.
 */
public final class DatedCalls {

    /** Sends one request, and returns its reply; throws as {@link Redis#run}. */
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
     * Sends a call, and sends it once more if it ran too late and time is left. Throws as {@link Redis#run}, for both
     * requests together.
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
