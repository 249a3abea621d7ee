package io.github.redislocks.health;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.redis.Request;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Whether a server replies to this client and executes its calls. Silence is an outage for every script, and any reply
 * ends it. A refusal is an outage only for scripts of the same kind, and a success of that kind ends it: a server with
 * full memory renews locks but grants none.
 */
public final class Availability {

    /** The kind of the calls that grant locks and places. */
    private static final String GIVE = "give";
    /** The kind of the calls that renew locks. */
    private static final String KEEP = "keep";

    /** Notified each time an outage may have started or ended, by several threads at once. */
    public interface Observer {

        /** The server has not replied since the given time, for the given reason. */
        void away(RedisException failure, long sinceNanos, long now);

        /** The server has replied. */
        void answered(long now);

        /** The server did not reply, and other servers have taken over its locks. */
        void replaced(long now);

        /** The server has replied that it cannot execute calls of this kind now. */
        void refuses(Call call, RedisException failure, long now);
    }

    private final Observer observer;
    private final long memoryNanos;
    private final long commandTimeoutNanos;
    private final Outage silence;
    /** Failures of requests whose own timeout was too short to prove that the server is away. */
    private final Outage haste;

    private final Map<String, Outage> refusals = new ConcurrentHashMap<>();
    private volatile long answeredNanos = Long.MIN_VALUE;
    private volatile long failedSentNanos = Long.MIN_VALUE;
    private volatile @Nullable RedisException cause;
    private volatile boolean replaced;

    /**
     * Makes the availability of a server that has not been asked yet.
     *
     * @param observer notified of outages
     * @param memoryNanos how long a failure is remembered
     * @param commandTimeoutNanos how long the server may take to reply
     */
    public Availability(Observer observer, long memoryNanos, long commandTimeoutNanos) {
        this.observer = observer;
        this.memoryNanos = memoryNanos;
        this.commandTimeoutNanos = commandTimeoutNanos;
        this.silence = new Outage(memoryNanos);
        this.haste = new Outage(memoryNanos);
    }

    /** The kind of a call. A script that neither grants nor renews is a kind of its own. */
    private static String kind(Call call) {
        Request request = call.request();
        if (request.wantsLock()) {
            return GIVE;
        }
        boolean renews = request instanceof Request.Renew || request == Request.OfOneServer.RENEW_ALL;
        return renews ? KEEP : call.script().name();
    }

    private void replied(long now) {
        answeredNanos = now;
        silence.end();
        haste.end();
        observer.answered(now);
    }

    /** Notes the reply to a call; does nothing if the reply is not from a server. */
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
            // An unanswered call proves no silence for the time in which other calls were answered.
            long silentSinceNanos = Math.max(sentNanos, answeredNanos);
            (ranOut || busy ? haste : silence).failed(silentSinceNanos, now);
            // This is no outage if other calls were answered meanwhile, or if this call had little time.
            boolean isCut = failure instanceof RedisException.Unanswered unanswered && unanswered.isCut();
            if (!busy && answeredNanos < sentNanos && (isCut || silence.age(now) >= commandTimeoutNanos)) {
                observer.away(failure, now - Math.max(silence.age(now), haste.age(now)), now);
                if (replaced) {
                    // The server was replaced before this report of its outage, so nobody else reports the end.
                    observer.replaced(now);
                }
            }
        }
        cause = failure;
        failedSentNanos = sentNanos;
    }

    /** Whether Redis refused the call; in a quorum, whether the first master did. */
    private static boolean isRefusal(RedisException failure) {
        return failure instanceof RedisException.Refused || failure.getCause() instanceof RedisException.Refused;
    }

    /** Notes that other servers have taken over the locks of this one. */
    public void replaced(long now) {
        replaced = true;
        observer.replaced(now);
    }

    /** Forgets everything, since the address belongs to another server now. */
    public void forget() {
        silence.end();
        haste.end();
        refusals.clear();
    }

    /** How long the server has not replied; 0 if it replies, or if no request has waited long enough to know. */
    public long silence(long now) {
        long hasty = haste.age(now);
        return Math.max(silence.age(now), hasty < commandTimeoutNanos ? 0 : hasty);
    }

    /** How long the server has granted no locks and no places; 0 if it does. */
    public long age(long now) {
        return age(GIVE, now);
    }

    /** How long the server has not executed calls of this kind; 0 if it does. */
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

    /**
     * Whether a request that was sent after {@code sinceNanos} has failed. Failures of earlier requests say nothing
     * about a call that began then.
     */
    public boolean failedSince(long sinceNanos) {
        return failedSentNanos > sinceNanos;
    }

    /** Whether any outage of the server is not over. */
    public boolean isInTrouble(long now) {
        return silence.age(now) > 0
                || haste.age(now) > 0
                || refusals.values().stream().anyMatch(refusal -> refusal.age(now) > 0);
    }

    /** The last failure because of which no lock can be acquired, or null if nothing has failed. */
    @Nullable
    public RedisException cause() {
        return cause;
    }
}
