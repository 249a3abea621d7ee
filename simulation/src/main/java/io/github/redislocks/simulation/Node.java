package io.github.redislocks.simulation;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.simulation.boot.Simulated;
import io.github.redislocks.testkit.twin.InMemoryRedis;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/** One Redis: the in-memory server of the test kit, its clock, and what the simulation has seen there. */
final class Node {

    /** The uptime at the start of a schedule: a master of a quorum that has just started would give no vote. */
    private static final long UPTIME_MILLIS = 3_600_000;

    /** The index of the deadline in the arguments of a vote. */
    private static final int VOTE_DATE = 4;

    final InMemoryRedis redis;
    private final World world;
    private final List<String> names;
    private final List<InMemoryRedis> clients = new ArrayList<>();
    /** The true time until which each lock has, or had, an owner on this node. */
    private final Map<String, Long> ownedUntil = new HashMap<>();

    private Runnable watcher = () -> {};
    private long pausedUntil;
    private long downUntil;
    private long fullUntil;
    private long steppedMicros;

    Node(World world, List<String> names) {
        this.world = world;
        this.names = names;
        this.redis = new InMemoryRedis(() -> World.START_MICROS + world.now() / 1000);
        redis.restart();
        step(UPTIME_MILLIS * 1_000_000);
    }

    /** The time by the node's clock, in microseconds. */
    long micros() {
        return World.START_MICROS + world.now() / 1000 + steppedMicros;
    }

    /** For how long from now the node does not answer. */
    long pausedNanos() {
        return Math.max(0, pausedUntil - world.now());
    }

    /** Whether the node refuses connections. */
    boolean isDown() {
        return downUntil > world.now();
    }

    /** Connects one more client. */
    InMemoryRedis connect() {
        InMemoryRedis client = redis.another();
        client.log().turn(false);
        clients.add(client);
        return client;
    }

    /** Makes the node unavailable for some time. It comes back as another process with all data. */
    void restart(long nanos) {
        clients.forEach(InMemoryRedis::dropSubscriptions);
        redis.promoteReplica(true);
        downUntil = world.now() + nanos;
    }

    void pause(long nanos) {
        pausedUntil = world.now() + nanos;
    }

    void fill(long nanos) {
        fullUntil = world.now() + nanos;
    }

    void step(long nanos) {
        long millis = nanos / 1_000_000;
        redis.stepMillis(millis);
        steppedMicros += millis * 1000;
    }

    /** Notes that a request is about to run. */
    void begins() {
        redis.full(world.now() < fullUntil);
    }

    /** Has an action run after each request, in a schedule without faults. */
    void watchedBy(Runnable next) {
        watcher = next;
    }

    /** Notes the owners of the locks after a request, in a schedule without faults. */
    void look() {
        watcher.run();
        for (String name : names) {
            String key = Server.lockKey(name);
            if (redis.hash(key).containsKey("owner")) {
                ownedUntil.put(name, world.now() + Math.max(0, redis.pttl(key)) * 1_000_000);
            }
        }
    }

    /** Until when a lock had an owner, as far as the simulation has seen. */
    long ownedUntil(String name) {
        return ownedUntil.getOrDefault(name, 0L);
    }

    /** Runs a request late, or a second time. After its deadline the request must change nothing. */
    void runLate(InMemoryRedis client, Call undated, Call sent) {
        boolean late = micros() > date(undated, sent);
        String before = late ? state(sent) : "";
        begins();
        Simulated.mask();
        try {
            client.runLate(sent);
        } catch (RedisException refused) {
            // Ignored: nobody gets this reply.
        } finally {
            Simulated.unmask();
        }
        if (late && !state(sent).equals(before)) {
            world.fail("a " + sent.script().name() + " that came after its date changed something");
        }
    }

    /** The deadline after which a request must change nothing. */
    private static long date(Call undated, Call sent) {
        return switch (sent.script().name()) {
            // The time in a leave is not a deadline: it says until when others may come.
            case "leave", "unshare", "permits_leave" -> Long.MAX_VALUE;
            // The quorum's own code has set the deadline.
            case "vote" -> Long.parseLong(sent.args().get(VOTE_DATE));
            default ->
                undated.notAfter() == null
                        ? Long.MAX_VALUE
                        : Long.parseLong(sent.args().get(undated.dated()));
        };
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
                // Ignored: the key has one of the other types.
            }
        }
        throw new IllegalStateException("The key " + key + " is of no known type");
    }
}
