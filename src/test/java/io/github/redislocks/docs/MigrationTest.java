package io.github.redislocks.docs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.redislocks.FencedLock;
import io.github.redislocks.LockHandle;
import io.github.redislocks.LockLostException;
import io.github.redislocks.LockOptions;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisReentrantLock;
import io.github.redislocks.fixture.RedisServer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The snippets of docs/migration are parts of this test, and so compiled and run; so are the sentences about them. */
@Timeout(60)
@Tag("server")
@Tag("once")
class MigrationTest {

    private static RedisServer server;
    private static String uri;

    private final List<Long> shipped = new ArrayList<>();
    private RedisLocks locks;

    @BeforeAll
    static void start() {
        server = RedisServer.start();
        uri = server.uri();
    }

    @AfterAll
    static void stop() {
        server.close();
    }

    @BeforeEach
    void connect() {
        locks = RedisLocks.connect(uri);
    }

    @AfterEach
    void close() {
        locks.close();
    }

    private void ship() {
        ship(0);
    }

    private void run(long token) {
        ship(token);
    }

    private void ship(long token) {
        shipped.add(token);
    }

    @Test
    void reentrantLock_changedLine_makesALockForAllJvms() {
        Lock lock = locks.reentrantLock("inventory:sku-42"); // was: new ReentrantLock()
        lock.lock();
        try (RedisLocks others = RedisLocks.connect(uri)) {
            assertThat(others.reentrantLock("inventory:sku-42").tryLock()).isFalse();
        } finally {
            lock.unlock();
        }
    }

    @Test
    void reentrantLock_longWork_asksWhetherItIsHeld() {
        List<String> rows = List.of("one", "two");
        List<String> sent = new ArrayList<>();
        RedisReentrantLock job = locks.reentrantLock("job:invoices");
        job.lock();
        try {
            for (String row : rows) {
                job.ensureHeld(); // throws LockLostException; asks no server
                sent.add(row);
            }
        } finally {
            job.unlock();
        }
        assertThat(sent).isEqualTo(rows);
    }

    @Test
    void redisson_twoChangedLines_lock() {
        locks.close();
        RedisLocks locks = RedisLocks.connect(uri); // was: Redisson.create(config)
        Lock lock = locks.reentrantLock("order:7"); // was: redisson.getLock("order:7")
        assertThat(lock.tryLock()).isTrue();
        lock.unlock();
        locks.close();
    }

    @Test
    void redisson_tryWithALease_hasAToken() throws InterruptedException {
        FencedLock lock = locks.reentrantLock("order:7", LockOptions.defaults().fixedLease(Duration.ofSeconds(10)));
        if (lock.tryLock(2, TimeUnit.SECONDS)) { // was: lock.tryLock(2, 10, TimeUnit.SECONDS)
            try {
                ship(lock.fencingToken());
            } finally {
                lock.unlock();
            }
        }
        assertThat(shipped).singleElement().satisfies(token -> assertThat(token).isPositive());
    }

    @Test
    void redisson_forceUnlock_isToldToTheOldHolder() {
        FencedLock lock = locks.reentrantLock("order:7");
        lock.lock();
        assertThat(lock.forceUnlock()).isTrue();
        assertThatThrownBy(lock::unlock).isInstanceOf(LockLostException.class);
    }

    @Test
    void springIntegration_registry_isTheClient() {
        locks.close();
        RedisLocks locks =
                RedisLocks.builder().uri(uri).keyPrefix("shop").build(); // was: new RedisLockRegistry(factory, "shop")
        Lock lock = locks.reentrantLock("order:7"); // was: registry.obtain("order:7")
        assertThat(lock.tryLock()).isTrue();
        lock.unlock();
        locks.close();
    }

    @Test
    void springIntegration_innerLock_canStayInTheJvm() {
        locks.close();
        RedisLocks locks = RedisLocks.builder().uri(uri).localReentry(true).build();
        RedisReentrantLock lock = locks.reentrantLock("order:7");
        lock.lock();
        lock.lock();
        assertThat(lock.getHoldCount()).isEqualTo(2);
        locks.close();
    }

    @Test
    void curator_semaphoreMutex_isAHandle() throws InterruptedException {
        Lock lock = locks.reentrantLock("order:7"); // was: new InterProcessMutex(curator, "/locks/order/7")
        try (LockHandle held = locks.reentrantLock("order:7").acquire()) { // was: InterProcessSemaphoreMutex
            ship(held.fencingToken());
        }
        assertThat(shipped).hasSize(1);
        assertThat(lock.tryLock()).isTrue();
        lock.unlock();
    }

    @Test
    void shedLock_byHand_runsOncePerTick() throws InterruptedException {
        Optional<LockHandle> turn = locks.reentrantLock("job:invoices").tryAcquire(Duration.ZERO);
        if (turn.isPresent()) { // else another has run it, or runs it
            try (LockHandle held = turn.get()) {
                run(held.fencingToken());
                held.releaseAfter(Duration.ofSeconds(50)); // was: lockAtLeastFor = "50s"
            }
        }
        assertThat(shipped).hasSize(1);
        assertThat(locks.reentrantLock("job:invoices").tryAcquire(Duration.ZERO))
                .isEmpty();
        assertThat(locks.reentrantLock("job:invoices").forceUnlock()).isTrue();
    }

    @Test
    void setNxPx_inPlaceOfAllShapes_isALock() {
        Lock lock = locks.reentrantLock("order:7");
        lock.lock();
        try {
            ship();
        } finally {
            lock.unlock();
        }
        assertThat(shipped).hasSize(1);
        assertThat(locks.inspect("order:7").holder()).isEmpty();
    }

    @Test
    void snippets_areOfThisTest() throws IOException {
        String source =
                withoutSpaces(Files.readString(Path.of("src/test/java/io/github/redislocks/docs/MigrationTest.java")));
        try (var pages = Files.list(Path.of("docs", "migration"))) {
            assertThat(pages.filter(page -> page.toString().endsWith(".md")).toList())
                    .hasSizeGreaterThan(6)
                    .allSatisfy(page -> assertThat(snippets(page))
                            .allSatisfy(snippet -> assertThat(source).contains(withoutSpaces(snippet))));
        }
    }

    private static List<String> snippets(Path page) throws IOException {
        return Pattern.compile("```java\\n(.*?)```", Pattern.DOTALL)
                .matcher(Files.readString(page))
                .results()
                .map(match -> match.group(1))
                .toList();
    }

    private static String withoutSpaces(String text) {
        return text.replaceAll("\\s+", "");
    }
}
