package io.github.redislocks;

import static io.github.redislocks.fixture.twin.Verbs.verb;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.script.Inspections;
import io.github.redislocks.state.LockKeys;
import java.util.ArrayList;
import java.util.List;

/** A Redis that breaks one promise on purpose, below the real client, for the tests that must fail. */
final class Tampered implements Redis {

    /** Runs a call in a wrong way. */
    @FunctionalInterface
    interface Tampering {
        Reply run(Redis honest, Call call, long timeoutNanos);
    }

    private final Redis honest;
    private final Tampering tampering;

    Tampered(Redis honest, Tampering tampering) {
        this.honest = honest;
        this.tampering = tampering;
    }

    /** Grants the lock to each caller, even if another has it. */
    static Redis withoutExclusion(Redis honest) {
        return new Tampered(honest, (redis, call, timeout) -> {
            Reply reply = redis.run(call, timeout);
            return reply.is("BUSY") || reply.is("QUEUED") ? new Reply("OK", List.of(1L, 0L)) : reply;
        });
    }

    /** Grants the lock to each caller that has seen it free, even if another caller has taken it since. */
    static Redis lookingFirst(Redis honest) {
        return new Tampered(honest, (redis, call, timeout) -> {
            if (!verb("acquire").test(call)) {
                return redis.run(call, timeout);
            }
            boolean free = redis.run(Inspections.locked(keysOf(call)), timeout).is("FREE");
            Reply reply = redis.run(call, timeout);
            return free && !reply.is("OK") ? new Reply("OK", List.of(1L, 0L)) : reply;
        });
    }

    /** The keys of the lock that a call is about. */
    static LockKeys keysOf(Call call) {
        String key = call.keys().get(0);
        return OnTwin.keys(key.substring(key.indexOf('{') + 1, key.indexOf('}')));
    }

    /** Answers the calls of a script without running them. */
    static Redis without(Redis honest, String script, String answer) {
        return new Tampered(
                honest,
                (redis, call, timeout) ->
                        call.script().name().equals(script) ? new Reply(answer, List.of()) : redis.run(call, timeout));
    }

    @Override
    public Reply run(Call call, long timeoutNanos) {
        return tampering.run(honest, call, timeoutNanos);
    }

    @Override
    public List<Outcome> runAll(List<Call> calls, long timeoutNanos) {
        List<Outcome> outcomes = new ArrayList<>();
        for (Call call : calls) {
            try {
                outcomes.add(Outcome.of(run(call, timeoutNanos)));
            } catch (RedisException e) {
                outcomes.add(Outcome.of(e));
            }
        }
        return outcomes;
    }

    @Override
    public Subscription subscribe(String channel, long timeoutNanos) {
        return honest.subscribe(channel, timeoutNanos);
    }

    @Override
    public void publish(String channel, String message, long timeoutNanos) {
        honest.publish(channel, message, timeoutNanos);
    }

    @Override
    public String address() {
        return honest.address();
    }

    @Override
    public void close() {
        honest.close();
    }
}
