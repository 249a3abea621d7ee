package io.github.redislocks.redis.cluster;

import io.github.redislocks.redis.Address;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.ErrorReply;
import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.redis.SingleServer;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * A call to a cluster. It goes from node to node until one runs it or its time is over. These replies and failures show
 * that the node has not run the call, so that the call can safely go to another node:
 *
 * <pre>
 * MOVED          another node has the slot      ask for the slot's master, and send it there
 * ASK            these keys have moved already  send it to the importing node, which runs it after ASKING
 * TRYAGAIN       the keys are at both nodes     wait a little
 * CLUSTERDOWN    no master has the slot         ask for the slot's master
 * closed         the master was replaced        send it to the new master, if it had not been sent yet
 * </pre>
 */
public final class RedirectedCall {

    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(5);
    private static final int LONGEST_PAUSE = 8;
    /** How long a call waits, before each further try, for a node to name the master of its slot. */
    private static final long NEWS_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private final ClusterMasters masters;
    private final Call call;
    private final int slot;
    private final long timeoutNanos;
    private final long deadline;
    private @Nullable SingleServer server;
    private @Nullable SingleServer importer;
    private @Nullable Outcome outcome;
    private boolean asking;
    private boolean wantsNews;
    private boolean resent;
    private boolean turnedAway;
    private boolean done;
    private int trips;

    public RedirectedCall(ClusterMasters masters, Call call, long timeoutNanos) {
        this.masters = masters;
        this.call = call;
        this.slot = masters.slotOf(call.keys().get(0));
        this.timeoutNanos = timeoutNanos;
        this.deadline = System.nanoTime() + timeoutNanos;
    }

    public Call call() {
        return call;
    }

    public long left() {
        return Math.max(1, deadline - System.nanoTime());
    }

    /** The server to which to send the call next. Throws if no master of the slot is known by the deadline. */
    public SingleServer next() {
        SingleServer to = importer;
        asking = to != null;
        importer = null;
        if (to == null) {
            try {
                to = masters.owner(slot, deadline);
            } catch (RedisException.Unanswered nobody) {
                throw resent
                        ? new RedisException.Unanswered(String.valueOf(nobody.getMessage()), true, nobody)
                        : nobody;
            }
        }
        server = to;
        return to;
    }

    /** Whether the next node needs an ASKING before the call. */
    public boolean isAsking() {
        return asking;
    }

    /** Notes the outcome at one node. Returns true if the call is done. */
    public boolean settle(Outcome of) {
        RedisException failure = of.failure();
        SingleServer from = server;
        turnedAway = failure != null && from != null && goesOn(failure, from);
        if (from != null) {
            masters.note(from, turnedAway ? null : failure);
        }
        outcome = of;
        done = !turnedAway || deadline - System.nanoTime() <= 0;
        return done;
    }

    /** Completes the call with a failure: no master of the slot is known. */
    public void fail(RedisException nobody) {
        outcome = Outcome.of(nobody);
        turnedAway = false;
        done = true;
    }

    public boolean isDone() {
        return done;
    }

    public boolean wantsNews() {
        return wantsNews;
    }

    private boolean goesOn(RedisException failure, SingleServer from) {
        wantsNews = false;
        if (failure.getCause() instanceof ErrorReply refusal) {
            String text = String.valueOf(refusal.getMessage());
            boolean moved = text.startsWith("MOVED ");
            boolean passing = text.startsWith("TRYAGAIN") || text.startsWith("CLUSTERDOWN");
            if (moved && !asking) {
                masters.denied(slot, from);
            }
            wantsNews = moved || text.startsWith("CLUSTERDOWN");
            if (text.startsWith("ASK ")) {
                Address target = Address.parse(text.substring(text.lastIndexOf(' ') + 1));
                importer = masters.importer(complete(target, from));
            }
            boolean again = moved || passing || importer != null;
            // Note that a copy may have run: if the next copy is refused, that says nothing about this copy.
            resent |= again && failure instanceof RedisException.Unanswered;
            return again;
        }
        return failure instanceof RedisException.Unanswered lost && !lost.sent() && masters.owner(slot) != from;
    }

    /** Adds the host to an address without one: then the node has the host of the node that replied. */
    private static Address complete(Address target, SingleServer from) {
        return ClusterView.isUnknown(target.host())
                ? new Address(Address.parse(from.address()).host(), target.port())
                : target;
    }

    /** Waits before the next try if the last outcome requires a pause. */
    public void pause() {
        trips++;
        if (wantsNews) {
            masters.awaitNews(Math.min(deadline, System.nanoTime() + NEWS_NANOS));
        }
        if (importer == null && (!wantsNews || trips > 1)) {
            // Clear the interrupt flag until the pause is over: with the flag set, parkNanos() returns at once.
            boolean interrupted = Thread.interrupted();
            LockSupport.parkNanos(this, Math.min(left(), PAUSE_NANOS * Math.min(trips, LONGEST_PAUSE)));
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** The reply, or the failure as an exception. */
    public Reply result() {
        Outcome of = outcome();
        if (of.failure() != null) {
            throw of.failure();
        }
        return Objects.requireNonNull(of.reply());
    }

    /**
     * The outcome of the call. If the call was redirected until its time was over, the outcome is a failure without a
     * run.
     */
    public Outcome outcome() {
        Outcome last = outcome;
        if (last == null) {
            throw new IllegalStateException("The call has not been sent");
        }
        RedisException failure = last.failure();
        Reply reply = last.reply();
        if (reply != null) {
            return resent ? Outcome.of(reply.resentOnce()) : last;
        }
        if (failure != null && (turnedAway || (resent && failure instanceof RedisException.Refused))) {
            String text = "No node of " + masters.cluster() + " took " + call.script() + " within "
                    + timeoutNanos / 1_000_000 + " ms: " + failure.getMessage();
            return Outcome.of(new RedisException.Unanswered(text, resent, failure));
        }
        return last;
    }
}
