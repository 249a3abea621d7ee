package io.github.redislocks.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.fixture.OwnServer;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import redis.clients.jedis.Jedis;

/** The demo, from the jar that users have. */
@Timeout(120)
class DemoTest {

    @TempDir
    Path folder;

    @Test
    void demo_sellsEachItemOnceUnderTheLock_andDrawsThat() throws Exception {
        Path page = folder.resolve("demo.html");
        try (OwnServer server = OwnServer.start();
                CliJvm demo = CliJvm.start(folder, server.uri(), "demo", "--timeline=" + page)) {
            assertThat(demo.await()).as(demo.out() + demo.err()).isZero();
            assertThat(demo.out())
                    .contains("kill -9 of process 1, which holds the lock")
                    .containsPattern("oversold +[1-9]\\d* +0")
                    .contains("Passed: under the lock nothing was oversold")
                    .contains(page + ": ");
            assertThat(page).content().contains("process-2.jfr");
            try (Jedis jedis = new Jedis(server.uri())) {
                assertThat(jedis.keys("redis-locks-demo:*")).isEmpty();
            }
        }
    }

    @Test
    void demo_thatIsEndedByASignal_leavesNoKeyForEver() throws Exception {
        try (OwnServer server = OwnServer.start();
                CliJvm demo = CliJvm.start(folder, server.uri(), "demo");
                Jedis jedis = new Jedis(server.uri())) {
            await().atMost(Duration.ofSeconds(30))
                    .until(() -> jedis.keys("redis-locks-demo:*:ledger").size() == 1);
            demo.process.destroy();
            assertThat(demo.await()).isEqualTo(128 + 15);
            assertThat(jedis.keys("redis-locks-demo:*"))
                    .isNotEmpty()
                    .allSatisfy(key -> assertThat(jedis.ttl(key)).as(key).isPositive());
        }
    }

    @Test
    void demo_withoutTheLock_fails() throws Exception {
        try (OwnServer server = OwnServer.start();
                CliJvm demo = CliJvm.start(folder, server.uri(), "demo", "--no-lock")) {
            assertThat(demo.await()).as(demo.out()).isEqualTo(ExitCodes.PROBLEM);
            assertThat(demo.out()).containsPattern("FAILED: (Oversold|Sold twice)");
        }
    }

    @Test
    void demo_onAnotherTopology_isRefused() {
        Cli refused = Cli.run("redis-cluster://localhost:7000", "demo");
        assertThat(refused.exitCode()).isEqualTo(ExitCodes.USAGE);
        assertThat(refused.err()).contains("demo examines one server");
    }
}
