package io.github.redislocks.multijvm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.github.redislocks.fixture.ClusterServers;
import io.github.redislocks.fixture.QuorumServers;
import io.github.redislocks.fixture.RedisServers;
import io.github.redislocks.fixture.SentinelServers;
import io.github.redislocks.fixture.WorkerJvm;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Locks need no jar but those that the library brings: none of what Jedis would bring besides, for its own pool, for
 * JSON and for tokens.
 */
@Timeout(60)
class SmallClassPathTest {

    private static final Pattern BROUGHT =
            Pattern.compile("(jedis|caffeine|error_prone_annotations|slf4j-api|jspecify)-[\\d.]+\\.jar");

    private static boolean isBrought(Path entry) {
        return Files.isDirectory(entry)
                || BROUGHT.matcher(entry.getFileName().toString()).matches();
    }

    static Stream<Arguments> topologies() {
        return Stream.of(
                arguments("one server", new String[] {RedisServers.shared().uri()}),
                arguments("Sentinel", new String[] {SentinelServers.shared().uri()}),
                arguments("cluster", new String[] {ClusterServers.shared().uri()}),
                arguments("quorum", QuorumServers.shared().uris()));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("topologies")
    void allThatCanBeDoneWithLocks_needsNoOtherJar(String topology, String[] uris) throws InterruptedException {
        List<String> args = new ArrayList<>(List.of("small-" + UUID.randomUUID()));
        args.addAll(List.of(uris));
        try (WorkerJvm worker =
                WorkerJvm.startWith(SmallClassPathTest::isBrought, InitWorker.class, args.toArray(String[]::new))) {
            worker.awaitLine(InitWorker.DONE, Duration.ofSeconds(40));
            assertThat(worker.awaitExit(Duration.ofSeconds(10))).isZero();
        }
    }
}
