package io.github.redislocks.docs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.Leadership;
import io.github.redislocks.LockHandle;
import io.github.redislocks.LockLost;
import io.github.redislocks.LockOptions;
import io.github.redislocks.LockUnavailableException;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisReentrantLock;
import io.github.redislocks.fixture.Artifacts;
import io.github.redislocks.fixture.RedisServer;
import io.github.redislocks.state.Settings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Lock;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * The README and the pages it leads to, against the code: their snippets are parts of the tests, and so compiled and
 * run; their numbers are ours.
 */
@Timeout(60)
@Tag("server")
class ReadmeTest {

    private static final Path TESTS = Path.of("src", "test", "java", "io", "github", "redislocks");

    private static RedisServer server;
    private static String uri;

    /** The shop of the snippets. */
    private static final class Stock {

        private final AtomicInteger left = new AtomicInteger(3);

        int sell() {
            return left.decrementAndGet();
        }

        void refill(int count) {
            left.addAndGet(count);
        }
    }

    @BeforeAll
    static void start() {
        server = RedisServer.start();
        uri = server.uri();
    }

    @AfterAll
    static void stop() {
        server.close();
    }

    @Test
    void lock_asReentrantLock_guardsItsBlock() {
        Stock stock = new Stock();
        RedisLocks locks = RedisLocks.connect(uri); // such as redis://localhost:6379
        Lock lock = locks.reentrantLock("inventory:sku-42"); // was: new ReentrantLock()

        lock.lock();
        try {
            stock.sell();
        } finally {
            lock.unlock();
        }

        assertThat(stock.left).hasValue(2);
        assertThat(locks.reentrantLock("inventory:sku-42").isLocked()).isFalse();
        locks.close();
    }

    @Test
    void callWithLock_action_returnsItsValue() throws InterruptedException {
        Stock stock = new Stock();
        try (RedisLocks locks = RedisLocks.connect(uri)) {
            RedisReentrantLock lock = locks.reentrantLock("inventory:sku-42");
            int left = lock.callWithLock(() -> stock.sell());
            lock.runWithLock(() -> stock.refill(10));
            int last = lock.tryCallWithLock(Duration.ofSeconds(2), () -> stock.sell())
                    .orElse(0); // 0 if it was busy

            assertThat(left).isEqualTo(2);
            assertThat(last).isEqualTo(11);
        }
    }

    /** The work that the handles protect. */
    private static final class Job {

        private volatile long token;

        void run(long fencingToken) {
            token = fencingToken;
        }

        CompletableFuture<Boolean> start(long fencingToken) {
            return CompletableFuture.supplyAsync(() -> {
                run(fencingToken);
                return true;
            });
        }

        void stop() {
            token = -1;
        }
    }

    @Test
    void handle_heldWaitedForAndReleased_withoutAThread() throws Exception {
        Job job = new Job();
        try (RedisLocks locks = RedisLocks.connect(uri)) {
            try (LockHandle held = locks.reentrantLock("report:monday").acquire()) {
                held.lost().thenAccept(loss -> job.stop());
                job.run(held.fencingToken());
            }

            // No thread waits; the lock is released when the stage of the job ends, even if the job fails to start.
            CompletableFuture<Boolean> done =
                    locks.reentrantLock("report:tuesday").callWithHandleAsync(held -> job.start(held.fencingToken()));

            assertThat(done.get(30, TimeUnit.SECONDS)).isTrue();
            assertThat(job.token).isPositive();
            assertThat(locks.reentrantLock("report:monday").isLocked()).isFalse();
            assertThat(locks.reentrantLock("report:tuesday").isLocked()).isFalse();
        }
    }

