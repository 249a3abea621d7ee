package io.github.redislocks.waiting;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.redis.ServerTimes;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.Hold;
import org.jspecify.annotations.Nullable;

/**
 * An attempt on its way to a hold. {@link #step} decides what to do next. A driver does it, and passes the outcome of
 * each request back. In short:
 *
 * <pre>
 *   verdict: a grant    settle: HELD ends the acquisition, OPEN pauses, LAPSED goes on without the grant
 *   verdict: a failure  leave the queue and Redis, and throw
 *   no verdict          ask, leave or pause
 * </pre>
 *
 * <p>An attempt leaves by setting its verdict. So a grant that comes at the same moment is either used by the caller or
 * passed on to the next waiter: exactly one of the two.
 */
public abstract class Acquisition {

    protected final Attempt attempt;
    private final Settlements.Settlement settlement;
    /** The earliest time of the next request. */
    protected long askAtNanos;
    /** The deadline of the request whose outcome is not known yet; null if there is none. */
    private ServerTimes.@Nullable Date underWay;

    protected Acquisition(Attempt attempt, Settlements.Settlement settlement) {
        this.attempt = attempt;
        this.settlement = settlement;
    }

    /** Begins the attempt. Called before the first step. */
    protected abstract void begin();

    /** Returns what to do for an attempt that has no hold: a result of {@link Step#next}. */
    protected abstract long next(Attempt.@Nullable Verdict verdict, long now);

    protected abstract long timeoutNanos(long now);

    protected abstract Call call(ServerTimes.Date notAfter);

    /** Returns whether the mailbox must be open from now on, so that a message about a grant arrives. */
    protected abstract boolean answered(Reply reply, ServerTimes.Date notAfter, long sentNanos);

    protected abstract void failed(RedisException failure, ServerTimes.Date notAfter);

    /** Continues without a grant that has lapsed, or that does not count after a failover. */
    protected abstract void goOnWithout(Attempt.Grant lapsed);

    /** Notes that a request is about to be sent. */
    protected void asks() {}

    /** Throws if the attempt has left for another reason than a busy lock. */
    protected void throwIfNotBusy() throws InterruptedException {}

    protected Settlements.Result settle(Attempt.Grant grant) {
        return settlement.settle(grant);
    }

    /** Takes the next step; returns what to do next: a result of {@link Step#next}, or {@link Step#ENDED}. */
    final long step(long now) {
        Attempt.Verdict verdict = attempt.verdict();
        if (verdict instanceof Attempt.Grant grant) {
            Settlements.Result result = settle(grant);
            if (result == Settlements.Result.HELD) {
                return Step.ENDED;
            }
            if (result == Settlements.Result.LAPSED) {
                goOnWithout(grant);
                return 0;
            }
        }
        if (verdict instanceof Attempt.Failure failed) {
            throw failed.raised();
        }
        return next(verdict, now);
    }

    protected final Settlements.Settlement settlement() {
        return settlement;
    }

    /** The hold that was acquired; null if the acquisition has not ended, or the lock was busy. */
    @Nullable
    public final Hold made() {
        return settlement.made;
    }

    /** Notes the deadline of a request that is sent now. The request counts as open until {@link #heard}. */
    protected final void sends(ServerTimes.Date notAfter) {
        underWay = notAfter;
    }

    /** Notes that the outcome of the request is known. */
    protected final void heard() {
        underWay = null;
    }

    /**
     * Called after an error. Notes that the open request may have run. If a hold was made, hands it to the watchdog,
     * since no caller will get it.
     */
    protected void strand() {
        ServerTimes.Date notAfter = underWay;
        if (notAfter != null) {
            attempt.mayHaveRun(notAfter);
        }
        settlement.strand();
    }
}
