package io.github.redislocks;

import static io.github.redislocks.fixture.twin.Verbs.verb;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.github.redislocks.redis.Call;
import io.github.redislocks.state.Settings;
import io.github.redislocks.testkit.twin.Fault;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Predicate;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Acquisitions of several locks for which no thread waits, and handles of several locks that stay taken. */
class MultiLockAsyncTest extends FakeTime {

    private static final List<String> NAMES = List.of("a", "b", "c");

    private final MultiLock several = locks.multiLock(List.of("c", "a", "b"));
    private final FencedLock theirs = others.reentrantLock("c");

    private static String key(String name) {
        return "redis-locks:{" + name + "}";
    }

    private boolean isHeld(String name) {
        return server.hash(key(name)).containsKey("owner");
    }

    private boolean isNothingLeft() {
        return server.keys().stream().allMatch(key -> key.endsWith(":fence"))
                && inside.holds().all().isEmpty()
                && inside.attempts().isEmpty();
    }

    private <T> T await(CompletableFuture<T> future) {
        passUntilDone(future);
        return future.join();
    }

    @Test
    void acquireAsync_ofFreeLocks_holdsAll() {
        try (MultiLockHandle held = await(several.acquireAsync())) {
            assertThat(held.names()).isEqualTo(NAMES);
            held.ensureHeld();
            assertThat(NAMES).allMatch(name -> !others.reentrantLock(name).tryLock());
        }
        passUntil(this::isNothingLeft);
    }

    @Test
    void acquireAsync_whileOneIsBusy_waitsAndKeepsTheOthers() {
        theirs.lock();
        CompletableFuture<MultiLockHandle> future = several.acquireAsync();
        passUntil(() -> isHeld("a") && isHeld("b"));
        pass(60_000);
        assertThat(future).isNotDone();
        assertThat(losses).isEmpty();
        theirs.unlock();
        await(future).close();
        passUntil(this::isNothingLeft);
    }

    @Test
    void cancel_whileOneIsBusy_leavesNothing() {
        theirs.lock();
        CompletableFuture<MultiLockHandle> future = several.acquireAsync();
        passUntil(() -> isHeld("a") && server.zset(key("c") + ":queue").size() == 1);
        assertThat(future.cancel(true)).isTrue();
        passUntil(() -> !isHeld("a") && !isHeld("b"));
        theirs.unlock();
        passUntil(this::isNothingLeft);
    }

    @Test
    void tryAcquireAsync_ofALockThatStaysBusy_isEmptyInTime() {
        theirs.lock();
        long began = clock.nanoTime();
        assertThat(await(several.tryAcquireAsync(Duration.ofSeconds(2)))).isEmpty();
        assertThat(Duration.ofNanos(clock.nanoTime() - began)).isBetween(Duration.ofSeconds(2), Duration.ofSeconds(3));
        passUntil(() -> !isHeld("a") && !isHeld("b"));
        theirs.unlock();
        passUntil(this::isNothingLeft);
    }

    @ParameterizedTest
    @ValueSource(longs = {0, -1, Long.MIN_VALUE})
    void tryAcquireAsync_withoutTime_takesFreeLocksOnly(long seconds) {
        Duration none = Duration.ofSeconds(seconds);
        Optional<MultiLockHandle> held = await(several.tryAcquireAsync(none));
        held.orElseThrow().close();
        theirs.lock();
        CompletableFuture<Optional<MultiLockHandle>> busy = several.tryAcquireAsync(none);
        long began = clock.nanoTime();
        passUntil(() -> busy.isDone() || clock.nanoTime() - began > 5_000_000_000L);
        assertThat(busy.getNow(null)).isEmpty();
        theirs.unlock();
        passUntil(this::isNothingLeft);
    }

    @Test
    void loss_whileTheOthersAreWaitedFor_startsAnew() {
        theirs.lock();
        CompletableFuture<MultiLockHandle> future = several.acquireAsync();
        passUntil(() -> isHeld("a") && server.zset(key("c") + ":queue").size() == 1);
        others.reentrantLock("a").forceUnlock();
        pass(20_000);
        assertThat(losses).extracting(LockLost::lockName).containsExactly("a");
        theirs.unlock();
        MultiLockHandle held = await(future);
        held.ensureHeld();
        assertThat(held.fencingToken("a")).isGreaterThan(losses.get(0).token());
        held.close();
        passUntil(this::isNothingLeft);
    }

    @Test
    void fixedLease_countsFromTheLastLock() {
        theirs.lock();
        LockOptions fixed = LockOptions.defaults().fixedLease(Duration.ofSeconds(10));
        CompletableFuture<MultiLockHandle> future =
                locks.multiLock(NAMES, fixed).acquireAsync();
        pass(60_000);
        theirs.unlock();
        MultiLockHandle held = await(future);
        // The client confirms a lock that was handed over.
        pass(2_000);
        assertThat(held.remainingLease()).isBetween(Duration.ofSeconds(7), Duration.ofSeconds(10));
        pass(10_000);
        assertThatThrownBy(held::ensureHeld)
                .isInstanceOfSatisfying(
                        LockLostException.class, e -> assertThat(e.reason()).isEqualTo(LockLost.Reason.EXPIRED));
        assertThat(held.release()).isFalse();
    }

