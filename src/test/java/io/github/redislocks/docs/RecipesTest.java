package io.github.redislocks.docs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.FencedLock;
import io.github.redislocks.LockHandle;
import io.github.redislocks.LockLostException;
import io.github.redislocks.PermitHandle;
import io.github.redislocks.Permits;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.fixture.RedisServer;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import reactor.core.Disposable;
import reactor.core.publisher.Mono;
import redis.clients.jedis.Jedis;

/** The snippets of docs/handles.md are parts of this test, and so compiled and run. */
@Timeout(60)
@Tag("server")
class RecipesTest {

    private static final int CANCELS = 2_000;

    private final RedisServer server = RedisServer.start();
    private final RedisLocks locks = RedisLocks.connect(server.uri());
    private final RedisLocks others = RedisLocks.connect(server.uri());
    private final Jedis redis = new Jedis(URI.create(server.uri()));
    private final List<String> rows = List.of("one", "two", "three");
    private final Store store = new Store();
    private final Feed feed = new Feed();
    private final List<String> encoded = new ArrayList<>();

    @AfterEach
    void close() {
        locks.close();
        others.close();
        redis.close();
        server.close();
    }

    /** The store that the snippets write to. */
    private static final class Store {

        final AtomicInteger written = new AtomicInteger();
        final CountDownLatch begun = new CountDownLatch(1);

        int write(List<String> rows, long token) {
            assertThat(token).isPositive();
            written.addAndGet(rows.size());
            return rows.size();
        }

        CompletableFuture<Integer> send(List<String> rows, long token) {
            return CompletableFuture.supplyAsync(() -> write(rows, token));
        }

        List<Callable<Integer>> parts(List<String> rows, long token) {
            return rows.stream()
                    .<Callable<Integer>>map(row -> () -> {
                        begun.countDown();
                        return write(List.of(row), token);
                    })
                    .collect(Collectors.toList());
        }
    }

    /** The source that the snippets read from; an interrupt ends it. */
    private static final class Feed {

        final CountDownLatch begun = new CountDownLatch(1);

        void copyTo(Store store) throws InterruptedException {
            store.written.incrementAndGet();
            begun.countDown();
            new CountDownLatch(1).await();
        }
    }

    private void assertNothingLeft() {
        await().untilAsserted(() ->
                assertThat(redis.keys("*")).allSatisfy(key -> assertThat(key).endsWith(":fence")));
    }

    @Test
    void work_withAHandle_isWritten() throws Exception {
        FencedLock report = locks.reentrantLock("report");
        // Runs here; the lock is released when the action ends, however it ends.
        int count = report.callWithHandle(held -> store.write(rows, held.fencingToken()));
        assertThat(count).isEqualTo(3);

        // No thread waits; the lock is released when the stage ends.
        CompletableFuture<Integer> sent = report.callWithHandleAsync(held -> store.send(rows, held.fencingToken()));
        assertThat(sent.get(30, TimeUnit.SECONDS)).isEqualTo(3);
        assertNothingLeft();
    }

    private void copy() throws InterruptedException {
        FencedLock report = locks.reentrantLock("report");
        // The same if the lock becomes free in time, else false. A loss interrupts the thread of the action.
        boolean copied = report.tryRunWithHandle(Duration.ofSeconds(2), held -> feed.copyTo(store));
        assertThat(copied).isTrue();
    }

    @Test
    void work_whoseLockIsForced_isInterrupted() throws Exception {
        CompletableFuture<Void> copied = CompletableFuture.runAsync(() -> {
            assertThatThrownBy(this::copy).isInstanceOf(LockLostException.class);
        });
        feed.begun.await();
        await().until(() -> !redis.pubsubChannels("redis-locks:mailbox:*").isEmpty());
        assertThat(others.reentrantLock("report").forceUnlock()).isTrue();
        copied.get(30, TimeUnit.SECONDS);
    }

    private Mono<Integer> mono() {
        Mono<Integer> written = Mono.usingWhen(
                        Mono.fromFuture(() -> locks.reentrantLock("report").acquireAsync()),
                        held -> Mono.fromFuture(store.send(rows, held.fencingToken())),
                        held -> Mono.fromCompletionStage(held.releaseAsync()))
                .doOnDiscard(LockHandle.class, LockHandle::releaseAsync);
        return written;
    }

    @Test
    void mono_usesTheLock_andReleasesIt() {
        assertThat(mono().block()).isEqualTo(3);
        assertNothingLeft();
    }

    @Test
    void mono_cancelledAtAnyMoment_leavesNothing() throws Exception {
        try (LockHandle held = others.reentrantLock("report").acquire()) {
            Disposable waiting = mono().subscribe();
            await().until(() -> redis.exists("redis-locks:{report}:queue"));
            waiting.dispose();
            held.ensureHeld();
        }
        assertNothingLeft();
        for (int i = 0; i < CANCELS; i++) {
            Disposable subscriber = mono().subscribe();
            long until = System.nanoTime() + i % 100 * 10_000L;
            while (System.nanoTime() < until) {
                Thread.onSpinWait();
            }
            subscriber.dispose();
        }
        assertNothingLeft();
        assertThat(mono().block()).isEqualTo(3);
    }

    /** Threads of any kind: virtual ones where there are any. */
    private static ExecutorService tasks() throws ReflectiveOperationException {
        return Runtime.version().feature() < 21
                ? Executors.newCachedThreadPool()
                : (ExecutorService) Executors.class
                        .getMethod("newVirtualThreadPerTaskExecutor")
                        .invoke(null);
    }

    private int sum(ExecutorService tasks) throws Exception {
        int sum = locks.reentrantLock("report").callWithHandle(held -> {
            int total = 0;
            for (Future<Integer> part : tasks.invokeAll(store.parts(rows, held.fencingToken()))) {
                total += part.get();
            }
            return total;
        });
        return sum;
    }

    @Test
    void tasks_shareTheHandle() throws Exception {
        ExecutorService tasks = tasks();
        assertThat(sum(tasks)).isEqualTo(3);
        tasks.shutdown();
        assertNothingLeft();
    }

    @Test
    void permits_areGivenBack_whenTheirHandleIsClosed() throws InterruptedException {
        String film = "film";
        Permits encoders = locks.permits("encoder", 8);
        try (PermitHandle permit = encoders.acquire()) {
            encode(film, permit.number());
        }
        assertThat(encoders.available()).isEqualTo(8);
        assertThat(encoded).containsExactly("film by 0");
    }

    private void encode(String film, int encoder) {
        encoded.add(film + " by " + encoder);
    }

    @Test
    void snippets_java_arePartsOfThisTest() throws IOException {
        String source = withoutSpaces(Files.readString(
                Path.of("src", "test", "java", "io", "github", "redislocks", "docs", "RecipesTest.java")));
        List<String> snippets = new ArrayList<>();
        for (String block : matches(Files.readString(Path.of("docs", "handles.md")), "```java\\n(.*?)```")) {
            snippets.addAll(List.of(block.split("\n\n")));
        }
        assertThat(snippets)
                .hasSizeGreaterThanOrEqualTo(5)
                .allSatisfy(snippet -> assertThat(source).contains(withoutSpaces(snippet)));
    }

    private static List<String> matches(String text, String pattern) {
        return Pattern.compile(pattern, Pattern.DOTALL)
                .matcher(text)
                .results()
                .map((MatchResult found) -> found.group(1))
                .collect(Collectors.toList());
    }

    private static String withoutSpaces(String text) {
        return text.replaceAll("\\s", "");
    }
}
