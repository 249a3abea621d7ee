package io.github.redislocks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Settings;
import io.github.redislocks.testkit.twin.Fault;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Several locks at once: all or nothing. */
class MultiLockTest extends FakeTime {

    private static final List<String> NAMES = List.of("a", "b", "c");

    final MultiLock multi = locks.multiLock(List.of("c", "a", "b", "a"));
    private final MultiLock elsewhere = others.multiLock(List.of("b", "a", "c"));

    /** An action for a thread of its own. */
    private interface Deed {
        void run() throws InterruptedException;
    }

    private static Thread start(AtomicReference<Throwable> thrown, Deed deed) {
        Thread thread = new Thread(() -> {
            try {
                deed.run();
            } catch (Throwable e) {
                thrown.set(e);
            }
        });
        thread.start();
        return thread;
    }

    private void join(Thread thread) {
        passUntil(() -> !thread.isAlive());
    }

    private static String key(String name) {
        return "redis-locks:{" + name + "}";
    }

    private boolean isWaitedFor(String name) {
        return server.zset(key(name) + ":queue").size() == 1;
    }

    /** No keys but last tokens, and nothing in the client. */
    private boolean isNothingLeft() {
        return server.keys().stream().allMatch(key -> key.endsWith(":fence"))
                && inside.holds().all().isEmpty()
                && inside.attempts().isEmpty()
                && inside.localQueue().size() == 0;
    }

    private void assertNothingLeft() {
        passUntil(this::isNothingLeft);
        assertThat(elsewhere.tryLock()).as("had by another client").isTrue();
        elsewhere.unlock();
        assertThat(multi.tryLock()).as("the local queues are free").isTrue();
        multi.unlock();
        passUntil(this::isNothingLeft);
    }

