package io.github.redislocks.health;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Request;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Whether a server answers this client, and does what it is asked. Silence is an outage of everything, and any answer
 * ends it. A refusal is an outage of its kind of script alone, which a success of that kind ends: a full server renews
 * locks but gives none.
 */
public final class Availability {

    /** The kind of the calls that give locks and places. */
    private static final String GIVE = "give";
    /** The kind of the calls that keep locks. */
    private static final String KEEP = "keep";

    /** Is told of outages, each time that one may have begun or ended, by many threads at once. Throws nothing. */
    public interface Witness {

        /** It does not answer, since a time; why not. */
        void away(RedisException failure, long sinceNanos, long now);

        /** It has answered. */
        void heard(long now);

        /** It has not answered, and is not asked any more: others do what it did. */
        void replaced(long now);

        /** It answers that it cannot do such a call now. */
        void refuses(Call call, RedisException failure, long now);
    }

    private final Witness witness;
    private final long memoryNanos;
    private final long commandTimeoutNanos;
    private final Outage silence;
    /** Of requests whose own time was too short to say that the server is away. */
    private final Outage haste;

    private final Map<String, Outage> refusals = new ConcurrentHashMap<>();
    private volatile long answeredNanos = Long.MIN_VALUE;
    private volatile long failedSentNanos = Long.MIN_VALUE;
    private volatile @Nullable RedisException cause;

    /**
     * Of a server of which nothing is known.
     *
     * @param witness told of outages
     * @param memoryNanos for how long a failure is remembered
     * @param commandTimeoutNanos how long it may take to answer
     */
    public Availability(Witness witness, long memoryNanos, long commandTimeoutNanos) {
        this.witness = witness;
        this.memoryNanos = memoryNanos;
        this.commandTimeoutNanos = commandTimeoutNanos;
        this.silence = new Outage(memoryNanos);
        this.haste = new Outage(memoryNanos);
    }

    /** Each other script is a kind of its own. */
    private static String kind(Call call) {
        Request request = call.request();
        if (request.wantsLock()) {
            return GIVE;
        }
        boolean renews = request instanceof Request.Renew || request == Request.OfOneServer.RENEW_ALL;
        return renews ? KEEP : call.script().name();
    }

    private void heard(long now) {
        answeredNanos = now;
        silence.end();
        haste.end();
        witness.heard(now);
    }

    /** Notes that a call was answered. */
    public void answered(Call call, long now) {
        heard(now);
        Outage refusal = refusals.isEmpty() ? null : refusals.get(kind(call));
        if (refusal != null) {
            refusal.end();
        }
    }

    /** Notes a failure of a call that was sent at a time, to be answered within a timeout. */
    public void failed(Call call, RedisException failure, long sentNanos, long timeoutNanos, long now) {
        if (isRefusal(failure)) {
            heard(now);
            refusals.computeIfAbsent(kind(call), first -> new Outage(memoryNanos))
                    .failed(sentNanos, now);
            witness.refuses(call, failure, now);
            if (!kind(call).equals(GIVE)) {
                return;
            }
        } else {
            boolean busy = failure instanceof RedisException.Unanswered unsent && unsent.busy();
            boolean ranOut = now - sentNanos >= timeoutNanos && timeoutNanos < commandTimeoutNanos;
            // One call that waits in vain says nothing of the time in which others were answered.
            long silentSinceNanos = Math.max(sentNanos, answeredNanos);
            (ranOut || busy ? haste : silence).failed(silentSinceNanos, now);
            // Nor do others that were answered meanwhile, nor one whose caller had little time.
            boolean isCut = failure instanceof RedisException.Unanswered unanswered && unanswered.isCut();
            if (!busy && answeredNanos < sentNanos && (isCut || silence.age(now) >= commandTimeoutNanos)) {
                witness.away(failure, now - Math.max(silence.age(now), haste.age(now)), now);
            }
        }
        cause = failure;
        failedSentNanos = sentNanos;
    }

    /** Whether Redis said no, or the first of a quorum's masters did. */
    private static boolean isRefusal(RedisException failure) {
        return failure instanceof RedisException.Refused || failure.getCause() instanceof RedisException.Refused;
    }

    /** Notes that nobody asks the server any more. */
    public void replaced(long now) {
        witness.replaced(now);
    }

    /** Forgets what is known: it is another server now. */
    public void forget() {
        silence.end();
        haste.end();
        refusals.clear();
    }

    /** How long nothing has been answered; 0 if it answers, or if nobody has waited for long enough to tell. */
    public long silence(long now) {
        long hasty = haste.age(now);
        return Math.max(silence.age(now), hasty < commandTimeoutNanos ? 0 : hasty);
    }

    /** How long no lock could be had of it, or no place in line; 0 if they can. */
    public long age(long now) {
        return age(GIVE, now);
    }

    /** How long such a call has not been done; 0 if it would be. */
    public long age(Call call, long now) {
        return age(kind(call), now);
    }

    private long age(String kind, long now) {
        Outage refusal = refusals.get(kind);
        return Math.max(silence(now), refusal == null ? 0 : refusal.age(now));
    }

    /** Whether it has answered anything since a time. */
    public boolean answeredSince(long nanos) {
        return answeredNanos >= nanos;
    }

    /** Whether a request that was sent since a time has failed; an earlier failure says nothing about a later call. */
    public boolean failedSince(long sinceNanos) {
        return failedSentNanos > sinceNanos;
    }

    /** Whether anything of it is an outage that is not over. */
    public boolean isInTrouble(long now) {
        return silence.age(now) > 0
                || haste.age(now) > 0
                || refusals.values().stream().anyMatch(refusal -> refusal.age(now) > 0);
    }

    /** Why no lock can be had, or null if nothing has failed. */
    @Nullable
    public RedisException cause() {
        return cause;
    }
}
