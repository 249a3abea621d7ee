package io.github.redislocks;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.Way.Mode;
import io.github.redislocks.fixture.ClusterServers;
import io.github.redislocks.fixture.FaultyProxy;
import io.github.redislocks.fixture.QuorumServers;
import io.github.redislocks.fixture.RedisServer;
import io.github.redislocks.fixture.SentinelServers;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.UnaryOperator;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import redis.clients.jedis.Jedis;

/** Tries a part of the table of {@code docs/losses.md} on real servers, where time is that of the machine. */
@Timeout(120)
@Tag("server")
class LossTableServerTest implements LossScene.Ground {

    private static final long NOISE_MILLIS = 5_000;
    private static final String LOST = "io.github.redislocks.LockLost";

    @TempDir
    private Path folder;

    private final Recording recording = new Recording();
    private final List<AutoCloseable> open = new ArrayList<>();
    private final Map<RedisLocks, List<FaultyProxy>> proxies = new HashMap<>();
    private List<RedisServer> masters = List.of();
    private UnaryOperator<RedisLocksBuilder> where = settings -> settings;
    private String prefix = "redis-locks";

    @AfterEach
    void close() throws Exception {
        recording.close();
        for (int i = open.size() - 1; i >= 0; i--) {
            open.get(i).close();
        }
    }

    private <T extends AutoCloseable> T opened(T one) {
        open.add(one);
        return one;
    }

    @ParameterizedTest
    @CsvSource({
        "RELEASED, PLAIN",
        "RELEASED, RESIDENT",
        "KEPT, FAIR",
        "HEARD, FIXED",
        "OURS, RESIDENT",
        "FORCED, WAITED",
        "DELETED, LOCAL",
        "WATCHED, PLAIN",
        "WATCHED, RESIDENT",
        "WASHED, FIXED",
        "CLOSED, FAIR",
        "UNCONFIRMED, WAITED",
        "ABANDONED, PLAIN",
        "OVERDUE, PLAIN"
    })
    void owners_onOneServer_areToldAsTheTableSays(Happening what, Mode mode) {
        masters = List.of(opened(RedisServer.start()));
        run(what, mode);
    }

    @ParameterizedTest
    @CsvSource({
        "RELEASED, WAITED",
        "HEARD, PLAIN",
        "OURS, FAIR",
        "FORCED, RESIDENT",
        "WATCHED, FIXED",
        "WATCHED, RESIDENT",
        "WASHED, PLAIN",
        "CLOSED, WAITED",
        "ABANDONED, PLAIN"
    })
    void owners_onACluster_areToldAsTheTableSays(Happening what, Mode mode) {
        ClusterServers cluster = ClusterServers.shared();
        masters = cluster.masters();
        where = settings -> settings.uri(cluster.uri());
        run(what, mode);
    }

    @ParameterizedTest
    @CsvSource({"RELEASED, FAIR", "HEARD, PLAIN", "OURS, FIXED", "WATCHED, RESIDENT", "FLUSHED, PLAIN", "CLOSED, PLAIN"
    })
    void owners_withSentinels_areToldAsTheTableSays(Happening what, Mode mode) {
        SentinelServers sentinels = SentinelServers.shared();
        masters = List.of(sentinels.master());
        where = settings -> settings.uri(sentinels.uri());
        run(what, mode);
    }

    @ParameterizedTest
    @CsvSource({
        "RELEASED, WAITED",
        "HEARD, PLAIN",
        "OURS, PLAIN",
        "CLOSED, PLAIN",
        "UNCONFIRMED, WAITED",
        "ABANDONED, PLAIN",
        "OVERDUE, FIXED"
    })
    void owners_onAQuorum_areToldAsTheTableSays(Happening what, Mode mode) {
        QuorumServers quorum = opened(QuorumServers.start(3));
        masters = List.of(quorum.get(0), quorum.get(1), quorum.get(2));
        prefix = "redis-locks:quorum";
        run(what, mode);
    }

    private void run(Happening what, Mode mode) {
        recording.enable(LOST);
        recording.start();
        new LossScene(this, what, mode).run();
    }

    private boolean isQuorum() {
        return prefix.endsWith("quorum");
    }

    /** Behind proxies, if the client does not have its addresses from servers. */
    @Override
    public RedisLocks connect(UnaryOperator<RedisLocksBuilder> settings) {
        RedisLocksBuilder builder = settings.apply(RedisLocks.builder()).lease(lease());
        List<FaultyProxy> mine =
                masters.stream().map(FaultyProxy::to).map(this::opened).toList();
        String[] uris = mine.stream().map(FaultyProxy::uri).toArray(String[]::new);
        if (isQuorum()) {
            builder.quorum(uris).restartDelay(Duration.ZERO);
        } else {
            builder.uri(uris[0]);
        }
        RedisLocks made = opened(where.apply(builder).build());
        proxies.put(made, mine);
        return made;
    }

    @Override
    public Duration lease() {
        return Duration.ofSeconds(6);
    }

    /** A quorum has no Conditions, no permits and no readers, and keeps no lock. */
    @Override
    public boolean offers(Way way) {
        return !isQuorum() || !way.call().matches("(Condition|Permits|RedisReadLock|@Locked.atLeast).*");
    }

    @Override
    public void pass(long millis) {
        pass(millis, () -> false);
    }

    @Override
    public void pass(long millis, BooleanSupplier enough) {
        long end = nanos() + millis * 1_000_000;
        while (nanos() < end && !enough.getAsBoolean()) {
            LockSupport.parkNanos(1_000_000);
        }
    }

    @Override
    public long noiseMillis() {
        return NOISE_MILLIS;
    }

    @Override
    public void passUntil(BooleanSupplier condition) {
        pass(60_000, condition);
        assertThat(condition.getAsBoolean()).as("within a minute").isTrue();
    }

    @Override
    public long nanos() {
        return System.nanoTime();
    }

    @Override
    public void stall(long millis) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void delete(String name, String keyEnd) {
        RedisServer master =
                masters.size() == 1 ? masters.get(0) : ClusterServers.shared().masterOf(key(name));
        try (Jedis client = master.client()) {
            assertThat(client.del(key(name) + keyEnd)).isEqualTo(1);
        }
    }

    private String key(String name) {
        return prefix + ":{" + name + "}";
    }

    /** Not seen to within the time of a round trip, so it is taken for granted. */
    @Override
    public boolean isTaken(BooleanSupplier inRedis) {
        return true;
    }

    @Override
    public void flush() {
        for (RedisServer master : masters) {
            try (Jedis client = master.client()) {
                client.flushAll();
            }
        }
    }

    @Override
    public void away(RedisLocks client, boolean away) {
        for (FaultyProxy proxy : proxies.get(client)) {
            if (away) {
                proxy.dropRequests();
            } else {
                proxy.cut();
                proxy.pass();
            }
        }
    }

    @Override
    public List<RecordedEvent> recorded() {
        Path file = folder.resolve("losses.jfr");
        try {
            recording.dump(file);
            return RecordingFile.readAllEvents(file).stream()
                    .filter(event -> event.getEventType().getName().equals(LOST))
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
