package io.github.redislocks.failover;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.LockLost;
import io.github.redislocks.LockLostException;
import io.github.redislocks.LockUnavailableException;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisReentrantLock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * Four threads of two clients that fight for one lock while harm is done to the servers, and a second lock that was
 * just taken each time: how long no thread gets the lock, which holds are lost, whether two threads had the lock at
 * once, and which clients were notified.
 */
final class Fight {

    /** The lease of all holds. */
    static final Duration LEASE = Duration.ofSeconds(6);

    static final List<String> HEAD = List.of(
            "| where | harm | strikes | acquired | next acquisition after ms, median / greatest | fresh holds lost |"
                    + " holds of fighters lost | reported | two at a time | calls failed |",
            "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|");

    private static final int THREADS = 4;
    private static final int STAY_NANOS = 500_000;

    private final Queue<LockLost> losses = new ConcurrentLinkedQueue<>();
    private final AtomicBoolean stop = new AtomicBoolean();
    private final Queue<Stay> stays = new ConcurrentLinkedQueue<>();
    private final AtomicInteger acquired = new AtomicInteger();
    private final AtomicInteger unavailable = new AtomicInteger();
    private final AtomicInteger lostInside = new AtomicInteger();
    private final AtomicInteger backwards = new AtomicInteger();
    private final AtomicLong lastToken = new AtomicLong();
    private final AtomicLong lastNanos = new AtomicLong();
    private final AtomicLong longestGap = new AtomicLong();
    private final List<Long> gaps = new ArrayList<>();
    private int heldLost;

    /** The least interval in which a fighter held the lock by its own knowledge. */
    private record Stay(long inNanos, long heldNanos) {}

    private void fight(RedisReentrantLock lock) {
        while (!stop.get()) {
            try {
                lock.lock();
            } catch (LockUnavailableException e) {
                unavailable.incrementAndGet();
                continue;
            }
            try {
                enter(lock.fencingToken());
                stay(lock);
                lock.unlock();
            } catch (LockLostException e) {
                lostInside.incrementAndGet();
            }
        }
    }

    private void enter(long token) {
        long now = System.nanoTime();
        longestGap.accumulateAndGet(now - lastNanos.getAndSet(now), Math::max);
        if (lastToken.getAndSet(token) >= token) {
            backwards.incrementAndGet();
        }
        acquired.incrementAndGet();
    }

    private void stay(RedisReentrantLock lock) {
        long in = System.nanoTime();
        if (!lock.isHeldByCurrentThread()) {
            return;
        }
        LockSupport.parkNanos(ThreadLocalRandom.current().nextInt(STAY_NANOS));
        long now = System.nanoTime();
        stays.add(new Stay(in, lock.isHeldByCurrentThread() ? now : in));
    }

    /** The number of times that a fighter got the lock while another held it. */
    private int doubles() {
        List<Stay> sorted = new ArrayList<>(stays);
        sorted.sort(Comparator.comparingLong(Stay::inNanos));
        int doubles = 0;
        long until = Long.MIN_VALUE;
        for (Stay stay : sorted) {
            doubles += stay.inNanos < until ? 1 : 0;
            until = Math.max(until, stay.heldNanos);
        }
        return doubles;
    }

    /** Does harm a number of times, and returns a line of the table. */
    String run(Scene scene, Scene.Harm harm, int strikes) throws Exception {
        ExecutorService threads = Executors.newCachedThreadPool();
        try (RedisLocks here = connect(scene);
                RedisLocks there = connect(scene)) {
            List<Future<?>> fighters = new ArrayList<>();
            for (int i = 0; i < THREADS; i++) {
                RedisReentrantLock lock = (i % 2 == 0 ? here : there).reentrantLock(scene.name());
                fighters.add(threads.submit(() -> fight(lock)));
            }
            for (int strike = 0; strike < strikes; strike++) {
                strike(scene, harm, here);
            }
            stop.set(true);
            for (Future<?> fighter : fighters) {
                fighter.get(30, TimeUnit.SECONDS);
            }
        } finally {
            stop.set(true);
            threads.shutdownNow();
        }
        return judged(scene, harm, strikes);
    }

    private RedisLocks connect(Scene scene) {
        return scene.clients().lease(LEASE).onLockLost(losses::add).build();
    }

    private void strike(Scene scene, Scene.Harm harm, RedisLocks here) throws Exception {
        scene.awaitStable();
        awaitMore();
        RedisReentrantLock held = here.reentrantLock(scene.anotherName());
        held.lock();
        longestGap.set(0);
        harm.deed().call();
        awaitMore();
        scene.awaitStable();
        gaps.add(TimeUnit.NANOSECONDS.toMillis(longestGap.get()));
        try {
            held.unlock();
        } catch (LockLostException e) {
            heldLost++;
        }
    }

    private void awaitMore() {
        int before = acquired.get();
        await().atMost(Duration.ofSeconds(60)).until(() -> acquired.get() > before + THREADS);
    }

    private String judged(Scene scene, Scene.Harm harm, int strikes) {
        assertThat(backwards).as("tokens").hasValue(0);
        await().untilAsserted(() -> assertThat(losses).as("each that was lost").hasSize(heldLost + lostInside.get()));
        if (harm.isHarmless()) {
            assertThat(doubles()).isZero();
            assertThat(losses).isEmpty();
            assertThat(unavailable).hasValue(0);
        }
        Collections.sort(gaps);
        return String.format(
                "| %s | %s | %d | %d | %d / %d | %d | %d | %d | %d | %d |",
                scene,
                harm.what(),
                strikes,
                acquired.get(),
                gaps.get(gaps.size() / 2),
                gaps.get(gaps.size() - 1),
                heldLost,
                lostInside.get(),
                losses.size(),
                doubles(),
                unavailable.get());
    }
}