    @Test
    void close_whileOneIsBusy_failsTheFuture() {
        theirs.lock();
        CompletableFuture<MultiLockHandle> future = several.acquireAsync();
        passUntil(() -> isHeld("a"));
        whileTimePasses(locks::close);
        passUntilDone(future);
        assertThatThrownBy(future::join).hasCauseInstanceOf(IllegalStateException.class);
        passUntil(() -> !isHeld("a") && !isHeld("b"));
        theirs.unlock();
    }

    @Test
    void releaseAfter_keepsAllTakenUntilTheTime() throws InterruptedException {
        for (boolean async : new boolean[] {false, true}) {
            MultiLockHandle held = several.acquire();
            pass(10_000);
            Duration minute = Duration.ofMinutes(1);
            boolean released =
                    async ? await(held.releaseAfterAsync(minute).toCompletableFuture()) : held.releaseAfter(minute);
            assertThat(released).isTrue();
            assertThat(held.isHeld()).isFalse();
            pass(49_000);
            assertThat(NAMES).allMatch(name -> !others.reentrantLock(name).tryLock());
            pass(2_000);
            assertThat(others.multiLock(NAMES).tryAcquire(Duration.ZERO).map(Handle::release))
                    .contains(true);
        }
        assertThat(losses).isEmpty();
    }

    /** A leave of the attempt, for a copy of its acquisition that may still run, would free the lock. */
    @ParameterizedTest
    @CsvSource({"a, true", "c, true", "a, false", "c, false"})
    void releaseAfter_whoseRequestForOneIsLost_keepsThatOneTaken(String name, boolean async) {
        Predicate<Call> ofTheOne = call -> call.keys().get(0).equals(key(name));
        redis.failNext(1, verb("acquire").and(ofTheOne), Fault.SENT_TWICE);
        MultiLockHandle held = await(several.acquireAsync());
        assertThat(inside.holds().all()).filteredOn(hold -> hold.inDoubt).hasSize(1);
        redis.failNext(3, verb("release_after").and(ofTheOne), Fault.REQUEST_LOST);
        Duration minute = Duration.ofMinutes(1);
        if (async) {
            assertThat(await(held.releaseAfterAsync(minute).toCompletableFuture()))
                    .isTrue();
        } else {
            whileTimePasses(() -> assertThat(held.releaseAfter(minute)).isTrue());
        }
        pass(2_000);
        assertThat(NAMES)
                .allMatch(each -> "nobody".equals(server.hash(key(each)).get("owner")));
        assertThat(redis.log().count("leave")).isPositive();
        pass(58_001);
        passUntil(this::isNothingLeft);
    }

    @Test
    void releaseAfter_thatMeetsAnError_keepsAllTaken() throws InterruptedException {
        boolean met = true;
        for (int first = 1; met; first++) {
            MultiLockHandle held = several.acquire();
            clock.failReadings(first, 1);
            Throwable thrown = catchThrowable(() -> held.releaseAfter(Duration.ofMinutes(1)));
            met = clock.heal() >= first;
            if (met) {
                assertThat(thrown).isInstanceOf(InternalError.class);
            }
            pass(2_000);
            assertThat(NAMES)
                    .as("error at reading %d", first)
                    .allMatch(each -> "nobody".equals(server.hash(key(each)).get("owner")));
            pass(58_001);
        }
        passUntil(this::isNothingLeft);
    }

    @Test
    void previousHolderLost_ofOneOfThem_isTrue() {
        assertThat(several.tryLock()).isTrue();
        assertThat(several.previousHolderLost()).isFalse();
        several.unlock();
        theirs.lock();
        others.reentrantLock("c").forceUnlock();
        assertThat(several.tryLock()).isTrue();
        assertThat(several.previousHolderLost()).isTrue();
        several.unlock();
    }

    /** The client of a call that is cancelled when it gets its second lock. */
    @Test
    void cancelAtAGrant_thatMeetsAnErrorAnywhere_leavesNoLock() {
        AtomicReference<@Nullable CompletableFuture<?>> present = new AtomicReference<>();
        RedisLocks client = RedisLocks.on(
                server.another(),
                Settings.DEFAULTS,
                List.of(new LockListener() {
                    @Override
                    public void acquired(LockAcquired event) {
                        if (event.lockName().equals("b")) {
                            Objects.requireNonNull(Awaitility.await().until(present::get, Objects::nonNull))
                                    .cancel(true);
                        }
                    }
                }),
                clock);
        clients.add(client);
        boolean met = true;
        for (int reading = 1; met; reading++) {
            present.set(null);
            clock.failReadings(thread -> thread.getName().startsWith("redis-locks-handles"), reading, 1);
            CompletableFuture<?> future =
                    client.multiLock(List.of("a", "b", "c")).acquireAsync();
            present.set(future);
            passUntilDone(future);
            pass(50);
            met = clock.heal() >= reading;
            pass(3_000);
            for (String name : List.of("a", "b", "c")) {
                RedisReentrantLock lock = others.reentrantLock(name);
                assertThat(lock.tryLock())
                        .as("%s after an error at reading %d", name, reading)
                        .isTrue();
                lock.unlock();
            }
        }
        clients.remove(client);
        whileTimePasses(() -> true, client::close);
    }
}
