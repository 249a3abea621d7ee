package io.github.redislocks.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.jr.ob.JSON;
import io.github.redislocks.FencedLock;
import io.github.redislocks.PermitHandle;
import io.github.redislocks.Permits;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.fixture.OwnServer;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import redis.clients.jedis.Jedis;

/** Commands that run under a permit or a read lock, and what the command line shows of a pool. */
@Timeout(240)
class PoolCommandsTest {

    @TempDir
    Path folder;

    private OwnServer server;
    private RedisLocks locks;
    private Permits pool;

    @BeforeEach
    void start() {
        server = OwnServer.start();
        locks = RedisLocks.connect(server.uri());
        pool = locks.permits("encoder", 2);
    }

    @AfterEach
    void stop() {
        locks.close();
        server.close();
    }

    @Test
    void commandUnderAPermit_hasItsNumber_andOthersWaitWhenAllAreOut() throws Exception {
        try (PermitHandle first = pool.acquire();
                CliJvm run = CliJvm.start(
                        folder,
                        server.uri(),
                        "run",
                        "--permits=2",
                        "encoder",
                        "--",
                        "sh",
                        "-c",
                        "echo $REDIS_LOCKS_NAME $REDIS_LOCKS_PERMIT $REDIS_LOCKS_TOKEN; while [ ! -e " + folder
                                + "/go ]; do sleep 0.01; done; exit 7")) {
            assertThat(first.number()).isZero();
            assertThat(run.awaitLines(1).get(0)).matches("encoder 1 \\d{16}");
            Cli busy = Cli.run(server.uri(), "run", "--permits=2", "--if-busy=fail", "encoder", "--", "true");
            assertThat(busy.exitCode()).isEqualTo(75);
            assertThat(busy.err()).contains("\"encoder\" is busy: 2 of 2 permits are held");
            try (CliJvm waits = CliJvm.start(
                    folder,
                    server.uri(),
                    "run",
                    "--permits=2",
                    "-v",
                    "encoder",
                    "--",
                    "sh",
                    "-c",
                    "echo $REDIS_LOCKS_PERMIT")) {
                await().until(() -> waits.err().contains("\n"));
                assertThat(waits.err()).contains("waiting for \"encoder\", 2 of 2 permits are held; place 1 in line");
                first.release();
                assertThat(waits.await()).isZero();
                assertThat(waits.out()).isEqualTo("0\n");
            }
            Files.createFile(folder.resolve("go"));
            assertThat(run.await()).isEqualTo(7);
        }
        assertThat(pool.available()).isEqualTo(2);
    }

    @Test
    void anotherSize_isRefusedWithTheSizeThatThePoolHas() throws Exception {
        try (PermitHandle held = pool.acquire()) {
            Cli other = Cli.run(server.uri(), "run", "--permits=3", "encoder", "--", "true");
            assertThat(other.exitCode()).isEqualTo(2);
            assertThat(other.err())
                    .contains("--permits is 3. The permits \"encoder\" are 2 in Redis", "Name 2,")
                    .doesNotContain("\tat ");
            assertThat(held.isHeld()).isTrue();
        }
        assertThat(Cli.run(server.uri(), "run", "--permits=0", "encoder", "--", "true")
                        .err())
                .contains("is 0: it must lie between 1 and 1000");
    }

    @Test
    void atLeast_ofAPermit_isRefused() {
        Cli refused = Cli.run(server.uri(), "run", "--permits=2", "--at-least=5s", "encoder", "--", "true");
        assertThat(refused.exitCode()).isEqualTo(2);
        assertThat(refused.err()).contains("--at-least needs a lock", "use only one of them");
        assertThat(Cli.run(server.uri(), "run", "--permits=2", "--read", "x", "--", "true")
                        .err())
                .contains("use only one of them");
    }

