package io.github.redislocks.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.LockHandle;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisReentrantLock;
import io.github.redislocks.cli.TimelinePages.Bar;
import io.github.redislocks.cli.TimelinePages.Grant;
import io.github.redislocks.fixture.OwnServer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import jdk.jfr.Configuration;
import jdk.jfr.Recording;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Pages from recordings, of this JVM and of another one. */
@Timeout(120)
class TimelineTest {

    /** Escapes from a script, from an attribute and from a text of JavaScript, if it is let. */
    private static final String HOSTILE =
            "</script><img src=x onerror=\"document.title='ran'\"><!--<script>'\\u2028\u2028&amp;";

    @TempDir
    static Path folder;

    /** Of this JVM, and of one that runs {@code redis-locks run}. */
    private static Path here;

    private static Path there;
    private static long shopToken;
    private static long lostToken;

    @BeforeAll
    static void record() throws Exception {
        here = folder.resolve("here.jfr");
        there = folder.resolve("there.jfr");
        try (OwnServer server = OwnServer.start();
                Recording recording = new Recording(Configuration.getConfiguration("default"))) {
            for (String event : List.of("LockWait", "LockHold")) {
                recording.enable("io.github.redislocks." + event).with("atLeast", "0 ms");
            }
            recording.start();
            CountDownLatch told = new CountDownLatch(1);
            try (RedisLocks locks = RedisLocks.builder()
                            .uri(server.uri())
                            .onLockLost(loss -> told.countDown())
                            .build();
                    RedisLocks others = RedisLocks.connect(server.uri())) {
                contend(locks, others);
                handOn(locks, server.uri());
                LockHandle lost = locks.reentrantLock("lost").acquire();
                lostToken = lost.fencingToken();
                others.reentrantLock("lost").forceUnlock();
                assertThat(lost.release()).isFalse();
                assertThat(told.await(60, TimeUnit.SECONDS)).isTrue();
                others.reentrantLock(HOSTILE).acquire().close();
            }
            recording.stop();
            recording.dump(here);
        }
    }

    private static void contend(RedisLocks locks, RedisLocks others) throws InterruptedException {
        RedisReentrantLock mine = locks.reentrantLock("shop");
        mine.lock();
        Thread customer = new Thread(
                () -> {
                    RedisReentrantLock theirs = others.reentrantLock("shop");
                    assertThat(theirs.tryLock()).isFalse();
                    theirs.lock();
                    shopToken = theirs.fencingToken();
                    theirs.unlock();
                },
                "customer <b>1</b>");
        customer.start();
        awaitWaiter(locks, "shop");
        mine.unlock();
        customer.join();
    }

    /** To another JVM. */
    private static void handOn(RedisLocks locks, String uri) throws Exception {
        RedisReentrantLock mine = locks.reentrantLock("shared");
        mine.lock();
        Process run = new ProcessBuilder(List.of(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:TieredStopAtLevel=1",
                        "-XX:StartFlightRecording:filename=" + there + ",+io.github.redislocks.LockWait#atLeast=0ms",
                        "-cp",
                        CliJvm.lib() + "/*",
                        Main.class.getName(),
                        "run",
                        "--url=" + uri,
                        "shared",
                        "--",
                        "sleep",
                        "0.05"))
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        try {
            awaitWaiter(locks, "shared");
            mine.unlock();
            assertThat(run.waitFor()).isZero();
        } finally {
            run.destroyForcibly();
        }
    }

    private static void awaitWaiter(RedisLocks locks, String name) {
        await().until(() -> locks.inspect(name).queueLength() > 0);
    }

    private static TimelinePages page(Path... files) throws IOException {
        return TimelinePages.read(written(files));
    }

    static Path written(Path... files) throws IOException {
        Path page = Files.createTempFile(folder, "page", ".html");
        Cli made = timeline(page, List.of(files));
        assertThat(made.exitCode()).as(made.err()).isZero();
        assertThat(made.out()).startsWith(page + ": ");
        return page;
    }

    private static Cli timeline(Path page, List<Path> files, String... options) {
        List<String> args = new ArrayList<>(List.of("timeline"));
        files.forEach(file -> args.add(file.toString()));
        args.addAll(List.of(options));
        args.addAll(List.of("-o", page.toString()));
        return Cli.run(null, args.toArray(String[]::new));
    }

    private static Cli refused(Path... files) {
        Path page = folder.resolve("refused.html");
        Cli made = timeline(page, List.of(files));
        assertThat(made.exitCode()).isEqualTo(2);
        assertThat(made.err().lines()).hasSize(1);
        assertThat(page).doesNotExist();
        return made;
    }

    @Test
    void contention_isWaitsHoldsAndAHandOff_besideTheirThreads() throws IOException {
        TimelinePages page = page(here);
        String main = Thread.currentThread().getName();
        assertThat(page.lanes()).contains("customer <b>1</b>", main);
        assertThat(page.bars("shop", "busy")).singleElement().satisfies(busy -> {
            assertThat(busy.lane()).isEqualTo("customer <b>1</b>");
            assertThat(busy.token()).isEqualTo("0");
        });
        assertThat(page.bars("shop", Recorded.HOLD))
                .extracting(Bar::lane)
                .containsExactlyInAnyOrder(main, "customer <b>1</b>");
        Grant grant = page.grants().stream()
                .filter(each -> each.from().lock().equals("shop"))
                .findFirst()
                .orElseThrow();
        assertThat(grant.from().lane()).isEqualTo(main);
        assertThat(grant.to().lane()).isEqualTo("customer <b>1</b>");
        assertThat(grant.to().token()).isEqualTo(Long.toString(shopToken));
        assertThat(grant.to().site()).contains("TimelineTest.lambda$contend");
    }

