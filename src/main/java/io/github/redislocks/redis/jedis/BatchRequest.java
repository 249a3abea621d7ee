package io.github.redislocks.redis.jedis;

import io.github.redislocks.redis.Acks;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.redis.Script;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.exceptions.JedisNoScriptException;

/** Calls that are written together, in chunks, and answered in their order. Each call has its own outcome. */
public final class BatchRequest extends TimedRequest<Boolean> {

    public static final int CHUNK = 500;

    /**
     * The most characters of a brief batch. A character has 3 bytes at most, so a brief batch fits into a socket buffer
     * of 64 KiB.
     */
    private static final int BRIEF_CHARS = 8_192;
    /** The number of characters of a call beside its keys and arguments: the command, the digest, and lengths. */
    private static final int CHARS_OF_A_CALL = 128;

    /**
     * The most passes: the first by digest; the second with the source of each unknown script; the third if the server
     * has forgotten a script meanwhile.
     */
    private static final int PASSES = 3;

    private final Endpoint endpoint;
    private final List<Call> calls;
    private final @Nullable Tracking tracking;
    private final boolean asking;
    private final AtomicReferenceArray<@Nullable Outcome> outcomes;
    private volatile int sent;
    /** Whether the server is to watch the keys that renewals read. Used by the sending thread only. */
    private boolean watching;

    /** @param tracking null to watch no key, and to send ASKING before each call */
    public BatchRequest(
            Endpoint endpoint, ConnectionPool lane, long timeoutNanos, List<Call> calls, @Nullable Tracking tracking) {
        super(endpoint, lane, timeoutNanos);
        this.tracking = tracking;
        this.asking = tracking == null;
        this.endpoint = endpoint;
        this.calls = calls;
        this.outcomes = new AtomicReferenceArray<>(calls.size());
    }

    @Override
    public String what() {
        return calls.size() == 1 ? calls.get(0).script().name() : "a batch of " + calls.size();
    }

    /** The outcomes, of which one without a reply is a failure. Throws no failure. */
    public List<Outcome> outcomes() {
        RedisException failure = null;
        try {
            perform(!asking && isBrief(calls));
        } catch (RedisException e) {
            failure = e;
        }
        Outcome unanswered = failure == null ? null : Outcome.of(failure);
        Outcome unsent = unanswered;
        if (failure instanceof RedisException.Unanswered some && some.sent()) {
            unsent = Outcome.of(new RedisException.Unanswered(String.valueOf(some.getMessage()), false, some));
        }
        List<Outcome> result = new ArrayList<>(calls.size());
        int sentNow = sent;
        for (int i = 0; i < calls.size(); i++) {
            Outcome outcome = outcomes.get(i);
            Outcome instead = i < sentNow ? unanswered : unsent;
            if (outcome == null && instead == null) {
                throw new IllegalStateException("Call " + i + " has no outcome");
            }
            result.add(outcome != null ? outcome : instead);
        }
        return result;
    }

    /**
     * Whether the calling thread may send the batch, which saves two wake-ups. The requests must fit into the socket's
     * buffers, so that the thread does not hang if the server reads nothing.
     */
    private static boolean isBrief(List<Call> calls) {
        long chars = 0;
        for (Call call : calls) {
            chars += CHARS_OF_A_CALL;
            for (String key : call.keys()) {
                chars += key.length();
            }
            for (String argument : call.args()) {
                chars += argument.length();
            }
            if (chars > BRIEF_CHARS) {
                return false;
            }
        }
        return true;
    }

    @Override
    public Boolean on(PooledConnection link) {
        watching = tracking != null && tracking.isOn(link);
        List<Integer> open = new ArrayList<>();
        for (int i = 0; i < calls.size(); i++) {
            // A call that needs confirmations by replicas is sent again on a new connection, even if it was answered:
            // WAIT counts only the writes of its own connection.
            if (outcomes.get(i) == null || calls.get(i).acks() != null) {
                open.add(i);
            }
        }
        for (int pass = 1; !open.isEmpty() && pass <= PASSES; pass++) {
            open = pass(link, open, pass);
        }
        confirm(link);
        return true;
    }

    /** Waits once, after all calls, for the confirmations by replicas. */
    private void confirm(PooledConnection link) {
        Acks acks = null;
        for (int i = 0; i < calls.size() && acks == null; i++) {
            acks = calls.get(i).acks();
        }
        if (acks == null) {
            return;
        }
        link.send(Commands.awaitAcks(acks, leftNanos()));
        Object answer = link.answers(1).get(0);
        for (int i = 0; i < calls.size(); i++) {
            Outcome outcome = outcomes.get(i);
            if (calls.get(i).acks() != null && outcome != null && outcome.reply() != null) {
                outcomes.set(i, confirmed(calls.get(i), outcome.reply(), answer));
            }
        }
    }

    private static Outcome confirmed(Call call, Reply reply, @Nullable Object answer) {
        try {
            return Outcome.of(Commands.confirmed(call, reply, answer));
        } catch (RedisException.Unanswered notWaited) {
            return Outcome.of(notWaited);
        }
    }

    /** Sends the given calls. Returns those whose script the server does not know. */
    private List<Integer> pass(PooledConnection link, List<Integer> open, int pass) {
        List<Integer> unknown = new ArrayList<>();
        Set<Script> loaded = new HashSet<>();
        for (int from = 0; from < open.size(); from += CHUNK) {
            List<Integer> chunk = open.subList(from, Math.min(open.size(), from + CHUNK));
            // Write `sent` before the chunk is sent: a caller that gives up cuts the connection, and then reads `sent`.
            sent = Math.max(sent, chunk.get(chunk.size() - 1) + 1);
            // The index of the call for each expected answer; null for the answer to a command before a call.
            List<@Nullable Integer> order = new ArrayList<>();
            for (int index : chunk) {
                Call call = calls.get(index);
                if (asking || (watching && call.request().renews())) {
                    link.send(asking ? Commands.asking() : Commands.remember());
                    order.add(null);
                }
                boolean load = pass > 1 && loaded.add(call.script());
                String to = endpoint.address();
                link.send(load ? Commands.eval(call, to) : Commands.evalsha(call, to));
                order.add(index);
            }
            List<Object> answers = link.answers(order.size());
            for (int i = 0; i < answers.size(); i++) {
                Integer index = order.get(i);
                if (index == null) {
                    continue;
                }
                if (answers.get(i) instanceof JedisNoScriptException && pass < PASSES) {
                    unknown.add(index);
                } else {
                    outcomes.set(index, endpoint.outcome(calls.get(index), answers.get(i), resent()));
                }
            }
        }
        return unknown;
    }
}
