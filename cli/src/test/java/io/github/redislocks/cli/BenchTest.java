package io.github.redislocks.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.fixture.OwnServer;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What {@code bench} prints. The figures are whatever they are. */
@Timeout(60)
class BenchTest {

    private static final String FIGURES = " +[1-9][\\d,]* +(\\d+\\.\\d\\d ms *){4}";

    @Test
    void oneServer_hasALineForEachWork_andLeavesNoLock() {
        try (OwnServer server = OwnServer.start()) {
            Cli bench = Cli.run(server.uri(), "bench", "--threads=2", "--time=100ms");
            assertThat(bench.exitCode()).as(bench.err()).isZero();
            List<String> lines = bench.out().lines().toList();
            assertThat(lines).hasSize(5);
            assertThat(lines.get(0)).startsWith("WORK").contains("LOCKS/S", "P50", "P99.9", "LONGEST");
            assertThat(lines.get(1)).matches("1 thread" + FIGURES);
            assertThat(lines.get(2)).matches("2 threads, a lock each" + FIGURES);
            assertThat(lines.get(3)).matches("2 threads, one lock" + FIGURES);
            assertThat(lines.get(4)).matches("2 threads, one fair lock" + FIGURES);
            assertThat(Cli.run(server.uri(), "list").out()).startsWith("No lock is held");
            assertThat(Cli.run(server.uri(), "bench", "-t1", "--time=100ms")
                            .out()
                            .lines())
                    .hasSize(2);
        }
    }

    @Test
    void wrongNumbers_areRefused_beforeRedisIsAsked() {
        for (String[] wrong : new String[][] {
            {"--threads=0", "--threads is 0: name 1 to 1000"},
            {"--threads=1001", "--threads is 1001: name 1 to 1000"},
            {"--time=99ms", "--time is 99ms: name 100ms to 10m"},
            {"--time=11m", "--time is 11m0s: name 100ms to 10m"},
        }) {
            Cli refused = Cli.run("redis://127.0.0.1:1", "bench", wrong[0]);
            assertThat(refused.exitCode()).isEqualTo(ExitCodes.USAGE);
            assertThat(refused.err()).contains(wrong[1]);
        }
    }
}
