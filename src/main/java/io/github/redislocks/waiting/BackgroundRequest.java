package io.github.redislocks.waiting;

import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.health.MonitoredRedis;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.watchdog.PendingCommand;
import org.jspecify.annotations.Nullable;

/**
 * A request of an attempt for which no thread waits. A batch sends the request. When the request ends, it wakes the
 * attempt's owner, and the thread that continues the attempt {@link #deliver delivers} the outcome.
 */
abstract class BackgroundRequest extends PendingCommand {

    private final MonitoredRedis monitored;
    private final Attempt attempt;
    private volatile boolean sent;
    private volatile boolean ended;
    private volatile boolean dropped;
    /** This and the next two fields are written before {@link #ended}. */
    private @Nullable Reply reply;

    private @Nullable RedisException failure;
    private long sentNanos;

    /** Makes a request that may wait to be sent for {@code patienceNanos}. */
    BackgroundRequest(Clock clock, MonitoredRedis monitored, Attempt attempt, long patienceNanos) {
        super(clock, attempt.keys.lock(), clock.nanoTime() + patienceNanos);
        this.monitored = monitored;
        this.attempt = attempt;
    }

    /** Makes the call just before it is sent. */
    abstract Call request(long nanos, long timeoutNanos);

    abstract void heard(Reply answer, long nanos);

    /** Called if there was no answer, or if too few replicas confirmed the request. */
    abstract void missed(RedisException why);

    /** Notes that the request, whose outcome nobody receives, may have run. Nothing to do if it can take no lock. */
    void mayHaveRun() {}

    /** Removes from Redis what the request may have put there. Called if the request ends after it was dropped. */
    void leave() {}

    /** Whether a copy of the request was sent. */
    final boolean wasSent() {
        return sent;
    }

    final boolean hasEnded() {
        return ended;
    }

    /** Delivers the outcome, which may throw. */
    final void deliver() {
        Reply answer = reply;
        RedisException missed = failure;
        try {
            if (answer != null) {
                heard(answer, sentNanos);
            } else if (missed != null) {
                missed(missed);
            }
        } catch (RedisException e) {
            throw e;
        } catch (RuntimeException | Error e) {
            drop();
            throw e;
        }
    }

    /** Drops the request after an error: its outcome will not be delivered. If it was not sent, it never will be. */
    final void drop() {
        dropped = true;
        if (sent) {
            mayHaveRun();
        } else {
            done();
        }
    }

    @Override
    public final Call call() {
        throw new UnsupportedOperationException("It is made when it is sent.");
    }

    @Override
    public final Call call(long nanos, long timeoutNanos) {
        Call call = request(nanos, timeoutNanos);
        sent = true;
        return call;
    }

    @Override
    public final long follow(Reply answer, long nanos) {
        if (!ended) {
            sentNanos = nanos;
            boolean confirmed = !answer.is("OK") || monitored.isAcknowledged(key(), answer, nanos);
            if (confirmed) {
                reply = answer;
            } else {
                failure = new RedisException.Unacknowledged(monitored.tooFew(answer));
            }
            finish();
        }
        return DONE;
    }

    @Override
    public final void failed(RedisException why, long nanos) {
        if (!ended) {
            failure = why;
            finish();
        }
        done();
    }

    @Override
    public final void giveUp() {
        if (!ended) {
            failure = new RedisException.Unanswered("There was no time to send it", sent, null);
            finish();
        }
    }

    @Override
    public final void end() {
        if (sent && !ended) {
            // An error prevented the outcome from being delivered.
            failed(new RedisException.Unanswered("its outcome could not be delivered", true, null), 0);
        }
        super.end();
    }

    private void finish() {
        ended = true;
        // If the request was dropped, nobody waits for its outcome: take the attempt out of Redis.
        if (!dropped) {
            attempt.owner.wake();
        } else if (sent) {
            mayHaveRun();
            leave();
        }
    }
}
