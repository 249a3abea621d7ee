package io.github.redislocks.script;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.redis.Request;
import io.github.redislocks.redis.Script;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Settings;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;

/**
 * A Redis that keeps last tokens for another time than the default, which is written into the scripts: it runs copies
 * of them in which that time stands, and what follows from it. A client that keeps the default runs the scripts
 * themselves.
 */
public final class TokenMemory implements Redis {

    private final Redis redis;
    private final long millis;
    private final ConcurrentMap<Script, Script> copies = new ConcurrentHashMap<>();

    private TokenMemory(Redis redis, long millis) {
        this.redis = redis;
        this.millis = millis;
    }

    /** The Redis itself, if tokens are kept for the default. */
    public static Redis of(Redis redis, Duration memory) {
        return memory.equals(Settings.DEFAULT_TOKEN_MEMORY) ? redis : new TokenMemory(redis, memory.toMillis());
    }

    /** How often a hold's renewals refresh the memory of its token, in seconds. */
    public static int refreshSeconds(Duration memory) {
        return (int) Math.max(1, Math.min(3_600, memory.toSeconds() / 10));
    }

    /**
     * A script as it is to be run. Three numbers of the scripts follow from the time M, which has k + 1 digits in ms: a
     * lease of more than k - 1 digits, so more than a tenth of M, is added to M; and the fence of a lock that is taken
     * again and again is refreshed when the first 14 - k digits of its token change, which is every tenth of M too.
     */
    public static String source(String source, long millis) {
        int power = Long.toString(millis).length() - 1;
        // In this order: the time itself may be what the other number is.
        return source.replaceAll("\\b10000000\\b", "1" + "0".repeat(power - 1))
                .replaceAll("\\b100000000\\b", Long.toString(millis))
                .replaceAll("> 7\\b", "> " + (power - 1))
                .replaceAll("1, 6\\)", "1, " + (14 - power) + ")");
    }

    private Call with(Call call) {
        Script copy =
                copies.computeIfAbsent(call.script(), script -> script.rewritten(source(script.source(), millis)));
        List<String> keys = call.keys();
        // Those that keep one hold refresh the memory of its token only if they name its key.
        if (keys.size() == 1 && call.request() instanceof Request.Keeping) {
            keys = List.of(keys.get(0), new LockKeys(keys.get(0)).fence());
        }
        return new Call(call.request(), copy, keys, call.args(), call.acks(), call.date());
    }

    @Override
    public Reply run(Call call, long timeoutNanos) {
        return redis.run(with(call), timeoutNanos);
    }

    @Override
    public List<Outcome> runAll(List<Call> calls, long timeoutNanos) {
        return redis.runAll(calls.stream().map(this::with).toList(), timeoutNanos);
    }

    @Override
    public Subscription subscribe(String channel, long timeoutNanos) {
        return redis.subscribe(channel, timeoutNanos);
    }

    @Override
    public void publish(String channel, String message, long timeoutNanos) {
        redis.publish(channel, message, timeoutNanos);
    }

    @Override
    public void find(String key, long timeoutNanos) {
        redis.find(key, timeoutNanos);
    }

    @Override
    public void onMoved(Runnable listener) {
        redis.onMoved(listener);
    }

    @Override
    public boolean hasLines() {
        return redis.hasLines();
    }

    @Override
    public boolean hasOneSlot() {
        return redis.hasOneSlot();
    }

    @Override
    public long memoryMillis() {
        return redis.memoryMillis();
    }

    @Override
    public List<? extends Redis> servers() {
        return redis.servers();
    }

    @Override
    public List<String> mastersOfSentinel(long timeoutNanos) {
        return redis.mastersOfSentinel(timeoutNanos);
    }

    @Override
    public String serverOf(String key) {
        return redis.serverOf(key);
    }

    @Override
    public String address() {
        return redis.address();
    }

    @Override
    public void close() {
        redis.close();
    }
}
