package io.github.redislocks.redis;

import io.github.redislocks.concurrent.Clock;

/**
 * The sending of calls that change nothing after a date. One that came too late for a server, whose time was not known
 * or has been set, is sent once more, now that the answer has told it.
 *
 * <p>It stands above whoever notes what becomes of each request, so that both are noted: the first may have been
 * answered, and the second not.
 */
public final class DatedCalls {

    /** Sends one request, and returns its answer; throws as {@link Redis#run}. */
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
     * Sends a call, and if it was late once more, for the time that is left. Throws as {@link Redis#run}, of both
     * requests together.
     */
    public Reply run(Call call, long timeoutNanos) {
        long began = clock.nanoTime();
        Reply reply = sender.send(call, timeoutNanos);
        if (!call.isLate(reply)) {
            return reply;
        }
        try {
            Reply second = sender.send(call, timeoutNanos - (clock.nanoTime() - began));
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
