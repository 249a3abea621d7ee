package io.github.redislocks.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.LockHandle;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.fixture.OwnServer;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import redis.clients.jedis.Jedis;

/**
 * A command under a lock, run by the jar: what it is given, what it ends with, and that no part of it outlives the
 * lock.
 */
@Timeout(240)
class RunTest {

    private static final int LOSSES = Integer.getInteger("cli.losses", 2);

    @TempDir
    Path folder;

    private OwnServer server;
    private RedisLocks locks;

    @BeforeEach
    void start() {
        server = OwnServer.start();
        locks = RedisLocks.connect(server.uri());
    }

    @AfterEach
    void stop() {
        locks.close();
        server.close();
    }

    private CliJvm run(String... args) throws IOException {
        return CliJvm.start(folder, server.uri(), args);
    }

    private static boolean isAlive(String pid) {
        return Commands.isAlive(Long.parseLong(pid));
    }

    @Test
    void command_hasNameAndToken_andItsExitCodeIsPassedOn() throws Exception {
        try (CliJvm run = run("run", "job", "--", "sh", "-c", "echo $REDIS_LOCKS_NAME $REDIS_LOCKS_TOKEN; exit 7")) {
            assertThat(run.await()).isEqualTo(7);
            assertThat(run.out()).matches("job \\d{16}\n");
            assertThat(run.err()).isEmpty();
        }
        assertThat(locks.reentrantLock("job").isLocked()).isFalse();
        try (CliJvm next = run("run", "job", "--", "sh", "-c", "kill -9 $$")) {
            assertThat(next.await()).isEqualTo(128 + 9);
        }
    }

    @Test
    void command_thatIsNotThere_leavesTheLockFree() throws Exception {
        Path text = Files.writeString(folder.resolve("text"), "no program");
        try (CliJvm none = run("run", "job", "--", "no-such-command");
                CliJvm file = run("run", "job", "--", text.toString())) {
            assertThat(none.await()).isEqualTo(127);
            assertThat(none.err()).contains("no-such-command: no such command");
            assertThat(file.await()).isEqualTo(126);
        }
        assertThat(locks.reentrantLock("job").isLocked()).isFalse();
    }

    @Test
    void busyLock_failsOrIsSkippedOrIsWaitedFor() throws Exception {
        try (LockHandle held = locks.reentrantLock("job").acquire();
                CliJvm fail = run("run", "--if-busy=fail", "job", "--", "true");
                CliJvm skip = run("run", "--if-busy=skip", "job", "--", "false");
                CliJvm timed = run("run", "--wait=2s", "-q", "job", "--", "true");
                CliJvm waits = run("run", "--verbose", "job", "--", "echo", "served")) {
            assertThat(fail.await()).isEqualTo(75);
            assertThat(fail.err())
                    .contains("\"job\" is busy: held by a handle of process")
                    .contains(held.owner());
            assertThat(skip.await()).isZero();
            assertThat(timed.await()).isEqualTo(75);
            assertThat(timed.err()).isEmpty();
            await().until(() -> waits.err().contains("\n"));
            assertThat(waits.err()).contains("waiting for \"job\", held by").containsPattern("place [12] in line");
            held.release();
            assertThat(waits.await()).isZero();
            assertThat(waits.out()).isEqualTo("served\n");
        }
    }

    @Test
    void atLeast_keepsTheLockTaken() throws Exception {
        try (CliJvm run = run("run", "--at-least=10m", "tick", "--", "true")) {
            assertThat(run.await()).isZero();
        }
        assertThat(locks.inspect("tick").keptFor()).isPresent();
    }

    @Test
    void forcedLock_endsTheWholeGroup() throws Exception {
        // The parent of the first sleep has ended: no descendant of the command, but of its group.
        String script = "trap '' TERM; (sleep 300 & echo $! $$); sleep 300";
        try (CliJvm run = run("run", "job", "--", "sh", "-c", script)) {
            List<String> pids = List.of(run.awaitLines(1).get(0).split(" "));
            assertThat(pids).allMatch(RunTest::isAlive);
            assertThat(locks.reentrantLock("job").forceUnlock()).isTrue();
            assertThat(run.await()).isEqualTo(76);
            assertThat(run.err()).contains("the lock \"job\" was lost: \"sh\" was ended");
            assertThat(pids).noneMatch(RunTest::isAlive);
        }
    }

    /** The path of the command has only the programs that it needs. */
    @Test
    void forcedLock_ofACommandWithoutAShellOnItsPath_endsTheWholeGroup() throws Exception {
        Map<String, String> environment = Map.of("REDIS_URL", server.uri(), "PATH", folder.toString());
        String script = "PATH=/bin:/usr/bin; (sleep 300 & echo $! $$); sleep 300";
        try (CliJvm run = CliJvm.start(folder, environment, "run", "job", "--", "/bin/sh", "-c", script)) {
            List<String> pids = List.of(run.awaitLines(1).get(0).split(" "));
            assertThat(locks.reentrantLock("job").forceUnlock()).isTrue();
            assertThat(run.await()).isEqualTo(76);
            assertThat(pids).noneMatch(RunTest::isAlive);
        }
    }

