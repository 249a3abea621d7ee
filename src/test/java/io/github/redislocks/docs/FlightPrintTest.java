package io.github.redislocks.docs;

import static io.github.redislocks.FixedLease.fixed;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisReentrantLock;
import io.github.redislocks.fixture.RedisServers;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.UUID;
import jdk.jfr.Recording;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Reads a recording with the JDK's own tool, as docs/observability.md shows it. */
@Tag("server")
class FlightPrintTest {

    @TempDir
    private Path folder;

    @Test
    void jfrPrint_ofALoss_showsTheLock() throws IOException, InterruptedException {
        String name = "print-" + UUID.randomUUID();
        Path file = folder.resolve("locks.jfr");
        try (Recording recording = new Recording();
                RedisLocks locks = RedisLocks.connect(RedisServers.shared().uri())) {
            recording.enable("io.github.redislocks.LockHold").with("atLeast", "0 ms");
            recording.start();
            RedisReentrantLock lock = locks.reentrantLock(name);
            fixed(lock, Duration.ofSeconds(20)).lock();
            lock.unlock();
            recording.stop();
            recording.dump(file);
        }
        Path out = folder.resolve("printed");
        Process jfr = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "jfr").toString(),
                        "print",
                        "--events",
                        "io.github.redislocks.LockHold",
                        file.toString())
                .redirectErrorStream(true)
                .redirectOutput(out.toFile())
                .start();
        assertThat(jfr.waitFor()).isZero();
        assertThat(Files.readString(out, StandardCharsets.UTF_8))
                .contains("io.github.redislocks.LockHold {", "lock = \"" + name + "\"", "held = ", "eventThread = ");
    }
}
