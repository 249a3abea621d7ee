package io.github.redislocks.multijvm;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.fixture.WorkerJvm;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
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

    @ParameterizedTest(name = "{0}")
    @MethodSource("io.github.redislocks.multijvm.EagerClassesTest#topologies")
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