    @Test
    void releaseAfter_ofAJobThatOthersScheduleToo_keepsThemFromRunningIt() throws InterruptedException {
        Job job = new Job();
        try (RedisLocks locks = RedisLocks.connect(uri)) {
            Optional<LockHandle> turn = locks.reentrantLock("job:invoices").tryAcquire(Duration.ZERO);
            if (turn.isPresent()) { // else another has run it, or runs it
                try (LockHandle held = turn.get()) {
                    job.run(held.fencingToken());
                    held.releaseAfter(Duration.ofSeconds(50)); // of the minute between two ticks, since it was acquired
                }
            }

            assertThat(job.token).isPositive();
            assertThat(locks.reentrantLock("job:invoices").tryAcquire(Duration.ZERO))
                    .isEmpty();
            assertThat(locks.inspect("job:invoices").keptFor().orElseThrow())
                    .isBetween(Duration.ofSeconds(1), Duration.ofSeconds(50));
            assertThat(locks.reentrantLock("job:invoices").forceUnlock()).isTrue();
        }
    }

    @Test
    void leadership_untilItIsClosed_leads() {
        Job outbox = new Job();
        try (RedisLocks locks = RedisLocks.connect(uri)) {
            Leadership leadership = locks.leadership("outbox", term -> {
                do {
                    outbox.run(term.fencingToken());
                } while (!term.awaitStopping(Duration.ofSeconds(10)));
            });
            await().until(() -> outbox.token > 0);
            assertThat(leadership.isLeader()).isTrue();
            assertThat(leadership.close(Duration.ofSeconds(20))).isTrue();
            assertThat(locks.reentrantLock("outbox").isLocked()).isFalse();
        }
    }

    private static String sellWithin2Seconds(Lock lock, Stock stock) throws InterruptedException {
        try {
            if (!lock.tryLock(2, TimeUnit.SECONDS)) {
                return "busy: somebody else holds it";
            }
        } catch (LockUnavailableException e) {
            return "unknown: Redis does not answer";
        }
        try {
            return "sold, left: " + stock.sell();
        } finally {
            lock.unlock();
        }
    }

    @Test
    void tryLock_freeBusyOrRedisAway_tellsThemApart() throws InterruptedException {
        Stock stock = new Stock();
        try (RedisServer ours = RedisServer.start();
                RedisLocks locks = RedisLocks.connect(ours.uri());
                RedisLocks others = RedisLocks.connect(ours.uri())) {
            Lock lock = locks.reentrantLock("inventory:sku-42");
            RedisReentrantLock theirs = others.reentrantLock("inventory:sku-42");
            assertThat(sellWithin2Seconds(lock, stock)).isEqualTo("sold, left: 2");
            theirs.lock();
            assertThat(sellWithin2Seconds(lock, stock)).startsWith("busy");
            theirs.unlock();
            ours.kill();
            assertThat(sellWithin2Seconds(lock, stock)).startsWith("unknown");
        }
    }

    @Test
    void ensureHeld_everyStep_letsALongJobRun() {
        List<String> customers = List.of("a", "b");
        List<String> sent = new ArrayList<>();
        try (RedisLocks locks = RedisLocks.connect(uri)) {
            RedisReentrantLock job = locks.reentrantLock("job:invoices");
            if (job.tryLock()) {
                try {
                    for (String customer : customers) {
                        job.ensureHeld(); // throws LockLostException; asks no server
                        sent.add(customer);
                    }
                } finally {
                    job.unlock();
                }
            }
        }
        assertThat(sent).isEqualTo(customers);
    }

    @Test
    void builder_allSettings_connectsAndTellsOfALoss() throws InterruptedException {
        BlockingQueue<LockLost> alarms = new LinkedBlockingQueue<>();
        RedisLocks locks = RedisLocks.builder()
                .uri(uri)
                .keyPrefix("shop")
                .lease(Duration.ofSeconds(20))
                .retryFor(Duration.ofSeconds(5))
                .onLockLost(loss -> alarms.add(loss))
                .build();

        locks.reentrantLock("inventory:sku-42", LockOptions.defaults().fixedLease(Duration.ofMillis(100)))
                .lock();
        assertThat(alarms.poll(20, TimeUnit.SECONDS))
                .extracting(LockLost::lockName, LockLost::reason)
                .containsExactly("inventory:sku-42", LockLost.Reason.EXPIRED);
        locks.close();
    }

