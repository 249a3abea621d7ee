package io.github.redislocks.multijvm;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.fixture.RedisServers;
import io.github.redislocks.fixture.WorkerJvm;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * A class whose initialization met an error can never be used again: so after connect none is left to be initialized
 * that could meet one, as the JVM itself logs it.
 */
@Timeout(60)
class EagerClassesTest {

    private static final Pattern INITIALIZED =
            Pattern.compile("Initializing '((?:io/github/redislocks|com/github/benmanes|redis/clients)/\\S+)'(.*)");

    /** The class of which a line says that an initializer of it runs; empty if it says none. */
    private static String initializer(String line) {
        Matcher initialized = INITIALIZED.matcher(line);
        return !initialized.find()
                        || initialized.group(2).contains("no method")
                        || initialized.group(1).contains(InitWorker.class.getSimpleName())
                ? ""
                : initialized.group(1);
    }

    @Test
    void afterConnect_noClassIsLeftWhoseInitializationMayFail() throws InterruptedException {
        String uri = RedisServers.shared().uri();
        try (WorkerJvm worker =
                WorkerJvm.start(List.of("-Xlog:class+init=info"), InitWorker.class, uri, "init-" + UUID.randomUUID())) {
            worker.awaitLine(InitWorker.DONE, Duration.ofSeconds(40));
            List<String> lines = worker.lines();
            List<String> initialized = lines.subList(lines.indexOf(InitWorker.CONNECTED), lines.size());
            assertThat(lines)
                    .as("what is logged")
                    .anyMatch(line -> !initializer(line).isEmpty());
            assertThat(initialized).extracting(EagerClassesTest::initializer).containsOnly("");
        }
    }
}
