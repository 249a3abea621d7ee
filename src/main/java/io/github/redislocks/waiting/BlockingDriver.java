package io.github.redislocks.waiting;

import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.health.RedisAccess;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.redis.ServerTimes;
import io.github.redislocks.state.Hold;
import org.jspecify.annotations.Nullable;

/** Drives an acquisition on the thread that waits for it: sends its requests, and parks between two steps. */
public final class BlockingDriver {

    private final RedisAccess access;
    private final WaitingParts parts;
    private final Clock clock;

    public BlockingDriver(RedisAccess access, WaitingParts parts) {
        this.access = access;
        this.parts = parts;
        this.clock = access.clock();
    }

    /** Returns the hold; null if the lock was busy during all the time that the caller had. */
    @Nullable
    public Hold drive(Acquisition acquisition) throws InterruptedException {
        try {
            acquisition.begin();
            while (true) {
                long now = clock.nanoTime();
                long next = acquisition.step(now);
                if (next == Step.ENDED) {
                    return acquisition.made();
                }
                if (next == Step.LEAVE) {
                    parts.handoff().depart(acquisition.attempt);
                    acquisition.throwIfNotBusy();
                    return null;
                }
                if (next == Step.ASK) {
                    ask(acquisition);
                } else if (next > 0) {
                    clock.parkFrom(now, acquisition, next);
                }
            }
        } catch (Throwable e) {
            try {
                acquisition.strand();
            } finally {
                parts.handoff().abandon(acquisition.attempt);
            }
            throw e;
        }
    }

    private void ask(Acquisition acquisition) {
        acquisition.asks();
        long sent = clock.nanoTime();
        long timeout = acquisition.timeoutNanos(sent);
        ServerTimes.Date notAfter = access.serverTimes().date(sent, timeout);
        acquisition.sends(notAfter);
        acquisition.attempt.sends(sent);
        try {
            Reply reply = access.monitored().run(acquisition.call(notAfter), timeout);
            if (acquisition.answered(reply, notAfter, sent)) {
                parts.mailbox().open(acquisition.timeoutNanos(clock.nanoTime()));
            }
        } catch (RedisException e) {
            if (e instanceof RedisException.Unacknowledged) {
                // The exception does not say whether the request was sent twice, so a copy may still run.
                throw e;
            }
            acquisition.failed(e, notAfter);
        }
        acquisition.heard();
    }
}