    @Test
    void commandThatReads_runsBesideOtherReaders_andKeepsWritersOut() throws Exception {
        FencedLock writer = locks.reentrantLock("prices");
        writer.lock();
        long version = writer.fencingToken();
        Cli busy = Cli.run(server.uri(), "run", "--read", "--if-busy=fail", "prices", "--", "true");
        assertThat(busy.exitCode()).isEqualTo(75);
        assertThat(busy.err()).contains("\"prices\" is busy: held by thread");
        writer.unlock();
        String script = "echo $REDIS_LOCKS_TOKEN; while [ ! -e " + folder + "/go ]; do sleep 0.01; done; exit 7";
        try (CliJvm run = CliJvm.start(folder, server.uri(), "run", "--read", "prices", "--", "sh", "-c", script)) {
            assertThat(run.awaitLines(1)).containsExactly(Long.toString(version));
            assertThat(locks.readWriteLock("prices").readLock().tryLock()).isTrue();
            locks.readWriteLock("prices").readLock().unlock();
            assertThat(Cli.run(server.uri(), "run", "--if-busy=fail", "prices", "--", "true")
                            .exitCode())
                    .isEqualTo(75);
            Files.createFile(folder.resolve("go"));
            assertThat(run.await()).isEqualTo(7);
        }
        assertThat(writer.tryLock(Duration.ofSeconds(10))).isTrue();
    }

    @Test
    void readLock_thatIsForcedOpen_endsTheCommand() throws Exception {
        try (CliJvm run = CliJvm.start(
                folder, server.uri(), "run", "--read", "prices", "--", "sh", "-c", "echo on; exec sleep 300")) {
            run.awaitLines(1);
            assertThat(locks.reentrantLock("prices").forceUnlock()).isTrue();
            assertThat(run.await()).isEqualTo(76);
            assertThat(run.err()).contains("the lock \"prices\" was lost");
        }
    }

    @Test
    void inspect_showsWhoHasWhichPermits_andWhoWaits() throws Exception {
        try (PermitHandle both = pool.acquire(2)) {
            CompletableFuture<PermitHandle> waiting = pool.acquireAsync(1);
            await().until(() -> pool.inspect().waiting().size() == 1);
            Cli shown = Cli.run(server.uri(), "inspect", "encoder");
            assertThat(shown.exitCode()).isZero();
            assertThat(shown.out().lines().toList())
                    .satisfiesExactly(
                            line -> assertThat(line).matches("pool +encoder"),
                            line -> assertThat(line).matches("permits +2, of which 0 are free"),
                            line -> assertThat(line)
                                    .matches("  0 1 +a handle of process \\d+ on .*\\(.*\\), lease \\S+s, token "
                                            + both.fencingToken()),
                            line -> assertThat(line).matches("queue +1 in order of arrival"),
                            line -> assertThat(line).matches("  1 +a handle of process .*, wants 1"));
            Map<String, Object> json = JSON.std.mapFrom(
                    Cli.run(server.uri(), "inspect", "--json", "encoder").out());
            assertThat(json.get("permits").toString())
                    .contains("size=2", "available=0", "numbers=" + List.of(0, 1), "wanted=1");
            both.release();
            waiting.get().release();
        }
    }

    @Test
    void inspect_ofALockBesideAPool_showsBoth_andOfAnUnknownPoolOnlyTheLock() throws Exception {
        assertThat(Cli.run(server.uri(), "inspect", "encoder").out())
                .contains("free")
                .doesNotContain("permits");
        locks.permits("encoder", 1).acquire().release();
        assertThat(Cli.run(server.uri(), "inspect", "encoder").out())
                .contains("1, of which 1 are free")
                .doesNotContain("lock ");
        locks.reentrantLock("encoder")
                .runWithLock(() -> assertThat(
                                Cli.run(server.uri(), "inspect", "encoder").out())
                        .contains("held by", "1, of which 1 are free"));
    }

