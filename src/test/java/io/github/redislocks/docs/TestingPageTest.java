package io.github.redislocks.docs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.redislocks.LockLostException;
import io.github.redislocks.LockUnavailableException;
import io.github.redislocks.Locks;
import io.github.redislocks.PermitHandle;
import io.github.redislocks.Permits;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisReadLock;
import io.github.redislocks.RedisReentrantLock;
import io.github.redislocks.RedisReentrantReadWriteLock;
import io.github.redislocks.testkit.InMemoryLocks;
import io.github.redislocks.testkit.InMemoryLocksExtension;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** The snippets of docs/testing.md are parts of this test, and so compiled and run. */
@Timeout(30)
class TestingPageTest {

    private static final Pattern SNIPPET = Pattern.compile("```java\\n(.*?)```", Pattern.DOTALL);

    /** The code that the page tests: it asks before each row whether it still holds the lock. */
    private static final class ReportJob {

        private final Locks locks;
        private final List<String> rows;
        private final List<String> written = new ArrayList<>();
        private final Map<String, Runnable> after = new HashMap<>();

        ReportJob(Locks locks, List<String> rows) {
            this.locks = locks;
            this.rows = rows;
        }

        void afterRow(String row, Runnable action) {
            after.put(row, action);
        }

        void run() {
            locks.reentrantLock("report").callWithLock(() -> {
                for (String row : rows) {
                    locks.reentrantLock("report").ensureHeld();
                    written.add(row);
                    after.getOrDefault(row, () -> {}).run();
                }
                return written.size();
            });
        }

        List<String> written() {
            return written;
        }
    }

    @Nested
    @ExtendWith(InMemoryLocksExtension.class)
    class ReportJobTest {

        @Test
        void run_lockIsLost_stopsBeforeTheNextRow(InMemoryLocks memory, RedisLocks locks) {
            ReportJob job = new ReportJob(locks, List.of("one", "two", "three"));
            job.afterRow("two", () -> memory.lose("report"));
            assertThrows(LockLostException.class, job::run);
            assertEquals(List.of("one", "two"), job.written());
        }
    }

    @Test
    void pause_showsTheRival() {
        try (InMemoryLocks memory = InMemoryLocks.start()) {
            RedisLocks locks = memory.client();
            RedisReentrantLock lock = locks.reentrantLock("report");
            lock.lock();
            memory.pause(locks); // while it holds the lock
            memory.advance(Duration.ofSeconds(31));
            assertTrue(memory.newClient().reentrantLock("report").tryLock());
            memory.resume(locks);
            assertFalse(lock.isHeldByCurrentThread());
        }
    }

    @Test
    void unavailable_showsWhatIsKnown() {
        try (InMemoryLocks memory = InMemoryLocks.start()) {
            RedisReentrantLock lock = memory.client().reentrantLock("report");
            RedisReentrantLock other = memory.newClient().reentrantLock("report");
            lock.lock();
            memory.unavailable();
            assertTrue(lock.isHeldByCurrentThread());
            assertThrows(LockUnavailableException.class, () -> other.tryLock());
            memory.advance(Duration.ofSeconds(31));
            assertFalse(lock.isHeldByCurrentThread());
            memory.available();
        }
    }

    @Test
    void readers_keepWritersOut_untilTheyLoseTheLock() {
        try (InMemoryLocks memory = InMemoryLocks.start()) {
            RedisLocks locks = memory.client();
            RedisReadLock reader = locks.readWriteLock("prices").readLock();
            RedisReentrantReadWriteLock other = memory.newClient().readWriteLock("prices");
            reader.lock();
            assertTrue(other.readLock().tryLock());
            other.readLock().unlock();
            assertFalse(other.writeLock().tryLock());
            memory.lose("prices");
            assertThrows(LockLostException.class, reader::ensureHeld);
        }
    }

    @Test
    void permits_ofAPausedClient_goToOthers() throws InterruptedException {
        try (InMemoryLocks memory = InMemoryLocks.start()) {
            RedisLocks locks = memory.client();
            PermitHandle permit = locks.permits("encoder", 1).acquire();
            Permits others = memory.newClient().permits("encoder", 1);
            assertTrue(others.tryAcquire(Duration.ZERO).isEmpty());
            memory.pause(locks);
            memory.advance(Duration.ofSeconds(31));
            PermitHandle next = others.tryAcquire(Duration.ZERO).orElseThrow();
            memory.resume(locks);
            assertFalse(permit.isHeld());
            assertTrue(next.previousHolderLost());
        }
    }

    @Test
    void losePermits_tellsTheOwner() throws InterruptedException {
        try (InMemoryLocks memory = InMemoryLocks.start()) {
            RedisLocks locks = memory.client();
            PermitHandle first = locks.permits("encoder", 2).acquire();
            memory.losePermits("encoder");
            assertThrows(LockLostException.class, first::ensureHeld);
        }
    }

    @Test
    void snippets_java_arePartsOfThisTest() throws IOException {
        String source = withoutSpaces(Files.readString(
                Path.of("src", "test", "java", "io", "github", "redislocks", "docs", "TestingPageTest.java")));
        List<String> snippets = SNIPPET.matcher(Files.readString(Path.of("docs", "testing.md")))
                .results()
                .map(found -> found.group(1))
                .toList();
        assertThat(snippets)
                .hasSizeGreaterThanOrEqualTo(3)
                .allSatisfy(snippet -> assertThat(source).contains(withoutSpaces(snippet)));
    }

    private static String withoutSpaces(String text) {
        return text.replaceAll("\\s", "");
    }
}
