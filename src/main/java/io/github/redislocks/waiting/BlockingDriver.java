package io.github.redislocks.waiting;

import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.health.MonitoredRedis;
import io.github.redislocks.health.RedisAccess;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.redis.ServerTimes;
import io.github.redislocks.state.Hold;
import org.jspecify.annotations.Nullable;

/** Drives an acquisition on the thread that waits for it: sends its requests, and parks between two steps. */
public final class BlockingDriver {

    private final Clock clock;
    private final ServerTimes serverTimes;
    private final MonitoredRedis monitored;
    private final Mailbox mailbox;
    private final Handoff handoff;

    public BlockingDriver(RedisAccess access, WaitingParts parts) {
        this.clock = access.clock();
        this.serverTimes = access.serverTimes();
        this.monitored = access.monitored();
        this.mailbox = parts.mailbox();
        this.handoff = parts.handoff();
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
                    handoff.depart(acquisition.attempt);
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
                handoff.abandon(acquisition.attempt);
            }
            throw e;
        }
    }

    private void ask(Acquisition acquisition) {
        acquisition.asks();
        long sent = clock.nanoTime();
        long timeout = acquisition.timeoutNanos(sent);
        ServerTimes.Date notAfter = serverTimes.date(sent, timeout);
        acquisition.sends(notAfter);
        acquisition.attempt.sends(sent);
        try {
            Reply reply = monitored.run(acquisition.call(notAfter), timeout);
            if (acquisition.answered(reply, notAfter, sent)) {
                mailbox.open(acquisition.timeoutNanos(clock.nanoTime()));
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
