package io.github.redislocks.fault;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.LockHandle;
import io.github.redislocks.LockListener;
import io.github.redislocks.LockLost;
import io.github.redislocks.LocksRenewed;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisLocksBuilder;
import io.github.redislocks.RedisReentrantLock;
import io.github.redislocks.concurrent.Uninterruptibles;
import io.github.redislocks.fixture.RedisServer;
import java.io.OutputStream;
import java.io.PrintStream;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import redis.clients.jedis.Jedis;

/** A logger that hangs, as one does that writes to a full pipe: whatever it was to log, holds are renewed meanwhile. */
@Timeout(60)
@Tag("server")
class BlockedLogTest {

    private static final String SLOW_HOLD = "has been held";
    private static final String SLOW_WAIT = "has been waited for";
    private static final String LOSS = "was lost";
    private static final String OUTAGE = "Redis is away";

    private final PrintStream err = System.err;
    private final CountDownLatch mayLog = new CountDownLatch(1);
    private final Set<String> hanging = ConcurrentHashMap.newKeySet();

    private final AtomicLong renewals = new AtomicLong();
    private final Set<String> lost = ConcurrentHashMap.newKeySet();
    private final LockListener listener = new LockListener() {
        @Override
        public void renewed(LocksRenewed event) {
            renewals.addAndGet(event.count());
        }

        @Override
        public void lost(LockLost event) {
            lost.add(event.lockName());
        }
    };

    private final RedisServer server = RedisServer.start();
    private final RedisLocks others = RedisLocks.connect(server.uri());

    @BeforeEach
    void block() {
        System.setErr(new PrintStream(OutputStream.nullOutputStream()) {
            @Override
            public void println(@Nullable String line) {
                hanging.add(String.valueOf(line));
                Uninterruptibles.until(
                        System.nanoTime() + 50_000_000_000L, nanos -> mayLog.await(nanos, TimeUnit.NANOSECONDS));
            }
        });
    }

    @AfterEach
    void end() {
        mayLog.countDown();
        System.setErr(err);
        others.close();
        server.close();
    }

    private RedisLocks connect(UnaryOperator<RedisLocksBuilder> settings) {
        return settings.apply(RedisLocks.builder()
                        .uri(server.uri())
                        .lease(Duration.ofSeconds(2))
                        .commandTimeout(Duration.ofMillis(500))
                        .listener(listener))
                .build();
    }

    private boolean hangs(String what) {
        return hanging.stream().anyMatch(line -> line.contains(what));
    }

    /** While the logger hangs with something. */
    private void isRenewed(RedisReentrantLock lock, String what) {
        await().until(() -> hangs(what));
        long before = renewals.get();
        await().until(() -> renewals.get() >= before + 5 || lost.contains(lock.getName()));
        assertThat(lost).doesNotContain(lock.getName());
        lock.ensureHeld();
    }

    @Test
    void renewal_whileTheReportOfASlowHoldHangs_goesOn() {
        try (RedisLocks locks = connect(builder -> builder.slowHold(Duration.ofMillis(10)))) {
            RedisReentrantLock lock = locks.reentrantLock("kept");
            lock.lock();
            isRenewed(lock, SLOW_HOLD);
            lock.unlock();
        }
        assertThat(mayLog.getCount()).as("it is closed while the logger hangs").isOne();
    }

    @Test
    void renewal_whileTheReportOfASlowWaitHangs_goesOn() throws InterruptedException {
        others.reentrantLock("busy").lock();
        try (RedisLocks locks = connect(builder -> builder.slowWait(Duration.ofMillis(10)))) {
            Thread waiter = new Thread(() -> locks.reentrantLock("busy").runWithLock(() -> {}));
            RedisReentrantLock lock = locks.reentrantLock("kept");
            lock.lock();
            waiter.start();
            isRenewed(lock, SLOW_WAIT);
            lock.unlock();
            others.reentrantLock("busy").unlock();
            waiter.join();
        }
    }

    @Test
    void renewal_whileTheReportOfALossHangs_goesOn() throws InterruptedException {
        try (RedisLocks locks = connect(builder -> builder)) {
            LockHandle doomed = locks.reentrantLock("doomed").acquire();
            RedisReentrantLock lock = locks.reentrantLock("kept");
            lock.lock();
            others.reentrantLock("doomed").forceUnlock();
            isRenewed(lock, LOSS);
            assertThat(doomed.isHeld()).isFalse();
            assertThat(lost).as("reported while the logger hangs").contains("doomed");
            lock.unlock();
        }
    }

    @Test
    void renewal_whileTheReportOfAnOutageHangs_goesOn() {
        try (RedisLocks locks = connect(
                        builder -> builder.lease(Duration.ofSeconds(3)).commandTimeout(Duration.ofMillis(400)));
                Jedis admin = server.client()) {
            RedisReentrantLock lock = locks.reentrantLock("kept");
            lock.lock();
            // More than the time between two renewals, and less than the lease.
            admin.clientPause(1_500);
            isRenewed(lock, OUTAGE);
            lock.unlock();
        }
    }
}
