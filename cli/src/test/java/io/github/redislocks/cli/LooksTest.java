package io.github.redislocks.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.jr.ob.JSON;
import io.github.redislocks.FencedLock;
import io.github.redislocks.LockHandle;
import io.github.redislocks.LockOptions;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisReadLock;
import io.github.redislocks.fixture.OwnServer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import redis.clients.jedis.Jedis;

/** The output of the commands that look at locks, and their answers to wrong input. */
@Timeout(60)
class LooksTest {

    private static final int LISTED = 2_000;
    /** With each request. */
    private static final int SCANNED = 25;

    private static OwnServer server;
    private static RedisLocks locks;

    @BeforeAll
    static void start() {
        server = OwnServer.start();
        locks = RedisLocks.connect(server.uri());
    }

    @AfterAll
    static void stop() {
        locks.close();
        server.close();
    }

    private static Cli run(String... args) {
        return Cli.run(server.uri(), args);
    }

    @Test
    void list_heldAndKeptLocks_areInATable() throws Exception {
        try (LockHandle kept = locks.reentrantLock("list:kept").acquire()) {
            kept.releaseAfter(Duration.ofMinutes(5));
        }
        FencedLock lock = locks.reentrantLock("list:held {1}");
        lock.lock();
        lock.lock();
        try {
            Cli list = run("list", "list:*");
            assertThat(list.exitCode()).isZero();
            assertThat(list.out().lines())
                    .hasSize(3)
                    .anySatisfy(line -> assertThat(line).startsWith("LOCK").endsWith("TOKEN"))
                    .anySatisfy(line -> assertThat(line)
                            .matches("list:held \\{1}  held +" + locks.clientId() + ":\\d+ +\\S+s +\\S+s +2 +0 +0 +"
                                    + lock.fencingToken()))
                    .anySatisfy(line -> assertThat(line).matches("list:kept +kept +4m\\d+s +0 +0"));
        } finally {
            lock.unlock();
            lock.unlock();
        }
    }

    @Test
    void list_json_isAnObjectALine() throws Exception {
        try (LockHandle held = locks.reentrantLock("json:\"1\"").acquire()) {
            Cli list = run("list", "--json", "json:*");
            assertThat(list.out().lines()).hasSize(1);
            assertThat(JSON.std.mapFrom(list.out()))
                    .containsEntry("lock", "json:\"1\"")
                    .containsEntry("queue", 0)
                    .extractingByKey("holder")
                    .isInstanceOfSatisfying(
                            java.util.Map.class,
                            holder -> assertThat(holder.get("token")).isEqualTo(held.fencingToken()));
        }
    }

    /** Whatever the encoding of the locale, such as that of a cron job. */
    @Test
    void json_ofANameOfAnyCharacters_isAscii() throws Exception {
        String name = "json:büro 🐟";
        try (LockHandle held = locks.reentrantLock(name).acquire()) {
            assertThat(held.isHeld()).isTrue();
            for (Cli json : List.of(run("list", "--json", "json:b*"), run("inspect", "--json", name))) {
                assertThat(json.out()).isASCII();
                assertThat(JSON.std.mapFrom(json.out())).containsEntry("lock", name);
            }
        }
    }

    @Test
    void listAndInspect_whileClientsRead_sayHowMany() throws Exception {
        RedisReadLock reader = locks.readWriteLock("read:1").readLock();
        reader.lock();
        try {
            assertThat(run("list", "read:*").out().lines())
                    .element(1)
                    .asString()
                    .startsWith("read:1  read   readers ");
            assertThat(run("inspect", "read:1").out()).contains("read by", "one client", "last writer");
            assertThat(JSON.std
                            .mapFrom(run("inspect", "--json", "read:1").out())
                            .get("holder"))
                    .asInstanceOf(InstanceOfAssertFactories.MAP)
                    .containsEntry("owner", "readers")
                    .containsEntry("holds", 1)
                    .doesNotContainKey("pid");
        } finally {
            reader.unlock();
        }
    }

    @Test
    void list_none_saysSo() {
        assertThat(run("list", "nothing").out()).isEqualTo("No lock like nothing is held, kept or waited for.\n");
    }

    /** A name with control characters could clear the terminal, or look like another lock. */
    @Test
    void list_aNameThatControlsATerminal_isALineOfPlainText() throws Exception {
        String odd = "odd:\u001b[2J\n@|bold x|@";
        try (LockHandle held = locks.reentrantLock(odd).acquire()) {
            assertThat(held.name()).isEqualTo(odd);
            assertThat(run("list", "odd:*").out().lines())
                    .hasSize(2)
                    .element(1)
                    .asString()
                    .startsWith("odd:\\u001b[2J\\u000a@|bold x|@  held  ");
            assertThat(run("inspect", odd).out()).doesNotContain("\u001b").contains("\\u001b");
        }
    }

