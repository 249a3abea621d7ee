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
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A Redis that remembers tokens for a configured time. The scripts contain the default time; this class runs copies
 * that contain the configured time, and the numbers that are computed from it.
 */
public final class TokenMemory implements Redis {

    private final Redis redis;
    private final long millis;
    private final ConcurrentMap<Script, Script> copies = new ConcurrentHashMap<>();

    private TokenMemory(Redis redis, long millis) {
        this.redis = redis;
        this.millis = millis;
    }

    /** Wraps a Redis; returns the Redis itself if tokens are kept for the default time. */
    public static Redis of(Redis redis, Duration memory) {
        return memory.equals(Settings.DEFAULT_TOKEN_MEMORY) ? redis : new TokenMemory(redis, memory.toMillis());
    }

    /** The time in seconds after which a renewal of a hold refreshes the fence key. */
    public static int refreshSeconds(Duration memory) {
        return (int) Math.max(1, Math.min(3_600, memory.toSeconds() / 10));
    }

    /**
     * Rewrites a script so that it remembers tokens for M ms. M is a number of k + 1 digits; three numbers in the
     * scripts are computed from M. A lease of more than k - 1 digits is added to M, so every lease longer than a tenth
     * of M is added. The fence of a lock that is taken again and again is refreshed when the first 14 - k digits of its
     * token change, about once in a tenth of M.
     */
    public static String source(String source, long millis) {
        int power = Long.toString(millis).length() - 1;
        // Replace 10000000 first: the configured time, which replaces the greater number, may be 10000000 itself.
        return source.replaceAll("\\b10000000\\b", "1" + "0".repeat(power - 1))
                .replaceAll("\\b100000000\\b", Long.toString(millis))
                .replaceAll("> 7\\b", "> " + (power - 1))
                .replaceAll("1, 6\\)", "1, " + (14 - power) + ")");
    }

    private Call with(Call call) {
        Script copy =
                copies.computeIfAbsent(call.script(), script -> script.rewritten(source(script.source(), millis)));
        List<String> keys = call.keys();
        // A script that renews one hold refreshes the fence only if the call names the fence's key.
        if (keys.size() == 1 && call.request() instanceof Request.Keeping) {
            keys = List.of(keys.get(0), new LockKeys(keys.get(0)).fence());
        }
        return call.with(copy, keys, call.args());
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
    public boolean submit(
            String server, List<Call> calls, long timeoutNanos, Consumer<@Nullable List<Outcome>> receiver) {
        return redis.submit(server, calls.stream().map(this::with).toList(), timeoutNanos, receiver);
    }

    @Override
    public void connectQuickly(long timeoutNanos) {
        redis.connectQuickly(timeoutNanos);
    }

    @Override
    public Subscription subscribe(String channel, long timeoutNanos) {
        return redis.subscribe(channel, timeoutNanos);
    }

    @Override
    public Subscription watch(String channel, Watcher watcher, long timeoutNanos) {
        return redis.watch(channel, watcher, timeoutNanos);
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
    public int connections() {
        return redis.connections();
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
