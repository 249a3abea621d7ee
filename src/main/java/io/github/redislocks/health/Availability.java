package io.github.redislocks.health;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.redis.Request;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Whether a server replies to this client and executes its calls. There are two sorts of outages. While the server is
 * silent, no script runs; any reply ends this outage. While the server refuses a kind of scripts, scripts of other
 * kinds run: a server with full memory renews locks but grants none. A success of the refused kind ends this outage.
 */
public final class Availability {

    /** The kind of the calls that grant locks and places in the queue. */
    private static final String GIVE = "give";
    /** The kind of the calls that renew locks. */
    private static final String KEEP = "keep";

    /** Notified each time an outage may have started or ended. Several threads may call it at once. */
    public interface Observer {

        /** The server has not replied since {@code sinceNanos}; {@code failure} says why. */
        void away(RedisException failure, long sinceNanos, long now);

        /** The server has replied. */
        void answered(long now);

        /** Other servers have taken over the locks of the server. */
        void replaced(long now);

        /** The server has replied that it cannot execute calls of this call's kind now. */
        void refuses(Call call, RedisException failure, long now);
    }

    private final Observer observer;
    private final long memoryNanos;
    private final long commandTimeoutNanos;
    private final Outage silence;
    /** Failures of requests whose timeout was too short to prove that the server is away. */
    private final Outage haste;

    private final Map<String, Outage> refusals = new ConcurrentHashMap<>();
    private volatile long answeredNanos = Long.MIN_VALUE;
    private volatile long failedSentNanos = Long.MIN_VALUE;
    private volatile @Nullable RedisException cause;
    private volatile boolean replaced;

    /**
     * Makes the availability of a server to which no request was sent yet.
     *
     * @param observer notified of outages
     * @param memoryNanos how long a failure counts
     * @param commandTimeoutNanos how long the server may take to reply
     */
    public Availability(Observer observer, long memoryNanos, long commandTimeoutNanos) {
        this.observer = observer;
        this.memoryNanos = memoryNanos;
        this.commandTimeoutNanos = commandTimeoutNanos;
        this.silence = new Outage(memoryNanos);
        this.haste = new Outage(memoryNanos);
    }

    /** The kind of a call. Each script that neither grants nor renews is a kind of its own. */
    private static String kind(Call call) {
        Request request = call.request();
        if (request.wantsLock()) {
            return GIVE;
        }
        boolean renews = request instanceof Request.Renew
                || request == Request.OfOneServer.RENEW_ALL
                || request == Request.OfOneServer.RENEW_SHARES;
        return renews ? KEEP : call.script().name();
    }

    private void replied(long now) {
        answeredNanos = now;
        silence.end();
        haste.end();
        observer.answered(now);
    }

    /** Notes the reply to a call. Does nothing if the reply comes from the client itself. */
    public void answered(Call call, Reply reply, long now) {
        if (!reply.is(Reply.UNASKED)) {
            answered(call, now);
        }
    }

    /** Notes that a call was answered. */
    public void answered(Call call, long now) {
        replied(now);
        Outage refusal = refusals.isEmpty() ? null : refusals.get(kind(call));
        if (refusal != null) {
            refusal.end();
        }
    }

    /** Notes the failure of a call that was sent at the given time and had the given timeout. */
    public void failed(Call call, RedisException failure, long sentNanos, long timeoutNanos, long now) {
        if (isRefusal(failure)) {
            replied(now);
            refusals.computeIfAbsent(kind(call), first -> new Outage(memoryNanos))
                    .failed(sentNanos, now);
            observer.refuses(call, failure, now);
            if (!kind(call).equals(GIVE)) {
                return;
            }
        } else {
            boolean busy = failure instanceof RedisException.Unanswered unsent && unsent.busy();
            boolean ranOut = now - sentNanos >= timeoutNanos && timeoutNanos < commandTimeoutNanos;
            // If another call was answered after this one was sent, this one proves silence only since that answer.
            long silentSinceNanos = Math.max(sentNanos, answeredNanos);
            (ranOut || busy ? haste : silence).failed(silentSinceNanos, now);
            // Report an outage only if the call did not fail for lack of a free connection, and no call has been
            // answered
            // since this call was sent. In addition, connecting must have failed, or the connection have broken, or the
            // server have been silent for commandTimeout. The failure of a call with little time is no silence.
            boolean isCut = failure instanceof RedisException.Unanswered unanswered && unanswered.isCut();
            if (!busy && answeredNanos < sentNanos && (isCut || silence.age(now) >= commandTimeoutNanos)) {
                observer.away(failure, now - Math.max(silence.age(now), haste.age(now)), now);
                if (replaced) {
                    // The server was replaced before the report of its outage. Report the end here, since nobody else
                    // will.
                    observer.replaced(now);
                }
            }
        }
        cause = failure;
        failedSentNanos = sentNanos;
    }

    /** Whether Redis refused the call. Of a quorum, the failure of its first master decides. */
    private static boolean isRefusal(RedisException failure) {
        return failure instanceof RedisException.Refused || failure.getCause() instanceof RedisException.Refused;
    }

    /** Notes that other servers have taken over the locks of this server. */
    public void replaced(long now) {
        replaced = true;
        observer.replaced(now);
    }

    /** Forgets all outages, since another server has the address now. */
    public void forget() {
        silence.end();
        haste.end();
        refusals.clear();
    }

    /** How long the server has been silent; 0 if it replies, or if no request has waited long enough to know. */
    public long silence(long now) {
        long hasty = haste.age(now);
        return Math.max(silence.age(now), hasty < commandTimeoutNanos ? 0 : hasty);
    }

    /** How long the server has not granted locks and places; 0 if it grants them. */
    public long age(long now) {
        return age(GIVE, now);
    }

    /** How long the server has not executed calls of this call's kind; 0 if it executes them. */
    public long age(Call call, long now) {
        return age(kind(call), now);
    }

    private long age(String kind, long now) {
        Outage refusal = refusals.get(kind);
        return Math.max(silence(now), refusal == null ? 0 : refusal.age(now));
    }

    /** Whether the server has replied since the given time. */
    public boolean answeredSince(long nanos) {
        return answeredNanos >= nanos;
    }

    /** Whether a request that was sent after {@code sinceNanos} has failed. */
    public boolean failedSince(long sinceNanos) {
        return failedSentNanos > sinceNanos;
    }

    /** Whether the server has an outage of any kind. */
    public boolean isInTrouble(long now) {
        return silence.age(now) > 0
                || haste.age(now) > 0
                || refusals.values().stream().anyMatch(refusal -> refusal.age(now) > 0);
    }

    /** The last failure that says why no lock can be acquired; null if there is none. */
    @Nullable
    public RedisException cause() {
        return cause;
    }
}