    @Test
    void list_showsPoolsInUse_belowTheLocks() throws Exception {
        locks.permits("idle", 1).acquire().release();
        assertThat(Cli.run(server.uri(), "list").out()).contains("No lock is held");
        try (PermitHandle one = pool.acquire()) {
            assertThat(one.number()).isZero();
            assertThat(Cli.run(server.uri(), "list", "enc*").out().lines())
                    .satisfiesExactly(
                            line -> assertThat(line).matches("POOL +PERMITS +OUT +HANDLES +QUEUE"),
                            line -> assertThat(line).matches("encoder +2 +1 +1 +0"));
            locks.reentrantLock("encoder")
                    .runWithLock(
                            () -> assertThat(Cli.run(server.uri(), "list").out().lines())
                                    .hasSize(4)
                                    .last()
                                    .asString()
                                    .startsWith("encoder  2"));
            Map<String, Object> json = JSON.std.mapFrom(
                    Cli.run(server.uri(), "list", "--json", "encoder").out());
            assertThat(json).containsEntry("pool", "encoder").containsKey("permits");
        }
    }

    @Test
    void top_showsPoolsBelowTheLocks_thoseWithTheMostWaitersFirst() throws Exception {
        Permits busy = locks.permits("uploads", 1);
        try (PermitHandle one = pool.acquire();
                PermitHandle other = busy.acquire()) {
            CompletableFuture<PermitHandle> waiting = busy.acquireAsync(1);
            await().until(() -> busy.inspect().waiting().size() == 1);
            assertThat(one.isHeld() && other.isHeld()).isTrue();
            locks.reentrantLock("a lock").runWithLock(() -> {
                assertThat(Cli.run(server.uri(), "top", "--times=1").out().lines())
                        .satisfiesExactly(
                                line -> assertThat(line).isEqualTo("1 locks and 2 pools in use"),
                                line -> assertThat(line).startsWith("LOCK"),
                                line -> assertThat(line).startsWith("a lock"),
                                line -> assertThat(line).matches("POOL +PERMITS +OUT +HANDLES +QUEUE"),
                                line -> assertThat(line).matches("uploads +1 +1 +1 +1"),
                                line -> assertThat(line).matches("encoder +2 +1 +1 +0"));
                assertThat(Cli.run(server.uri(), "top", "--times=1", "--rows=2")
                                .out()
                                .lines())
                        .as("the pool without waiters comes after the lock")
                        .hasSize(5)
                        .last()
                        .asString()
                        .startsWith("uploads");
                assertThat(Cli.run(server.uri(), "top", "--times=1", "--rows=1")
                                .out()
                                .lines())
                        .hasSize(3)
                        .last()
                        .asString()
                        .startsWith("uploads");
            });
            other.release();
            waiting.get().release();
        }
    }

    /** Permits need a right more than locks. */
    @Test
    void inspect_byAUserWhoMayNotSeePools_showsTheLock() throws Exception {
        try (PermitHandle held = pool.acquire();
                Jedis admin = new Jedis(URI.create(server.uri()))) {
            admin.aclSetUser("locks", "on", ">secret", "~*", "&*", "+@all", "-hgetall");
            String uri = server.uri().replace("redis://", "redis://locks:secret@");
            Cli shown = Cli.run(uri, "inspect", "encoder");
            assertThat(shown.err()).isEmpty();
            assertThat(shown.out()).contains("free").doesNotContain("permits");
            assertThat(Cli.run(uri, "unlock", "--force", "--yes", "encoder").out())
                    .contains("Nobody holds \"encoder\".");
            assertThat(Cli.run(uri, "list").out()).contains("No lock is held");
            assertThat(Cli.run(uri, "top", "--times=1").out().lines()).containsExactly("0 locks in use");
            assertThat(held.isHeld()).isTrue();
        }
    }

    @Test
    void unlock_ofAPool_saysThatPermitsCannotBeEnded() throws Exception {
        try (PermitHandle held = pool.acquire()) {
            Cli unlock = Cli.run(server.uri(), "unlock", "--force", "--yes", "encoder");
            assertThat(unlock.exitCode()).isZero();
            assertThat(unlock.out()).contains("Nobody holds \"encoder\". Permits of that name are held");
            assertThat(held.isHeld()).isTrue();
        }
    }
}
