package io.github.redislocks.torture;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.LockLost;
import io.github.redislocks.LockLostException;
import io.github.redislocks.LockUnavailableException;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisReentrantLock;
import io.github.redislocks.fixture.ClusterServers;
import io.github.redislocks.fixture.RedisServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Queue;
import java.util.UUID;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Harm done to a cluster again and again while two clients fight for a lock and hold others: how long nobody gets the
 * lock, which holds are lost, whether two had one at a time, and who was told. Runs only by its name:
 *
 * <pre>
 * mvn test -Dtest=ClusterFailovers -Dcluster.strikes=20
 * </pre>
 */
class ClusterFailovers {

    /** What is done to the master of the locks. */
    enum Harm {
        /** Killed, and started anew once its replica has taken over. */
        KILL {
            @Override
            void strike(ClusterServers servers, RedisServer master, int slot) {
                RedisServer replica = servers.replicaOf(master);
                master.kill();
                servers.awaitPromoted(replica);
                master.restart();
            }
        },
        /** Stopped where it stands until its replica has taken over, and for a second more. */
        FREEZE {
            @Override
            void strike(ClusterServers servers, RedisServer master, int slot) {
                RedisServer replica = servers.replicaOf(master);
                master.pause();
                servers.awaitPromoted(replica);
                master.resume();
            }
        },
        /** Replaced by its replica in good order. */
        FAILOVER {
            @Override
            void strike(ClusterServers servers, RedisServer master, int slot) {
                servers.failover(servers.replicaOf(master));
            }
        },
        /** Left in peace, but its slot of the locks goes to another. */
        MOVE_SLOT {
            @Override
            void strike(ClusterServers servers, RedisServer master, int slot) {
                RedisServer target = servers.masters().stream()
                        .filter(server -> server != master)
                        .findFirst()
                        .orElseThrow();
                servers.migrate(slot, master, target);
            }
        };

        abstract void strike(ClusterServers servers, RedisServer master, int slot);
    }

    private static final int STRIKES = Integer.getInteger("cluster.strikes", 3);
    private static final int THREADS = 4;
    private static final Duration LEASE = Duration.ofSeconds(6);

    private static ClusterServers servers;

    private final Queue<LockLost> told = new ConcurrentLinkedQueue<>();
    private final AtomicBoolean stop = new AtomicBoolean();
    private final AtomicInteger inside = new AtomicInteger();
    private final AtomicInteger doubles = new AtomicInteger();
    private final AtomicInteger acquired = new AtomicInteger();
    private final AtomicInteger unavailable = new AtomicInteger();
    private final AtomicInteger lostInside = new AtomicInteger();
    private final AtomicInteger backwards = new AtomicInteger();
    private final AtomicLong lastToken = new AtomicLong();
    private final AtomicLong lastNanos = new AtomicLong();
    private final AtomicLong longestGap = new AtomicLong();

    @BeforeAll
    static void start() {
        servers = ClusterServers.start();
    }

    @AfterAll
    static void stop() {
        servers.close();
    }

    private RedisLocks connect() {
        return RedisLocks.builder()
                .uri(servers.uri())
                .lease(LEASE)
                .lockLostListener(told::add)
                .build();
    }

    private boolean fight(RedisReentrantLock lock) {
        while (!stop.get()) {
            try {
                lock.lock();
            } catch (LockUnavailableException e) {
                unavailable.incrementAndGet();
                continue;
            }
            try {
                enter(lock.fencingToken());
                lock.unlock();
            } catch (LockLostException e) {
                lostInside.incrementAndGet();
            }
        }
        return true;
    }

    private void enter(long token) {
        if (inside.incrementAndGet() > 1) {
            doubles.incrementAndGet();
        }
        long now = System.nanoTime();
        longestGap.accumulateAndGet(now - lastNanos.getAndSet(now), Math::max);
        if (lastToken.getAndSet(token) >= token) {
            backwards.incrementAndGet();
        }
        acquired.incrementAndGet();
        inside.decrementAndGet();
    }

    @ParameterizedTest
    @EnumSource(Harm.class)
    void harm_againAndAgain_isCounted(Harm harm) throws Exception {
        String name = "fought-for-" + UUID.randomUUID();
        String key = "redis-locks:{" + name + "}";
        int slot = ClusterServers.slot(key);
        ExecutorService threads = Executors.newCachedThreadPool();
        List<Long> gaps = new ArrayList<>();
        int heldLost = 0;
        try (RedisLocks here = connect();
                RedisLocks there = connect()) {
            List<Future<Boolean>> fighters = new ArrayList<>();
            for (int i = 0; i < THREADS; i++) {
                RedisReentrantLock lock = (i % 2 == 0 ? here : there).reentrantLock(name);
                fighters.add(threads.submit(() -> fight(lock)));
            }
            for (int strike = 0; strike < STRIKES; strike++) {
                servers.awaitStable();
                awaitMore();
                RedisServer master = servers.masterOf(key);
                RedisReentrantLock held = here.reentrantLock(servers.nameOn(master, UUID.randomUUID() + "-"));
                held.lock();
                longestGap.set(0);
                harm.strike(servers, master, slot);
                awaitMore();
                servers.awaitStable();
                gaps.add(TimeUnit.NANOSECONDS.toMillis(longestGap.get()));
                heldLost += held.isHeldByCurrentThread() ? 0 : 1;
                try {
                    held.unlock();
                } catch (LockLostException e) {
                    assertThat(told).extracting(LockLost::lockName).contains(held.getName());
                }
            }
            stop.set(true);
            for (Future<Boolean> fighter : fighters) {
                assertThat(fighter.get(30, TimeUnit.SECONDS)).isTrue();
            }
        } finally {
            stop.set(true);
            threads.shutdownNow();
        }
        Collections.sort(gaps);
        System.out.printf(
                "| `%s` | %d | %d | %d / %d | %d | %d | %d | %d | %d |%n",
                harm,
                STRIKES,
                acquired.get(),
                gaps.get(gaps.size() / 2),
                gaps.get(gaps.size() - 1),
                heldLost,
                lostInside.get(),
                told.size(),
                doubles.get(),
                unavailable.get());
        assertThat(backwards).as("tokens").hasValue(0);
        assertThat(unavailable).hasValue(0);
        assertThat(told).as("each that was lost").hasSize(heldLost + lostInside.get());
        if (harm == Harm.FAILOVER || harm == Harm.MOVE_SLOT) {
            assertThat(doubles).hasValue(0);
            assertThat(told).isEmpty();
        }
    }

    private void awaitMore() {
        int before = acquired.get();
        await().atMost(Duration.ofSeconds(30)).until(() -> acquired.get() > before + THREADS);
    }
}