    @Test
    void snippets_java_arePartsOfTheTests() throws IOException {
        String sources = withoutSpaces(Files.readString(TESTS.resolve("docs/ReadmeTest.java")))
                + withoutSpaces(Files.readString(TESTS.resolve("docs/FencedDatabaseTest.java")));
        String pages = readme() + page("guide") + page("fencing");
        assertThat(matches(readme(), "```java\\n(.*?)```")).hasSizeGreaterThanOrEqualTo(2);
        assertThat(matches(pages, "```java\\n(.*?)```"))
                .hasSizeGreaterThanOrEqualTo(10)
                .allSatisfy(snippet -> assertThat(sources).contains(withoutSpaces(snippet)));
    }

    @Test
    void coordinates_areThoseOfThePom() throws IOException {
        List<String> inPom = matches(Files.readString(Path.of("pom.xml")), "<version>(.*?)</version>");
        assertThat(matches(readme(), "<version>(.*?)</version>")).containsExactly(inPom.get(0));
    }

    @Test
    void defaults_areThoseOfSettings() throws IOException {
        assertThat(page("reference").replaceAll(" +", " "))
                .contains("| lease of a hold that is renewed | " + seconds(Settings.DEFAULT_LEASE))
                .contains("| `retryFor`, how long `lock()` goes on trying during an outage | "
                        + seconds(Settings.DEFAULT_RETRY_FOR))
                .contains("| `commandTimeout`, the time of one request | " + seconds(Settings.DEFAULT_COMMAND_TIMEOUT))
                .contains("| `maxConnections`, shared by lock attempts | " + Settings.DEFAULT_MAX_CONNECTIONS)
                .contains("that none of its threads holds, "
                        + String.format(Locale.ROOT, "%,d", Settings.DEFAULT_MAX_RESIDENT) + " locks at most")
                .contains("| `keyPrefix` | `" + Settings.DEFAULT_KEY_PREFIX + "`")
                .contains(Settings.MIN_LEASE.toMillis() + " ms to " + Settings.MAX_LEASE.toHours() + " h");
    }

    @Test
    void reasons_areAllExplained() throws IOException {
        String reference = page("reference");
        assertThat(LockLost.Reason.values())
                .allSatisfy(reason -> assertThat(reference).contains("| `" + reason + "` |"));
    }

    @Test
    void links_ofAllDocuments_leadToFiles() throws IOException {
        for (Path document : documents()) {
            Path folder = document.toAbsolutePath().getParent();
            assertThat(matches(Files.readString(document), "\\]\\(([^)#:]+)(?:#[^)]*)?\\)"))
                    .as("links of %s", document)
                    .allSatisfy(link -> assertThat(folder.resolve(link)).exists());
        }
    }

    @Test
    void testClasses_namedInAllDocuments_exist() throws IOException {
        List<String> classes = Artifacts.sources("src/test/java").stream()
                .map(file -> file.getFileName().toString())
                .filter(file -> file.endsWith("Test.java"))
                .map(file -> file.replace(".java", ""))
                .toList();
        for (Path document : documents()) {
            assertThat(matches(Files.readString(document), "`([A-Z][A-Za-z]*Test)`"))
                    .as("test classes named in %s", document)
                    .isSubsetOf(classes);
        }
    }

    private static List<Path> documents() throws IOException {
        List<Path> documents = new ArrayList<>(List.of(Path.of("README.md"), Path.of("CHANGELOG.md")));
        try (var files = Files.walk(Path.of("docs"))) {
            files.filter(file -> file.toString().endsWith(".md")).forEach(documents::add);
        }
        assertThat(documents).contains(Path.of("docs", "SAFETY.md"));
        return documents;
    }

    private static String readme() throws IOException {
        return Files.readString(Path.of("README.md"));
    }

    private static String page(String name) throws IOException {
        return Files.readString(Path.of("docs", name + ".md"));
    }

    /** The first group of every match. */
    private static List<String> matches(String text, String pattern) {
        return Pattern.compile(pattern, Pattern.DOTALL)
                .matcher(text)
                .results()
                .map((MatchResult match) -> match.group(1))
                .toList();
    }

    private static String withoutSpaces(String text) {
        return text.replaceAll("\\s+", "");
    }

    private static String seconds(Duration duration) {
        return duration.toSeconds() + " s";
    }
}
