package io.github.redislocks.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.fixture.OwnServer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The script {@code bin/redis-locks} of the archive. */
@Timeout(60)
class LauncherTest {

    private static final Path LAUNCHER =
            CliJvm.lib().resolveSibling("bin").resolve("redis-locks").toAbsolutePath();

    /** As users put it on their path. */
    @Test
    void launcher_throughALinkInAnotherFolder_findsTheJars(@TempDir Path folder) throws Exception {
        Path there = Files.createSymbolicLink(folder.resolve("there"), LAUNCHER);
        Path link = Files.createSymbolicLink(folder.resolve("link"), there.getFileName());
        ProcessBuilder run = new ProcessBuilder("./" + link.getFileName(), "--version")
                .directory(folder.toFile())
                .redirectErrorStream(true);
        run.environment().put("JAVA_HOME", System.getProperty("java.home"));
        Process process = run.start();
        assertThat(new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8))
                .startsWith("redis-locks ");
        assertThat(process.waitFor()).isZero();
    }

    /**
     * As of a cron job: another lock than that of a shell with UTF-8 would be held, and the command given other words.
     */
    @Test
    void run_withoutALocale_passesOnWhatWasTyped() throws Exception {
        // In ASCII, as the JVM of this test may have no locale either.
        String typed =
                "exec \"$2\" run \"$(printf 'b\\303\\274ro')\" -- sh -c \"$1\" sh \"$(printf 'z\\303\\274rich')\"";
        String print = "echo \"$1|$REDIS_LOCKS_NAME|${LC_ALL-unset}\"";
        try (OwnServer server = OwnServer.start()) {
            for (String locale : new String[] {"unset", "C", "POSIX"}) {
                ProcessBuilder run = new ProcessBuilder("sh", "-c", typed, "sh", print, LAUNCHER.toString())
                        .redirectErrorStream(true);
                Map<String, String> environment = run.environment();
                environment.keySet().removeIf(name -> name.equals("LANG") || name.startsWith("LC_"));
                if (!locale.equals("unset")) {
                    environment.put("LC_ALL", locale);
                }
                environment.put("REDIS_URL", server.uri() + "?commandTimeout=30s");
                environment.put("JAVA_HOME", System.getProperty("java.home"));
                Process process = run.start();
                assertThat(new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8))
                        .isEqualTo("zürich|büro|" + locale + "\n");
                assertThat(process.waitFor()).isZero();
            }
        }
    }
}
