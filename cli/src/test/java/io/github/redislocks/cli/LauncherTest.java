package io.github.redislocks.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class LauncherTest {

    /** As users put it on their path. */
    @Test
    void launcher_throughALink_findsTheJar(@TempDir Path folder) throws Exception {
        Path there = Files.createSymbolicLink(
                folder.resolve("there"), Path.of("redis-locks").toAbsolutePath());
        Path link = Files.createSymbolicLink(folder.resolve("link"), there.getFileName());
        ProcessBuilder run = new ProcessBuilder(link.toString(), "--version").redirectErrorStream(true);
        run.environment().put("JAVA_HOME", System.getProperty("java.home"));
        Process process = run.start();
        assertThat(new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8))
                .startsWith("redis-locks ");
        assertThat(process.waitFor()).isZero();
    }
}
