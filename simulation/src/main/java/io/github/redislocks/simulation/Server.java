package io.github.redislocks.simulation;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.testkit.twin.InMemoryRedis;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/**
 * The server that all clients of a schedule use: the in-memory Redis of the test kit, its faults, and what was seen
 * there.
 */
final class Server {

    private static final String PREFIX = "redis-locks";
    /** Longer than each lease that callers name, and any pause of a client. */
    private static final long LEARNED_NANOS = 9_000_000_000L;

    final InMemoryRedis redis;
    private final World world;
    private final List<String> names;
    /** Until when each lock has, or had, an owner in Redis, by the true time. */
    private final Map<String, Long> ownedUntil = new HashMap<>();
    /** The first token that was not given yet when exclusion was last broken by what happened to a lock. */
    private final Map<String, Long> brokenBelow = new HashMap<>();
    /** How many callers force the lock now. */
    private final Map<String, Integer> forcing = new HashMap<>();
    /** When that was, by the true time. */
    private final Map<String, Long> brokenAt = new HashMap<>();

    private long pausedUntil;
    private long fullUntil;
    private long steppedMicros;
    private boolean clockWentBack;
    private boolean forgot;

    Server(World world, List<String> names) {
        this.world = world;
        this.names = names;
        this.redis = new InMemoryRedis(() -> World.START_MICROS + world.now() / 1000);
    }

    /** The time by the server's clock, in microseconds. */
    long micros() {
        return World.START_MICROS + world.now() / 1000 + steppedMicros;
    }

    /** For how long from now the server does not answer. */
    long pausedNanos() {
        return Math.max(0, pausedUntil - world.now());
    }

    void meets(Fault fault) {
        switch (fault.kind()) {
            case PAUSE_SERVER -> pausedUntil = world.now() + fault.nanos();
            case FILL_MEMORY -> fullUntil = world.now() + fault.nanos();
            case CLOCK_BACK -> {
                step(-fault.nanos());
                clockWentBack = true;
            }
            case CLOCK_FORWARD -> {
                step(fault.nanos());
                names.forEach(this::broken);
            }
            case FLUSH -> {
                forgets();
                redis.flushAll();
            }
            case RESTART_EMPTY -> {
                forgets();
                redis.restart();
            }
            default -> {}
        }
    }

    private void step(long nanos) {
        long millis = nanos / 1_000_000;
        redis.stepMillis(millis);
        steppedMicros += millis * 1000;
    }

    private void forgets() {
        forgot = true;
        names.forEach(this::broken);
    }

    /** Somebody has ended or deleted the lock beside its holder, or it is forgotten. */
    void broken(String name) {
        String last = redis.string(LockKeys.of(PREFIX, name).fence());
        long next = last == null ? 0 : Long.parseLong(last.replaceAll("[^0-9].*", "")) + 1;
        brokenBelow.merge(name, Math.max(next, micros() + 1), Math::max);
        brokenAt.put(name, world.now());
    }

    /** Somebody is about to force the lock, at a moment that only Redis knows. */
    void beginForcing(String name) {
        forcing.merge(name, 1, Integer::sum);
    }

    void endForcing(String name) {
        broken(name);
        forcing.merge(name, -1, Integer::sum);
    }

    /**
     * Whether exclusion is promised to a hold with this token: it began after exclusion was last broken, or that was so
     * long ago that its client has learned of it.
     */
    boolean isPromised(String name, long token) {
        return forcing.getOrDefault(name, 0) == 0 && token >= brokenBelow.getOrDefault(name, 0L)
                || forcing.getOrDefault(name, 0) == 0 && world.now() - brokenAt.getOrDefault(name, 0L) > LEARNED_NANOS;
    }

    /** Whether tokens may fall back: the last ones were forgotten, and time went back. */
    boolean mayForgetTokens() {
        return forgot && clockWentBack;
    }

    /** To do before and after each request: sees who owns what. */
    void look() {
        redis.full(world.now() < fullUntil);
        for (String name : names) {
            String key = lockKey(name);
            if (redis.hash(key).containsKey("owner")) {
                ownedUntil.put(name, world.now() + Math.max(0, redis.pttl(key)) * 1_000_000);
            }
        }
    }

    /** Until when, as far as was seen, a lock had an owner. */
    long ownedUntil(String name) {
        return ownedUntil.getOrDefault(name, 0L);
    }

    boolean isFree(String name) {
        return !redis.hash(lockKey(name)).containsKey("owner");
    }

    static String lockKey(String name) {
        return LockKeys.of(PREFIX, name).lock();
    }

    /** Runs a request late, or once more. After its date it must change nothing. */
    void runLate(InMemoryRedis client, Call undated, Call sent) {
        // The date of a leave says until when others may come, not the leave itself.
        boolean late = undated.notAfter() != null
                && !sent.script().name().equals("leave")
                && micros() > Long.parseLong(sent.args().get(undated.dated()));
        String before = late ? state(sent) : "";
        look();
        try {
            client.runLate(sent);
        } catch (RedisException refused) {
            // Nobody hears it.
        }
        look();
        if (late && !state(sent).equals(before)) {
            world.fail("a " + sent.script().name() + " that came after its date changed something");
        }
    }

    private String state(Call sent) {
        StringBuilder text = new StringBuilder();
        for (String key : sent.keys()) {
            text.append(key).append('=').append(value(key)).append('\n');
        }
        return text.toString();
    }

    private String value(String key) {
        List<Function<String, Object>> types = List.of(redis::hash, redis::zset, redis::string);
        for (Function<String, Object> type : types) {
            try {
                return String.valueOf(type.apply(key));
            } catch (RuntimeException wrongType) {
                // It is of one of the others.
            }
        }
        throw new IllegalStateException("The key " + key + " is of no known type");
    }
}