    @Test
    void inspectAndList_sayTheNameOfTheClient() throws Exception {
        try (RedisLocks named = RedisLocks.builder()
                        .uri(server.uri())
                        .clientName("orders")
                        .build();
                LockHandle held = named.reentrantLock("named").acquire()) {
            assertThat(run("inspect", "named").out()).contains(" of orders, process ");
            assertThat(JSON.std.mapFrom(run("list", "--json", "named").out()).get("holder"))
                    .asInstanceOf(InstanceOfAssertFactories.MAP)
                    .containsEntry("client", "orders")
                    .containsEntry("token", held.fencingToken());
        }
    }

    @Test
    void inspect_heldLock_saysByWhomAndWhoWaits() throws Exception {
        try (LockHandle held = locks.reentrantLock("seen").acquire();
                RedisLocks others = RedisLocks.connect(server.uri())) {
            CompletableFuture<LockHandle> waiting = others.reentrantLock("seen").acquireAsync();
            await().until(() -> locks.inspect("seen").queueLength() == 1);
            Cli inspect = run("inspect", "seen");
            assertThat(inspect.out())
                    .contains("held by  a handle of process "
                            + ProcessHandle.current().pid())
                    .contains(held.owner())
                    .contains("token")
                    .contains(Long.toString(held.fencingToken()))
                    .contains("queue    1 in order of arrival")
                    .contains(others.clientId());
            assertThat(JSON.std.mapFrom(run("inspect", "--json", "seen").out())).containsEntry("queueLength", 1);
            waiting.cancel(true);
        }
        assertThat(run("inspect", "free").out()).contains("free").contains("empty");
    }

    @Test
    void top_looksAsOftenAsItIsTold() throws Exception {
        try (LockHandle held = locks.reentrantLock("top").acquire()) {
            Cli top = run("top", "--times=2", "--every=1ms", "top");
            assertThat(top.out().lines().filter(line -> line.startsWith("1 locks in use")))
                    .hasSize(2);
            assertThat(held.isHeld()).isTrue();
        }
    }

    /** In processes, since the standard output of Java swallows that nobody reads. */
    @Test
    void topAndList_whoseReaderHasGone_end(@TempDir Path folder) throws Exception {
        String longName = "unread".repeat(50);
        try (OwnServer own = OwnServer.start();
                RedisLocks many = RedisLocks.connect(own.uri());
                Jedis jedis = new Jedis(own.uri())) {
            for (int i = 0; i < LISTED; i++) {
                many.reentrantLock(longName + i).acquire();
            }
            try (CliJvm list = CliJvm.startInto("head -1", folder, own.uri(), "list", "--json")) {
                assertThat(list.await()).as(list.err()).isZero();
                assertThat(list.out().lines()).hasSize(1);
            }
            // The lines that a pipe takes without a reader are a tenth of all.
            String scans = jedis.info("commandstats").replaceAll("(?s).*cmdstat_scan:calls=(\\d+).*", "$1");
            assertThat(Integer.parseInt(scans)).isLessThan(LISTED / SCANNED);
            try (CliJvm top = CliJvm.startInto("head -1", folder, own.uri(), "top", "--every=1ms", "none")) {
                assertThat(top.await()).as(top.err()).isZero();
                assertThat(top.out()).isEqualTo("0 locks in use\n");
            }
        }
    }

    @Test
    void deadlocks_twoThreadsThatWaitForEachOther_areASentence() throws Exception {
        assertThat(run("deadlocks").exitCode()).isZero();
        try (RedisLocks others = RedisLocks.connect(server.uri());
                LockHandle one = locks.reentrantLock("circle:1").acquire()) {
            // Handles belong to no thread, and a waiter has an owner of its own, so the circle is of threads.
            FencedLock here =
                    locks.reentrantLock("circle:2", LockOptions.defaults().fair(true));
            FencedLock there =
                    others.reentrantLock("circle:3", LockOptions.defaults().fair(true));
            CountDownLatch both = new CountDownLatch(2);
            Thread first = new Thread(() -> {
                here.lock();
                try {
                    both.countDown();
                    both.await();
                    locks.reentrantLock("circle:3", LockOptions.defaults().fair(true))
                            .lockInterruptibly();
                } catch (InterruptedException e) {
                    here.unlock();
                }
            });
            Thread second = new Thread(() -> {
                there.lock();
                try {
                    both.countDown();
                    both.await();
                    others.reentrantLock("circle:2", LockOptions.defaults().fair(true))
                            .lockInterruptibly();
                } catch (InterruptedException e) {
                    there.unlock();
                }
            });
            first.start();
            second.start();
            await().until(() -> locks.inspect("circle:2").queueLength() == 1
                    && locks.inspect("circle:3").queueLength() == 1);
            Cli found = run("deadlocks");
            assertThat(found.exitCode()).isEqualTo(1);
            assertThat(found.out().lines()).hasSize(1);
            assertThat(found.out())
                    .startsWith("Deadlock: ")
                    .contains("waits for \"circle:2\", which " + locks.clientId())
                    .contains("waits for \"circle:3\", which " + others.clientId());
            first.interrupt();
            second.interrupt();
            first.join();
            second.join();
            assertThat(one.isHeld()).isTrue();
        }
    }