    @Test
    void handOffBetweenJvms_isBetweenTheirRecordings() throws IOException {
        TimelinePages page = page(there, here);
        assertThat(page.jvms()).containsExactly("there.jfr", "here.jfr");
        assertThat(page.grants())
                .filteredOn(grant -> grant.from().lock().equals("shared"))
                .singleElement()
                .satisfies(grant -> {
                    assertThat(grant.from().jvm()).isEqualTo("here.jfr");
                    assertThat(grant.to().jvm()).isEqualTo("there.jfr");
                    assertThat(grant.to().length()).isGreaterThan(50_000);
                });
    }

    @Test
    void lossOfAHandle_isShownWithItsReasonAndToken() throws IOException {
        TimelinePages page = page(here);
        assertThat(page.losses()).singleElement().satisfies(loss -> {
            assertThat(loss.lock()).isEqualTo("lost");
            assertThat(loss.token()).isEqualTo(Long.toString(lostToken));
            assertThat(loss.reason()).isEqualTo("TAKEN");
            assertThat(loss.owner()).startsWith("handle ");
        });
        assertThat(page.bars("lost", "lost"))
                .singleElement()
                .satisfies(bar -> assertThat(bar.length()).isPositive());
    }

    @Test
    void namesThatLookLikePartsOfAPage_areTextInIt() throws IOException {
        Path page = written(here);
        String text = Files.readString(page);
        assertThat(text).doesNotContain("<img", "<b>1", "\u2028");
        assertThat(text.split("</script>", -1)).hasSize(3);
        assertThat(text.split("<script", -1)).hasSize(3);
        assertThat(TimelinePages.read(page).bars(HOSTILE, Recorded.HOLD)).hasSize(1);
        assertThat(text).contains("default-src 'none'").doesNotContain("http://", "https://");
    }

    @Test
    void oneRecordingTwice_isDrawnOnce() throws IOException {
        Path copy = Files.copy(here, folder.resolve("copy.jfr"));
        assertThat(page(here, copy).bars()).hasSameSizeAs(page(here).bars());
    }

    /** Of waits and holds, the longest first. */
    private static List<Long> lengths(TimelinePages page) {
        return page.bars().stream()
                .filter(bar -> !bar.kind().equals("lost"))
                .map(Bar::length)
                .sorted(Comparator.reverseOrder())
                .toList();
    }

    @Test
    void moreBarsThanTheBound_areLeftOut_theShortestFirst() throws IOException {
        Path page = folder.resolve("bounded.html");
        Cli made = timeline(page, List.of(here), "--bars=3");
        assertThat(made.out()).contains("are left out, the longest of which took", "the page shows the longest 3");
        TimelinePages bounded = TimelinePages.read(page);
        assertThat(lengths(bounded)).isEqualTo(lengths(page(here)).subList(0, 3));
        assertThat(bounded.list("leftOut")).hasSize(1);
    }

    @Test
    void input_thatIsNoRecordingOfLocks_isRefusedWithTheRemedy() throws Exception {
        Path none = folder.resolve("none.jfr");
        assertThat(refused(here, none).err()).contains(none + " is not there", "name recordings");
        assertThat(refused(folder).err()).contains(folder + " is a folder");
        Path text = Files.writeString(folder.resolve("text.jfr"), "no recording");
        assertThat(refused(text).err())
                .contains(text + " is no whole recording", "JFR.dump", "-XX:StartFlightRecording");
        Path empty = Files.createFile(folder.resolve("nothing.jfr"));
        assertThat(refused(empty).err()).contains(empty + " is no whole recording");
        byte[] whole = Files.readAllBytes(here);
        Path half = Files.write(folder.resolve("half.jfr"), Arrays.copyOf(whole, whole.length / 2));
        assertThat(refused(half).err()).contains(half + " is no whole recording");
        Path idle = folder.resolve("idle.jfr");
        try (Recording recording = new Recording()) {
            recording.start();
            recording.stop();
            recording.dump(idle);
        }
        assertThat(refused(idle).err())
                .contains(idle + " has no events of redis-locks", "java -XX:StartFlightRecording", "atLeast");
        Cli one = timeline(folder.resolve("one.html"), List.of(here, idle));
        assertThat(one.exitCode()).isZero();
        assertThat(one.err()).contains(idle + " has no events of redis-locks");
    }

    @Test
    void output_thatCannotBe_isRefused() {
        Path away = folder.resolve("no-such-folder").resolve("page.html");
        Cli noFolder = timeline(away, List.of(here));
        assertThat(noFolder.exitCode()).isEqualTo(2);
        assertThat(noFolder.err()).contains(away + " cannot be written", "name a file in a folder");
        Cli same = timeline(here, List.of(here));
        assertThat(same.exitCode()).isEqualTo(2);
        assertThat(same.err()).contains("would replace a recording");
        assertThat(timeline(folder.resolve("x.html"), List.of(here), "--bars=0").err())
                .contains("name 1 or more");
        assertThat(Cli.run(null, "timeline").err()).contains("Missing required parameter", "FILE");
    }
}
