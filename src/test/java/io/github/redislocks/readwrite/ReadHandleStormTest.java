package io.github.redislocks.readwrite;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.LockHandle;
import io.github.redislocks.ReadHandle;
import io.github.redislocks.RedisReadLock;
import io.github.redislocks.RedisReentrantReadWriteLock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;

/** Handles that read beside threads and writers, and many that are given up at any moment. */
@ParameterizedClass
@EnumSource(names = {"IN_MEMORY", "SINGLE_SERVER"})
class ReadHandleStormTest extends ReadWriteTest {

    private static final int STEPS = Integer.getInteger("storm.steps", 300);

    private final AtomicInteger reading = new AtomicInteger();
    private final AtomicInteger writing = new AtomicInteger();
    private final long seed = System.nanoTime();

    private void read() {
        reading.incrementAndGet();
        assertThat(writing).as("writers beside a reader, seed %d", seed).hasValue(0);
        reading.decrementAndGet();
    }

    private void write() {
        assertThat(writing.incrementAndGet()).as("writers, seed %d", seed).isEqualTo(1);
        assertThat(reading).as("readers beside a writer, seed %d", seed).hasValue(0);
        writing.decrementAndGet();
    }

    private void step(RedisReentrantReadWriteLock one, Random random) throws Exception {
        RedisReadLock reads = one.readLock();
        switch (random.nextInt(7)) {
            case 0 -> reads.runWithLock(this::read);
            case 1 -> reads.runWithHandle(held -> read());
            case 2 -> {
                try (ReadHandle held = reads.acquireAsync().get(20, TimeUnit.SECONDS)) {
                    assertThat(held.isHeld()).isTrue();
                    read();
                }
            }
            case 3 -> giveUp(reads, random);
            case 4 -> {
                Optional<ReadHandle> tried = reads.tryAcquireAsync(Duration.ofMillis(random.nextInt(3)))
                        .get(20, TimeUnit.SECONDS);
                tried.ifPresent(held -> {
                    read();
                    held.close();
                });
            }
            case 5 -> one.writeLock().runWithLock(this::write);
            default -> {
                try (LockHandle held = one.writeLock().acquireAsync().get(20, TimeUnit.SECONDS)) {
                    assertThat(held.isHeld()).isTrue();
                    write();
                }
            }
        }
    }

    private void giveUp(RedisReadLock reads, Random random) {
        List<CompletableFuture<ReadHandle>> futures = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            futures.add(reads.acquireAsync());
        }
        for (int i = random.nextInt(200); i > 0; i--) {
            Thread.onSpinWait();
        }
        for (CompletableFuture<ReadHandle> future : futures) {
            if (!future.cancel(true)) {
                read();
                future.join().close();
            }
        }
    }

    @Test
    void anyUses_atOnce_excludeWritersAndLeaveNothing() throws InterruptedException {
        List<Actor<Void>> actors = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            RedisReentrantReadWriteLock one = i % 2 == 0 ? lock : remote;
            Random random = new Random(seed + i);
            actors.add(new Actor<>(() -> {
                for (int step = 0; step < STEPS; step++) {
                    step(one, random);
                }
                return null;
            }));
        }
        awaitThat().atMost(Duration.ofSeconds(55)).until(() -> actors.stream().allMatch(Actor::isDone));
        for (Actor<Void> actor : actors) {
            actor.result();
        }
        assertFree();
    }
}