    /** The command itself has ended long before. */
    @Test
    void signal_holdsTheLockUntilAPartHasCleanedUp() throws Exception {
        String part = "trap 'echo ending; while [ ! -e " + folder + "/go ]; do sleep 0.01; done; exit' TERM;"
                + " echo ready; while :; do sleep 0.01; done";
        try (CliJvm run = run("run", "job", "--", "sh", "-c", "(" + part + ") & echo $$; exec sleep 300")) {
            long command = Long.parseLong(run.awaitLines(2).stream()
                    .filter(line -> line.matches("\\d+"))
                    .findFirst()
                    .orElseThrow());
            run.process.destroy();
            run.awaitLines(3);
            await().until(() -> !isAlive(Long.toString(command)));
            assertThat(locks.reentrantLock("job").isLocked()).isTrue();
            assertThat(run.process.isAlive()).isTrue();
            Files.createFile(folder.resolve("go"));
            assertThat(run.await()).isEqualTo(128 + 15);
        }
        assertThat(locks.reentrantLock("job").isLocked()).isFalse();
    }

    /** Of a file of that name nothing is read. */
    @Test
    void argument_withAnAt_isPassedOnAsItIs() throws Exception {
        String argument = "@" + Files.writeString(folder.resolve("body"), "other words");
        try (CliJvm run = run("run", "job", "--", "echo", argument, "-v")) {
            assertThat(run.await()).isZero();
            assertThat(run.out()).isEqualTo(argument + " -v\n");
        }
    }

    @Test
    void signal_isPassedOn_andTheLockIsHeldUntilTheCommandHasEnded() throws Exception {
        String script = "trap 'echo ending; while [ ! -e " + folder + "/go ]; do sleep 0.01; done; exit 3' TERM;"
                + " echo ready; while :; do sleep 0.01; done";
        try (CliJvm run = run("run", "job", "--", "sh", "-c", script)) {
            run.awaitLines(1);
            run.process.destroy();
            assertThat(run.awaitLines(2)).containsExactly("ready", "ending");
            assertThat(locks.reentrantLock("job").isLocked()).isTrue();
            Files.createFile(folder.resolve("go"));
            assertThat(run.await()).isEqualTo(128 + 15);
        }
        assertThat(locks.reentrantLock("job").isLocked()).isFalse();
    }

    @Test
    void signal_whileItWaits_leavesNothing() throws Exception {
        try (LockHandle held = locks.reentrantLock("job").acquire();
                CliJvm waits = run("run", "job", "--", "true")) {
            await().until(() -> locks.inspect("job").queueLength() == 1);
            waits.process.destroy();
            assertThat(waits.await()).isEqualTo(128 + 15);
            assertThat(locks.inspect("job").queueLength()).isZero();
            assertThat(held.isHeld()).isTrue();
        }
    }

    /** As often as {@code -Dcli.losses} says. The command ignores SIGTERM, and a part of it has left it. */
    @Test
    @Timeout(value = 2, unit = TimeUnit.HOURS)
    void redisThatDoesNotAnswer_noPartOfTheCommandOutlivesTheLease() throws Exception {
        String part = "trap '' TERM; while :; do date +%s%N >> " + folder + "/alive; sleep 0.005; done";
        try (Jedis jedis = new Jedis(URI.create(server.uri()))) {
            String redis = jedis.info("server").replaceAll("(?s).*process_id:(\\d+).*", "$1");
            for (int i = 0; i < LOSSES; i++) {
                Files.deleteIfExists(folder.resolve("alive"));
                try (CliJvm run =
                        run("run", "--lease=3s", "job", "--", "sh", "-c", "(" + part + ") & echo started; " + part)) {
                    run.awaitLines(1);
                    await().until(() -> Files.exists(folder.resolve("alive")));
                    signal("STOP", redis);
                    assertThat(run.await()).isEqualTo(76);
                    signal("CONT", redis);
                }
                try (LockHandle next = acquire()) {
                    List<String> alive = Files.readAllLines(folder.resolve("alive"));
                    assertThat(Long.parseLong(alive.get(alive.size() - 1)) / 1_000)
                            .as("the last sign of life, in µs")
                            .isLessThan(next.fencingToken());
                    assertThat(next.previousHolderLost()).isTrue();
                }
            }
        }
    }

    /** The client of this test meets the silence too. */
    private LockHandle acquire() throws InterruptedException {
        Optional<LockHandle> next = Optional.empty();
        while (next.isEmpty()) {
            next = locks.reentrantLock("job").tryAcquire(Duration.ofSeconds(10));
        }
        return next.get();
    }

    private static void signal(String name, String pid) throws IOException, InterruptedException {
        assertThat(new ProcessBuilder("sh", "-c", "kill -s " + name + ' ' + pid)
                        .start()
                        .waitFor())
                .isZero();
    }
}
