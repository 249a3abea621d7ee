package io.github.redislocks.multijvm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.github.redislocks.fixture.ClusterServers;
import io.github.redislocks.fixture.QuorumServers;
import io.github.redislocks.fixture.RedisServers;
import io.github.redislocks.fixture.SentinelServers;
import io.github.redislocks.fixture.WorkerJvm;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * A class whose initialization met an error can never be used again, nor, on some JVMs, a lambda whose linking met one:
 * so after connect none is left that could, as the JVM itself logs it.
 */
@Timeout(60)
class EagerClassesTest {

    /**
     * Of the JDK, what only calls of the library may use first: the rest depends on its version and on other threads.
     */
    private static final Pattern INITIALIZED =
            Pattern.compile("Initializing '((?:io/github/redislocks/|com/github/benmanes/|redis/clients/"
                    + "|java/lang/ClassValue|java/util/Optional)\\S+)'(.*)");

    private static final Pattern LAMBDA =
            Pattern.compile("Initializing 'io/github/redislocks/(?:\\w+/)*(\\w+)\\$\\$Lambda");

    /** The class of which a line says that an initializer of it runs; empty if it says none. */
    private static String initializer(String line) {
        Matcher initialized = INITIALIZED.matcher(line);
        return !initialized.find()
                        || initialized.group(2).contains("no method")
                        || initialized.group(1).contains(InitWorker.class.getSimpleName())
                ? ""
                : initialized.group(1);
    }

    /** Whose lambda a line says is linked; empty if it says nothing of the kind. */
    private static String lambda(String line) {
        Matcher linked = LAMBDA.matcher(line);
        return linked.find() ? linked.group(1) : "";
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
    void afterConnect_noClassIsLeftWhoseInitializationMayFail(String topology, String[] uris)
            throws InterruptedException {
        List<String> args = new ArrayList<>(List.of("init-" + UUID.randomUUID()));
        args.addAll(List.of(uris));
        try (WorkerJvm worker =
                WorkerJvm.start(List.of("-Xlog:class+init=info"), InitWorker.class, args.toArray(String[]::new))) {
            worker.awaitLine(InitWorker.DONE, Duration.ofSeconds(40));
            List<String> lines = worker.lines();
            List<String> initialized = lines.subList(lines.indexOf(InitWorker.CONNECTED), lines.size());
            assertThat(lines)
                    .as("what is logged")
                    .anyMatch(line -> !initializer(line).isEmpty());
            assertThat(initialized)
                    .extracting(EagerClassesTest::initializer)
                    .filteredOn(name -> !name.isEmpty())
                    .isEmpty();
            assertThat(lines).extracting(EagerClassesTest::lambda).contains("LocalQueue", "Holds");
            if (topology.equals("one server")) {
                // What is left serves inspect() and the names of Conditions, which no thread needs to get or give a
                // lock.
                assertThat(initialized)
                        .extracting(EagerClassesTest::lambda)
                        .filteredOn(owner -> !owner.isEmpty())
                        .isSubsetOf("InitWorker", "LockKeys", "Inspections");
            }
        }
    }
}