    private MultiLockHandle acquireAll() {
        try {
            return locks.multiLock(List.of("b", "c", "a", "b")).acquire();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private static boolean tryFor(MultiLock lock, long millis) {
        try {
            return lock.tryLock(millis, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void lock_ofFreeLocks_hasAll_eachOnce() {
        assertThat(multi.names()).isEqualTo(NAMES);
        multi.lock();
        assertThat(multi.isHeldByCurrentThread()).isTrue();
        multi.ensureHeld();
        for (String name : NAMES) {
            FencedLock part = locks.reentrantLock(name);
            assertThat(part.getHoldCount()).isEqualTo(1);
            assertThat(multi.fencingToken(name)).isEqualTo(part.fencingToken());
            assertThat(others.reentrantLock(name).tryLock()).isFalse();
        }
        assertThat(multi.remainingLease()).isBetween(Duration.ofSeconds(29), Duration.ofSeconds(30));
        assertThat(multi.toString()).contains("[a, b, c]", "Locked by this thread");
        pass(60_000);
        multi.ensureHeld();
        multi.unlock();
        assertThat(multi.isHeldByCurrentThread()).isFalse();
        assertThat(multi.remainingLease()).isZero();
        assertNothingLeft();
        assertThat(losses).isEmpty();
    }

    @Test
    void freeLocks_areTakenByOneRequest() {
        multi.lock();
        acquireElsewhere(Duration.ofMillis(10), false);
        multi.unlock();
        assertThat(redis.log().count("take_all")).isEqualTo(1);
        assertThat(redis.log().count("take", "acquire")).isZero();
        FencedLock theirs = others.reentrantLock("c");
        theirs.lock();
        assertThat(multi.tryLock()).isFalse();
        assertThat(redis.log().count("take_all")).isEqualTo(2);
        assertThat(redis.log().count("take", "acquire")).isZero();
        theirs.unlock();
        acquireElsewhere(Duration.ZERO, true);
        assertNothingLeft();
    }

    private boolean isWaitedForHere() {
        return inside.attempts().all().stream().anyMatch(Attempt::isInLocalQueue);
    }

    @Test
    void locksThatNobodyWaitsFor_areFreedByOneRequest_andTheOthersHandedOn() {
        multi.lock();
        multi.unlock();
        assertThat(redis.log().count("free_all")).isEqualTo(1);
        assertThat(redis.log().count("free", "release")).isZero();
        multi.lock();
        AtomicReference<Throwable> thrown = new AtomicReference<>();
        FencedLock theirs = others.reentrantLock("b");
        Thread there = start(thrown, () -> {
            theirs.lock();
            theirs.unlock();
        });
        FencedLock ours = locks.reentrantLock("c");
        Thread here = start(thrown, () -> {
            ours.lock();
            ours.unlock();
        });
        passUntil(() -> isWaitedFor("b") && isWaitedForHere());
        long before = redis.log().count("release");
        multi.unlock();
        join(there);
        join(here);
        assertThat(thrown.get()).isNull();
        assertThat(redis.log().count("free_all")).isEqualTo(2);
        assertThat(redis.log().count("release") - before)
                .as("of b and c, and then of theirs")
                .isBetween(2L, 4L);
        assertNothingLeft();
        assertThat(losses).isEmpty();
    }

    private void acquireElsewhere(Duration wait, boolean isFree) {
        whileTimePasses(() -> {
            try {
                Optional<MultiLockHandle> handle = others.multiLock(NAMES).tryAcquire(wait);
                assertThat(handle.isPresent()).isEqualTo(isFree);
                handle.ifPresent(MultiLockHandle::close);
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        });
    }

    void assertTakenOneByOne() {
        assertThat(redis.log().count("take_all")).isZero();
        assertThat(redis.log().count("take")).isEqualTo(3);
    }

    /** A lock that the thread holds is not asked for together with the rest. */
    @Test
    void requestForAll_isNotUsed_ifTheThreadHasAPart() {
        FencedLock b = locks.reentrantLock("b");
        b.lock();
        multi.lock();
        assertThat(b.getHoldCount()).isEqualTo(2);
        assertThat(redis.log().count("take_all")).isZero();
        multi.unlock();
        b.unlock();
    }

    @Test
    void threadOfTheClient_thatWaitsForAPart_hasItNext() {
        multi.lock();
        AtomicReference<Throwable> thrown = new AtomicReference<>();
        Thread waiter = start(thrown, () -> {
            FencedLock b = locks.reentrantLock("b");
            b.lock();
            b.unlock();
        });
        passUntil(() -> locks.reentrantLock("b").hasQueuedThread(waiter) && clock.isParked(waiter));
        multi.unlock();
        join(waiter);
        assertThat(thrown.get()).isNull();
        assertNothingLeft();
        assertThat(losses).isEmpty();
    }

    @Test
    void listener_isToldOfEach() {
        List<String> told = new ArrayList<>();
        LockListener listener = new LockListener() {
            @Override
            public void acquired(LockAcquired event) {
                told.add("had " + event.lockName());
            }

            @Override
            public void notAcquired(LockNotAcquired event) {
                told.add(event.outcome() + " " + event.lockName());
            }

            @Override
            public void released(LockReleased event) {
                told.add("released " + event.lockName());
            }
        };
        RedisLocks heard = RedisLocks.on(server.another(), Settings.DEFAULTS, List.of(listener), clock);
        MultiLock both = heard.multiLock(List.of("b", "a"));
        both.lock();
        both.unlock();
        assertThat(told).containsExactly("had a", "had b", "released b", "released a");
        told.clear();
        FencedLock theirs = others.reentrantLock("b");
        theirs.lock();
        // No two tokens of one microsecond.
        pass(1);
        assertThat(both.tryLock()).isFalse();
        assertThat(told).containsExactly("BUSY b");
        inside(heard).monitored().hasSlots();
        told.clear();
        whileTimePasses(() -> assertThat(both.tryLock()).isFalse());
        assertThat(told).containsExactly("had a", "BUSY b", "released a");
        theirs.unlock();
        whileTimePasses(heard::close);
    }

    /** A call takes two locks together, and each is lost at some reading of the clock, a first. */
    @Test
    void lock_thatIsLostWhileItIsGivenBack_isNotReportedAsReleasedAfterItsLoss() {
        List<String> ended = new CopyOnWriteArrayList<>();
        LockListener listener = new LockListener() {
            @Override
            public void lost(LockLost event) {
                ended.add(event.lockName() + " " + event.token());
            }

            @Override
            public void released(LockReleased event) {
                ended.add(event.lockName() + " " + event.token());
            }
        };
        RedisLocks heard = RedisLocks.on(server.another(), Settings.DEFAULTS, List.of(listener), clock);
        clients.add(heard);
        MultiLock both = heard.multiLock(List.of("a", "b"));
        AtomicInteger readings = new AtomicInteger(1);
        for (int first = 1; first <= readings.get(); first++) {
            for (int second = first; second <= readings.get(); second++) {
                int a = first;
                int b = second;
                clock.atReadings(reading -> {
                    loseIf(reading == a, heard, "a");
                    loseIf(reading == b, heard, "b");
                });
                whileTimePasses(() -> {
                    boolean had = both.tryLock() && both.isHeldByCurrentThread();
                    readings.set(clock.heal());
                    if (had) {
                        both.unlock();
                    }
                    // Redis still has what the client calls lost.
                    both.names().forEach(name -> others.reentrantLock(name).forceUnlock());
                });
                inside(heard).losses().awaitTold(Duration.ofSeconds(20));
                assertThat(ended)
                        .as("ends of holds, with a lost at reading %d and b at reading %d", a, b)
                        .doesNotHaveDuplicates();
                // The next holds have other tokens.
                clock.advanceMillis(1);
            }
        }
        assertThat(ended).hasSizeGreaterThan(2);
        whileTimePasses(heard::close);
    }

    private static void loseIf(boolean now, RedisLocks client, String name) {
        for (Hold hold : now ? inside(client).holds().all() : List.<Hold>of()) {
            if (hold.keys().name().equals(name)) {
                inside(client).losses().lose(hold, LockLost.Reason.TAKEN);
            }
        }
    }

    @Test
    void names_thatCannotWork_areRefused() {
        assertThatThrownBy(() -> locks.multiLock(List.of()))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("at least one name");
        assertThatThrownBy(() -> locks.multiLock(List.of("a", ""))).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> locks.multiLock(List.of()).acquire()).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> locks.multiLock(List.of("a", "")).tryAcquire(Duration.ZERO))
                .isInstanceOf(IllegalArgumentException.class);
        multi.lock();
        assertThatThrownBy(() -> multi.fencingToken("d"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("\"d\" is none of [a, b, c]");
        multi.unlock();
        assertThatThrownBy(multi::newCondition)
                .isInstanceOf(UnsupportedOperationException.class)
                .hasMessageContaining("a Condition of one lock");
    }

    @Test
    void oneName_isThatLock() {
        MultiLock one = locks.multiLock(List.of("job"));
        one.lock();
        assertThat(lock.isHeldByCurrentThread()).isTrue();
        lock.lock();
        one.unlock();
        lock.unlock();
        assertNothingLeft();
    }

    @Test
    void reentry_countsEach_alsoWhatTheThreadHasAlready() {
        FencedLock b = locks.reentrantLock("b");
        b.lock();
        long token = b.fencingToken();
        multi.lock();
        assertThat(multi.fencingToken("b")).isEqualTo(token);
        multi.lock();
        assertThat(b.getHoldCount()).isEqualTo(3);
        assertThat(locks.reentrantLock("a").getHoldCount()).isEqualTo(2);
        multi.unlock();
        multi.ensureHeld();
        multi.unlock();
        assertThat(multi.isHeldByCurrentThread()).isFalse();
        assertThat(b.getHoldCount()).isEqualTo(1);
        b.unlock();
        assertNothingLeft();
    }

    @Test
    void unlock_ofWhatTheThreadHasNotAll_releasesNothing() {
        FencedLock b = locks.reentrantLock("b");
        b.lock();
        assertThatThrownBy(multi::unlock)
                .isExactlyInstanceOf(IllegalMonitorStateException.class)
                .hasMessageContaining("\"a\"");
        assertThatThrownBy(multi::ensureHeld).isExactlyInstanceOf(IllegalMonitorStateException.class);
        assertThat(b.getHoldCount()).isEqualTo(1);
        b.unlock();
    }

    @ParameterizedTest
    @ValueSource(strings = {"a", "b", "c"})
    void tryLock_withABusyPart_hasNone(String busy) throws InterruptedException {
        FencedLock theirs = others.reentrantLock(busy);
        theirs.lock();
        FencedLock outer = locks.reentrantLock(busy.equals("a") ? "b" : "a");
        outer.lock();
        whileTimePasses(() -> {
            assertThat(multi.tryLock()).isFalse();
            assertThat(tryFor(multi, 0)).isFalse();
            assertThat(tryFor(multi, 300)).isFalse();
        });
        assertThat(inside.holds().all()).as("the outer hold").hasSize(1);
        assertThat(outer.getHoldCount()).isEqualTo(1);
        assertThat(locks.inspect(outer.getName()).holder().orElseThrow().holds())
                .isEqualTo(1);
        outer.unlock();
        whileTimePasses(() -> assertThat(tryAcquire(300)).isEmpty());
        theirs.unlock();
        assertNothingLeft();
        assertThat(losses).isEmpty();
    }

    private Optional<MultiLockHandle> tryAcquire(long millis) {
        try {
            return locks.multiLock(NAMES).tryAcquire(Duration.ofMillis(millis));
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    /** Threads that name the locks in different orders do not wait in a circle. */
    @Test
    void threadsAndClients_withOverlappingSets_goOn() {
        AtomicReference<Throwable> thrown = new AtomicReference<>();
        AtomicInteger inside = new AtomicInteger();
        List<Thread> threads = new ArrayList<>();
        for (RedisLocks client : List.of(locks, others)) {
            for (List<String> names : List.of(List.of("a", "b"), List.of("c", "b"), List.of("b", "a", "c"))) {
                threads.add(start(thrown, () -> {
                    MultiLock both = client.multiLock(List.of(names.toArray(new String[0])));
                    for (int i = 0; i < 20; i++) {
                        if (i % 2 == 0) {
                            both.lock();
                            assertThat(inside.incrementAndGet()).isOne();
                            inside.decrementAndGet();
                            both.unlock();
                        } else {
                            try (MultiLockHandle held = client.multiLock(names).acquire()) {
                                assertThat(inside.incrementAndGet()).isOne();
                                inside.decrementAndGet();
                                held.ensureHeld();
                            }
                        }
                    }
                }));
            }
        }
        threads.forEach(this::join);
        assertThat(thrown.get()).isNull();
        assertNothingLeft();
    }

    @Test
    void wait_forOne_isEndedByAnInterrupt_andLeavesNothing() throws InterruptedException {
        FencedLock theirs = others.reentrantLock("b");
        theirs.lock();
        for (Deed deed : List.<Deed>of(multi::lockInterruptibly, this::acquireInterruptibly, this::tryForLong)) {
            AtomicReference<Throwable> thrown = new AtomicReference<>();
            Thread waiter = start(thrown, deed);
            passUntil(() -> isWaitedFor("b"));
            assertThat(server.keys()).contains(key("a"));
            waiter.interrupt();
            join(waiter);
            assertThat(thrown.get()).isInstanceOf(InterruptedException.class);
            passUntil(() -> inside.holds().all().isEmpty());
            assertThat(server.keys()).doesNotContain(key("a"));
        }
        theirs.unlock();
        assertNothingLeft();
        assertThat(losses).isEmpty();
    }

    private void acquireInterruptibly() throws InterruptedException {
        locks.multiLock(NAMES).acquire().close();
    }

    private void tryForLong() throws InterruptedException {
        boolean unused = multi.tryLock(1, TimeUnit.HOURS);
    }

    @Test
    void lock_withAnInterrupt_keepsItAndHasAll() {
        Thread.currentThread().interrupt();
        multi.lock();
        assertThat(Thread.interrupted()).isTrue();
        multi.unlock();
        for (Deed deed : List.<Deed>of(
                () -> multi.lockInterruptibly(),
                () -> tryForLong(),
                () -> multi.tryLock(0, TimeUnit.SECONDS),
                () -> locks.multiLock(NAMES).tryAcquire(Duration.ZERO))) {
            Thread.currentThread().interrupt();
            assertThatThrownBy(deed::run).isInstanceOf(InterruptedException.class);
            assertThat(Thread.interrupted()).isFalse();
        }
        assertNothingLeft();
    }

    @Test
    void timedTry_hasOneTimeForAll() throws InterruptedException {
        FencedLock first = others.reentrantLock("a");
        FencedLock second = others.reentrantLock("c");
        first.lock();
        second.lock();
        AtomicReference<Throwable> thrown = new AtomicReference<>();
        AtomicReference<Long> took = new AtomicReference<>();
        Thread waiter = start(thrown, () -> {
            long began = clock.nanoTime();
            assertThat(multi.tryLock(2, TimeUnit.SECONDS)).isFalse();
            took.set(TimeUnit.NANOSECONDS.toMillis(clock.nanoTime() - began));
        });
        passUntil(() -> isWaitedFor("a"));
        pass(1_500);
        first.unlock();
        join(waiter);
        assertThat(thrown.get()).isNull();
        assertThat(took.get()).isBetween(2_000L, 2_200L);
        second.unlock();
        assertNothingLeft();
    }

    @Test
    void partsThatAreHad_areRenewed_whileOthersAreWaitedFor() {
        FencedLock theirs = others.reentrantLock("c");
        theirs.lock();
        AtomicReference<Throwable> thrown = new AtomicReference<>();
        Thread waiter = start(thrown, () -> {
            multi.lock();
            multi.ensureHeld();
            multi.unlock();
        });
        passUntil(() -> isWaitedFor("c"));
        pass(100_000);
        assertThat(server.keys()).contains(key("a"), key("b"));
        theirs.unlock();
        join(waiter);
        assertThat(thrown.get()).isNull();
        assertThat(losses).isEmpty();
        assertNothingLeft();
    }

    @Test
    void fixedLease_countsFromWhenTheLastWasHad() {
        FencedLock theirs = others.reentrantLock("c");
        theirs.lock();
        LockOptions options = LockOptions.defaults().fixedLease(Duration.ofSeconds(5));
        CompletableFuture<MultiLockHandle> held = new CompletableFuture<>();
        AtomicReference<Throwable> thrown = new AtomicReference<>();
        Thread waiter = start(
                thrown, () -> held.complete(locks.multiLock(NAMES, options).acquire()));
        passUntil(() -> isWaitedFor("c"));
        pass(20_500);
        assertThat(losses).as("those that wait for the last are renewed").isEmpty();
        theirs.unlock();
        join(waiter);
        assertThat(thrown.get()).isNull();
        MultiLockHandle handle = held.join();
        for (String name : NAMES.subList(0, 2)) {
            assertThat(server.pttl(key(name))).isBetween(4_500L, 5_000L);
        }
        // The last is confirmed in the background, as every grant.
        pass(2_000);
        assertThat(handle.remainingLease().toMillis()).isBetween(2_000L, 3_000L);
        CompletableFuture<LockLost> lost = handle.lost().toCompletableFuture();
        pass(3_000);
        await().until(lost::isDone);
        assertThat(lost.join().reason()).isEqualTo(LockLost.Reason.EXPIRED);
        assertThat(handle.isHeld()).isFalse();
        assertThat(handle.release()).isFalse();
        assertNothingLeft();
    }

    @Test
    void loss_ofAPartThatIsHad_whileAnotherIsWaitedFor_beginsAnew() {
        FencedLock theirs = others.reentrantLock("c");
        theirs.lock();
        AtomicReference<Throwable> thrown = new AtomicReference<>();
        AtomicInteger count = new AtomicInteger();
        Thread waiter = start(thrown, () -> {
            multi.lock();
            multi.ensureHeld();
            count.set(locks.reentrantLock("a").getHoldCount());
            multi.unlock();
        });
        passUntil(() -> isWaitedFor("c"));
        others.reentrantLock("a").forceUnlock();
        pass(11_000);
        assertThat(losses).hasSize(1);
        theirs.unlock();
        join(waiter);
        assertThat(thrown.get()).isNull();
        assertThat(count).hasValue(1);
        assertNothingLeft();
    }

    @Test
    void loss_ofAPartOfAHandle_whileAnotherIsWaitedFor_isNotItsLoss() {
        FencedLock theirs = others.reentrantLock("c");
        theirs.lock();
        CompletableFuture<MultiLockHandle> held = new CompletableFuture<>();
        AtomicReference<Throwable> thrown = new AtomicReference<>();
        Thread waiter = start(thrown, () -> held.complete(locks.multiLock(NAMES).acquire()));
        passUntil(() -> isWaitedFor("c"));
        others.reentrantLock("b").forceUnlock();
        pass(11_000);
        theirs.unlock();
        join(waiter);
        assertThat(thrown.get()).isNull();
        MultiLockHandle handle = held.join();
        handle.ensureHeld();
        pass(100);
        assertThat(handle.lost().toCompletableFuture()).isNotDone();
        assertThat(handle.previousHolderLost()).as("of b").isTrue();
        handle.close();
        assertNothingLeft();
    }

    @Test
    void loss_ofOne_isTheLossOfAll_toldWhenAllAreReleased() {
        multi.lock();
        others.reentrantLock("b").forceUnlock();
        others.reentrantLock("c").forceUnlock();
        pass(11_000);
        assertThat(multi.isHeldByCurrentThread()).isFalse();
        assertThat(multi.remainingLease()).isZero();
        assertThatThrownBy(multi::ensureHeld)
                .isInstanceOf(LockLostException.class)
                .hasMessageContaining("\"b\"");
        assertThatThrownBy(() -> multi.fencingToken("a")).isInstanceOf(LockLostException.class);
        assertThat(server.keys()).as("work may still run").contains(key("a"));
        assertThatThrownBy(multi::unlock)
                .isInstanceOf(LockLostException.class)
                .hasMessageContaining("\"c\"")
                .satisfies(e -> assertThat(e.getSuppressed()).hasSize(1));
        assertThatThrownBy(multi::unlock).isExactlyInstanceOf(IllegalMonitorStateException.class);
        assertNothingLeft();
    }

    @Test
    void loss_thatTheReleaseFindsFirst_isToldWhenAllAreReleased() {
        multi.lock();
        others.reentrantLock("b").forceUnlock();
        assertThatThrownBy(multi::unlock).isInstanceOf(LockLostException.class).hasMessageContaining("\"b\"");
        assertThatThrownBy(multi::unlock).isExactlyInstanceOf(IllegalMonitorStateException.class);
        assertNothingLeft();
        assertThat(losses).hasSize(1);
    }

    @Test
    void handle_hasAll_andReleasesAll() throws InterruptedException {
        MultiLockHandle handle = acquireAll();
        assertThat(handle.names()).isEqualTo(NAMES);
        assertThat(handle.isHeld()).isTrue();
        assertThat(handle.previousHolderLost()).isFalse();
        assertThat(handle.remainingLease()).isBetween(Duration.ofSeconds(29), Duration.ofSeconds(30));
        for (String name : NAMES) {
            assertThat(server.hash(key(name)))
                    .containsEntry("owner", handle.owner())
                    .containsEntry("token", Long.toString(handle.fencingToken(name)));
        }
        assertThat(multi.tryLock()).as("its own thread").isFalse();
        assertThat(locks.reentrantLock("b").tryAcquire(Duration.ZERO)).isEmpty();
        assertThat(handle.toString()).contains("[a, b, c]", "held");
        pass(60_000);
        handle.ensureHeld();
        handle.close();
        handle.close();
        assertThat(handle.release()).isFalse();
        assertThat(handle.toString()).contains("released");
        assertThatThrownBy(() -> handle.fencingToken("a")).isExactlyInstanceOf(IllegalMonitorStateException.class);
        assertNothingLeft();
        assertThat(losses).isEmpty();
    }

    @Test
    void handle_releasedLater_tellsWhenAllAreReleased() {
        MultiLockHandle handle = acquireAll();
        CompletableFuture<Boolean> released = handle.releaseAsync().toCompletableFuture();
        assertThat(handle.isHeld()).isFalse();
        whileTimePasses(released::join);
        assertThat(released.join()).isTrue();
        assertThat(handle.releaseAsync().toCompletableFuture().join()).isFalse();
        MultiLockHandle next = acquireAll();
        others.reentrantLock("b").forceUnlock();
        CompletableFuture<Boolean> again = next.releaseAsync().toCompletableFuture();
        whileTimePasses(again::join);
        assertThat(again.join()).as("one was lost").isFalse();
        assertNothingLeft();
    }

    @Test
    void handle_thatLosesOne_isToldAtOnce_andThrowsWhenItIsClosed() {
        MultiLockHandle handle = acquireAll();
        CompletableFuture<LockLost> lost = handle.lost().toCompletableFuture();
        await().until(() -> inside.mailbox().isOpen());
        others.reentrantLock("b").forceUnlock();
        whileTimePasses(lost::join);
        assertThat(lost.join().lockName()).isEqualTo("b");
        assertThat(handle.isHeld()).isFalse();
        assertThat(handle.remainingLease()).isZero();
        assertThatThrownBy(handle::ensureHeld)
                .isInstanceOf(LockLostException.class)
                .hasMessageContaining("\"b\"");
        assertThat(server.keys()).as("work may still run").contains(key("a"), key("c"));
        assertThatThrownBy(handle::close).isInstanceOf(LockLostException.class);
        handle.close();
        assertNothingLeft();
    }

    @Test
    void close_ofTheClient_endsAWait() {
        FencedLock theirs = others.reentrantLock("b");
        theirs.lock();
        AtomicReference<Throwable> thrown = new AtomicReference<>();
        Thread waiter = start(thrown, multi::lock);
        passUntil(() -> isWaitedFor("b"));
        whileTimePasses(locks::close);
        join(waiter);
        assertThat(thrown.get()).isInstanceOf(IllegalStateException.class);
        assertThat(server.keys()).doesNotContain(key("a"), key("b") + ":queue");
        theirs.unlock();
        assertThat(elsewhere.tryLock()).isTrue();
        elsewhere.unlock();
    }

    @Test
    void unlock_whileRedisIsAway_goesOnInTheBackground() {
        multi.lock();
        redis.down(true);
        whileTimePasses(multi::unlock);
        assertThat(multi.isHeldByCurrentThread()).isFalse();
        redis.down(false);
        assertNothingLeft();
        assertThat(losses).isEmpty();
    }

    static List<Arguments> faults() {
        List<Arguments> all = new ArrayList<>();
        for (Fault fault : List.of(
                Fault.REQUEST_LOST,
                Fault.REPLY_LOST,
                Fault.REFUSED_CONNECTION,
                Fault.SENT_TWICE,
                Fault.refused("OOM command not allowed"))) {
            for (String way : List.of("lock", "tryLock", "timed", "handle", "busy")) {
                all.add(Arguments.of(fault, way));
            }
        }
        return all;
    }

    private void goWay(String way) throws InterruptedException {
        switch (way) {
            case "lock" -> multi.lock();
            case "tryLock" -> multi.tryLock();
            case "timed" -> tryFor(multi, 2_000);
            case "handle" -> acquireAll().release();
            default -> {
                FencedLock theirs = others.reentrantLock("c");
                theirs.lock();
                try {
                    assertThat(tryFor(multi, 200)).isFalse();
                } finally {
                    theirs.unlock();
                }
            }
        }
        if (multi.isHeldByCurrentThread()) {
            multi.unlock();
        }
    }

    /** Each request in turn meets the fault, until there is none left to meet it. */
    @ParameterizedTest
    @MethodSource("faults")
    void fault_atAnyRequest_leavesNothing(Fault fault, String way) {
        for (int first = 1, met = 1; met >= first; first++) {
            AtomicInteger calls = new AtomicInteger();
            int nth = first;
            redis.failNext(1, call -> calls.incrementAndGet() == nth, fault);
            whileTimePasses(() -> {
                try {
                    goWay(way);
                } catch (LockUnavailableException e) {
                    assertThat(multi.isHeldByCurrentThread()).isFalse();
                } catch (InterruptedException e) {
                    throw new AssertionError(e);
                }
            });
            passUntil(this::isNothingLeft);
            met = calls.get();
            redis.heal();
        }
        assertNothingLeft();
        assertThat(losses).isEmpty();
    }

    /** Errors at any reading of the clock, which a call reads wherever it does anything. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 20})
    void errors_anywhere_leaveNothing(int count) {
        for (String way : List.of("lock", "handle", "busy")) {
            boolean met = true;
            for (int first = 1; met; first++) {
                clock.failReadings(first, count);
                try {
                    whileTimePasses(() -> {
                        try {
                            goWay(way);
                        } catch (InterruptedException e) {
                            throw new AssertionError(e);
                        }
                    });
                } catch (InternalError e) {
                    assertThat(e).hasMessageContaining("of the test");
                }
                met = clock.heal() >= first;
                if (multi.isHeldByCurrentThread()) {
                    multi.unlock();
                }
                for (FencedLock theirs : List.of(others.reentrantLock("c"))) {
                    if (theirs.isHeldByCurrentThread()) {
                        theirs.unlock();
                    }
                }
                pass(3_000);
                assertThat(NAMES).noneMatch(name -> locks.reentrantLock(name).isHeldByCurrentThread());
                passUntil(this::isNothingLeft);
            }
        }
        assertNothingLeft();
    }

    /** The outer hold is not the inner call's to give back. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void errors_anywhere_leaveAnOuterHoldAsItWas(int count) {
        FencedLock b = locks.reentrantLock("b");
        boolean met = true;
        for (int first = 1; met; first++) {
            b.lock();
            clock.failReadings(first, count);
            try {
                whileTimePasses(() -> assertThat(multi.tryLock()).isTrue());
                multi.unlock();
            } catch (InternalError e) {
                assertThat(e).hasMessageContaining("of the test");
            }
            met = clock.heal() >= first;
            if (multi.isHeldByCurrentThread()) {
                multi.unlock();
            }
            pass(3_000);
            assertThat(b.getHoldCount()).isEqualTo(1);
            b.unlock();
            passUntil(this::isNothingLeft);
        }
        assertNothingLeft();
    }

    @Test
    void interruptibleCalls_ofAnInterruptedThread_throwAndTakeNothing() {
        for (Locking call : List.<Locking>of(
                multi::lockInterruptibly,
                () -> multi.tryLock(0, TimeUnit.SECONDS),
                () -> multi.tryLock(1, TimeUnit.SECONDS),
                () -> locks.multiLock(NAMES).acquire())) {
            Thread.currentThread().interrupt();
            assertThatThrownBy(call::go).isInstanceOf(InterruptedException.class);
            assertThat(Thread.interrupted()).isFalse();
            assertThat(multi.isHeldByCurrentThread()).isFalse();
        }
        assertNothingLeft();
    }

    private interface Locking {
        void go() throws InterruptedException;
    }

    @Test
    void fixedLease_overARenewedHold_leavesItsRenewal() {
        RedisReentrantLock renewed = locks.reentrantLock("a");
        renewed.lock();
        MultiLock fixed =
                locks.multiLock(List.of("a", "b"), LockOptions.defaults().fixedLease(Duration.ofSeconds(2)));
        fixed.lock();
        fixed.unlock();
        pass(60_000);
        assertThat(losses).isEmpty();
        assertThat(renewed.isHeldByCurrentThread()).isTrue();
        renewed.unlock();
    }
}
