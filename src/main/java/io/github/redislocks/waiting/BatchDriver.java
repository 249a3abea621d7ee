package io.github.redislocks.waiting;

import io.github.redislocks.health.RedisAccess;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.redis.ServerTimes;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.Hold;
import org.jspecify.annotations.Nullable;

/**
 * Drives an attempt for which no thread waits. The requests are sent in the background, one at a time, and the next
 * step receives the outcome.
 */
public final class BatchDriver implements Driver {

    private final RedisAccess access;
    private final WaitingParts parts;
    private final Acquisitions.OfLock acquisition;
    private final Attempt attempt;
    private @Nullable BackgroundRequest request;

    BatchDriver(RedisAccess access, WaitingParts parts, Acquisitions.OfLock acquisition) {
        this.access = access;
        this.parts = parts;
        this.acquisition = acquisition;
        this.attempt = acquisition.attempt;
        acquisition.settlement().inBackground(this::send);
    }

    @Override
    public void begin() {
        acquisition.begin();
    }

    @Override
    public @Nullable Hold hold() {
        return acquisition.made();
    }

    @Override
    public long advance() throws InterruptedException {
        while (true) {
            BackgroundRequest current = request;
            if (current != null && !current.hasEnded()) {
                return Long.MAX_VALUE;
            }
            request = null;
            if (current != null) {
                current.deliver();
            }
            long next = acquisition.step(access.clock().nanoTime());
            if (next == Step.ASK) {
                ask();
            } else if (next == Step.LEAVE) {
                parts.handoff().departLater(attempt);
                acquisition.throwIfNotBusy();
                return Step.ENDED;
            } else if (next != 0) {
                return next;
            }
        }
    }

    @Override
    public boolean cancel() {
        BackgroundRequest current = request;
        if (current != null && !current.hasEnded()) {
            return false;
        }
        request = null;
        if (current != null) {
            // Deliver the outcome although nobody waits for it: the delivery records whether a copy of the request may
            // still run.
            deliverToNobody(current);
        }
        parts.handoff().rescue(attempt);
        return true;
    }

    private static void deliverToNobody(BackgroundRequest ended) {
        try {
            ended.deliver();
        } catch (RedisException e) {
            // Ignored: no caller waits for this failure any more.
        }
    }

    @Override
    public void abandon() {
        drop();
        if (parts.attempts().isUnderWay(attempt)) {
            parts.handoff().rescue(attempt);
        }
    }

    @Override
    public void strand() {
        try {
            // Drop the request first: that notes that the request may have run, which the watchdog needs to know.
            drop();
        } finally {
            parts.handoff().strand(attempt);
        }
    }

    /** Drops the request that is under way. If a hold was made, hands it to the watchdog. */
    private void drop() {
        acquisition.strand();
        BackgroundRequest current = request;
        if (current != null) {
            current.drop();
        }
    }

    private void send(BackgroundRequest next) {
        request = next;
        parts.watchdog().run(next);
    }

    /** Handles an answer. If the mailbox must be open and is not, opens it, and asks again after a pause. */
    private void hear(Reply reply, ServerTimes.Date notAfter, long sentNanos) {
        Mailbox mailbox = parts.mailbox();
        if (acquisition.answered(reply, notAfter, sentNanos) && !mailbox.isOpen()) {
            mailbox.want();
            acquisition.pause();
        }
        if (attempt.position() != null) {
            // The request changed the lock's key. If this client watches the key for one of its holds, the server does
            // not report this change, which the client made itself. So report it here.
            mailbox.mayHaveChanged(attempt.keys.lock());
        }
    }

    private void ask() {
        acquisition.asks();
        send(
                new BackgroundRequest(
                        access.clock(),
                        access.monitored(),
                        attempt,
                        access.settings().commandTimeoutNanos()) {
                    private ServerTimes.Date notAfter = access.serverTimes().date(0, 0);

                    @Override
                    Call request(long sentNanos, long timeoutNanos) {
                        if (wasSent()) {
                            attempt.mayHaveRun(notAfter);
                        }
                        notAfter = access.serverTimes().date(sentNanos, timeoutNanos);
                        return acquisition.call(notAfter);
                    }

                    @Override
                    void heard(Reply reply, long sentNanos) {
                        try {
                            hear(reply, notAfter, sentNanos);
                        } catch (RedisException e) {
                            // No thread could be started for the mailbox: treat that as a failed request.
                            acquisition.failed(e, notAfter);
                        }
                    }

                    @Override
                    void missed(RedisException failure) {
                        if (failure instanceof RedisException.Unacknowledged) {
                            attempt.mayHaveRun(notAfter);
                            throw failure;
                        }
                        acquisition.failed(failure, notAfter);
                    }

                    @Override
                    void mayHaveRun() {
                        attempt.mayHaveRun(notAfter);
                    }

                    @Override
                    void leave() {
                        parts.handoff().leaveLater(attempt);
                    }
                });
    }
}
