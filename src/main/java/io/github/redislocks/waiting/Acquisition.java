package io.github.redislocks.waiting;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.redis.ServerTimes;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.Hold;
import org.jspecify.annotations.Nullable;

/**
 * An attempt on its way to a hold. {@link #step} says what to do next; a driver does it, and tells the outcome of each
 * request. In short:
 *
 * <pre>
 *   until a verdict:
 *     granted    settle: HELD ends it, OPEN pauses, LAPSED goes on without the grant
 *     failed     throw, which leaves queue and Redis
 *     undecided  ask, leave or pause
 * </pre>
 *
 * <p>Who leaves does so by setting the verdict. So a grant that comes at the same moment is either taken or passed on,
 * never both and never neither.
 */
public abstract class Acquisition {

    protected final Attempt attempt;
    private final Settlements.Settlement settlement;
    /** Not before that is Redis asked. */
    protected long askAtNanos;
    /** The date of a request whose outcome is not known yet; or null. */
    private ServerTimes.@Nullable Date underWay;

    protected Acquisition(Attempt attempt, Settlements.Settlement settlement) {
        this.attempt = attempt;
        this.settlement = settlement;
    }

    /** Begins, before the first step. */
    protected abstract void begin();

    /** Returns what to do for an attempt that has no hold: a result of {@link Step#next}. */
    protected abstract long next(Attempt.@Nullable Verdict verdict, long now);

    /** Returns how long a request may take now. */
    protected abstract long timeoutNanos(long now);

    /** Makes the call that asks for the lock now. */
    protected abstract Call call(ServerTimes.Date notAfter);

    /** Acts on the reply to that call; whether to see to it that a grant would be heard. */
    protected abstract boolean answered(Reply reply, ServerTimes.Date notAfter, long sentNanos);

    /** Acts on the failure of that call. */
    protected abstract void failed(RedisException failure, ServerTimes.Date notAfter);

    /** Continues without a grant that has lapsed, or that does not count after a failover. */
    protected abstract void goOnWithout(Attempt.Grant lapsed);

    /** Notes that a request is about to be sent. */
    protected void asks() {}

    /** Throws if the attempt has left for another reason than that the lock was busy. */
    protected void throwIfNotBusy() throws InterruptedException {}

    /** Turns a grant into a hold if possible. */
    protected Settlements.Result settle(Attempt.Grant grant) {
        return settlement.settle(grant);
    }

    /** Goes one step on; returns what to do next: a result of {@link Step#next}, or {@link Step#ENDED}. */
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

    /** The hold that it came to; null if it has not ended or was busy. */
    @Nullable
    public final Hold made() {
        return settlement.made;
    }

    /** Notes the date of a request that is sent now, until {@link #heard}. */
    protected final void sends(ServerTimes.Date notAfter) {
        underWay = notAfter;
    }

    /** Notes that the outcome of the request is known. */
    protected final void heard() {
        underWay = null;
    }

    /** After an error: a request may have run, and the watchdog ends a hold that nobody will be given. */
    protected void strand() {
        ServerTimes.Date notAfter = underWay;
        if (notAfter != null) {
            attempt.mayHaveRun(notAfter);
        }
        settlement.strand();
    }
}