    @Test
    void url_whereNoneBelongs_isNotShown() {
        for (String[] words : new String[][] {
            {"redis://u:secret@one"}, {"list", "--ulr=redis://u:secret@one"}, {"top", "--every=redis://u:secret@one"}
        }) {
            assertThat(Cli.run(null, words).err()).contains("://***").doesNotContain("secret");
        }
    }

    @Test
    void deadlocks_none_saysHowManyAreInLine() throws Exception {
        FencedLock lock = locks.reentrantLock("line", LockOptions.defaults().fair(true));
        assertThat(run("deadlocks").out()).isEqualTo("No deadlock: nobody waits.\n");
        lock.lock();
        Thread waiter = new Thread(() -> {
            lock.lock();
            lock.unlock();
        });
        waiter.start();
        try {
            await().until(() -> locks.inspect("line").queueLength() == 1);
            assertThat(run("deadlocks").out()).isEqualTo("No deadlock: 1 in line, and no circle.\n");
        } finally {
            lock.unlock();
            waiter.join();
        }
    }

    @Test
    void wrongInput_isExplained() {
        assertThat(Cli.run(null).exitCode()).isEqualTo(2);
        assertThat(Cli.run(null, "lst").err()).contains("Unmatched").contains("--help");
        assertThat(run("run", "--lease=5", "x", "--", "true").err())
                .contains("'5' is no time")
                .contains("30s");
        assertThat(run("run", "--lease=10ms", "x", "--", "true").err()).contains("use 1s or more");
        assertThat(run("run", "--wait=1s", "--if-busy=wait", "x", "true").err()).contains("use only one of them");
        assertThat(run("run", "x", "sh", "-c", "true").err()).contains("put -- before that command");
        assertThat(run("list", "").err()).contains("The pattern \"\" is empty");
        Cli away = Cli.run("redis://127.0.0.1:1", "list");
        assertThat(away.exitCode()).isEqualTo(69);
        assertThat(away.err()).contains("127.0.0.1:1").doesNotContain("\tat ");
        assertThat(Cli.run("http://x", "list").exitCode()).isEqualTo(2);
        assertThat(run("top", "--rows=0").err()).contains("name 1 or more");
        assertThat(run("top", "--times=-1").err()).contains("--times is -1: name 1 or more");
        assertThat(run("top", "--times=0").exitCode()).isEqualTo(2);
        assertThat(run("top", "--every=0s").err()).contains("use 1ms or more");
    }

    @Test
    void url_isOfTheEnvironment_unlessThatIsEmpty() {
        Server none = new Server();
        assertThat(none.urls(Map.of("REDIS_URL", "rediss://a"))).containsExactly("rediss://a");
        assertThat(none.urls(Map.of("REDIS_URL", ""))).containsExactly("redis://127.0.0.1:6379");
        assertThat(none.urls(Map.of())).containsExactly("redis://127.0.0.1:6379");
    }

    @Test
    void help_teaches() {
        Cli help = Cli.run(null, "--help");
        assertThat(help.exitCode()).isZero();
        assertThat(help.out()).contains("Exit codes:").contains("deadlocks").contains("redis-locks run nightly-report");
        assertThat(Cli.run(null, "generate-completion").out()).contains("complete -F");
        assertThat(Cli.run(null, "run", "--help").out()).contains("REDIS_LOCKS_TOKEN");
    }

    /** The examples as a user would type them with the launcher on the path. */
    @Test
    void examplesOfTheDocumentation_areUnderstood() throws Exception {
        Pattern example = Pattern.compile("(?m)^ *redis-locks (.+)$");
        List<String> sources = List.of(
                Files.readString(Path.of("../docs/cli.md")),
                Cli.run(null, "--help").out(),
                Cli.run(null, "run", "--help").out());
        int count = 0;
        for (String source : sources) {
            Matcher found = example.matcher(source);
            while (found.find()) {
                String[] args = found.group(1).replace("'", "").split(" ");
                if (!args[0].startsWith("[")) {
                    RedisLocksCommand.commandLine().parseArgs(args);
                    count++;
                }
            }
        }
        assertThat(count).isGreaterThan(15);
    }
}
