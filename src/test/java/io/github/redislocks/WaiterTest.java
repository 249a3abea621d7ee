package io.github.redislocks;

import static io.github.redislocks.fixture.twin.Verbs.verb;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.fixture.ForwardingRedis;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.state.Settings;
import io.github.redislocks.testkit.twin.Fault;
import io.github.redislocks.testkit.twin.InMemoryRedis;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Waiters live by their heartbeats and by the subscription of their client, and end if Redis refuses these. */
class WaiterTest extends FakeTime {
    /** The thread that waits for the lock, once it is started. */
    private volatile @Nullable Thread waiter;

    private static final int HEARTBEAT = 1_500;
    /** Longer than a test may take. */
    private static final Duration LONG = Duration.ofSeconds(60);

    private final Port port = new Port(server.another());
    /** A client whose calls bear any stall of the machine. */
    private final RedisLocks patient =
            client(Settings.DEFAULTS.withLease(LONG).withCommandTimeout(LONG).withRetryFor(LONG));

    private RedisLocks client(Settings settings) {
        RedisLocks client = RedisLocks.on(port, settings, LossListener.to(losses::add), clock);
        clients.add(client);
        return client;
    }

    /** A server whose subscriptions are made as a test wants. */
    private static final class Port extends ForwardingRedis {

        private final InMemoryRedis target;
        private final AtomicInteger subscriptions = new AtomicInteger();
        /** Runs instead of the next subscription. */
        private final AtomicReference<@Nullable Opening> opening = new AtomicReference<>();

        interface Opening {
            Subscription open(String channel);
        }

        Port(InMemoryRedis target) {
            super(target);
            this.target = target;
        }

        @Override
        public Subscription subscribe(String channel, long timeoutNanos) {
            subscriptions.incrementAndGet();
            Opening next = opening.getAndSet(null);
            return next == null ? super.subscribe(channel, timeoutNanos) : next.open(channel);
        }

        int sent(String script) {
            return target.log().count(script);
        }

        void failNext(int count, Predicate<Call> which, Fault fault) {
            target.failNext(count, which, fault);
        }
    }

    /** A subscription of which only the client believes that it is open. */
    private static final class HalfOpen implements Redis.Subscription {

        private final CountDownLatch closed = new CountDownLatch(1);

        @Override
        public String next() {
            awaitUninterruptibly(closed);
            throw new RedisException.Unanswered("closed by the client", false, null);
        }

        @Override
        public void close() {
            closed.countDown();
        }
    }

    private static void awaitUninterruptibly(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @AfterEach
    void closePatient() {
        clients.remove(patient);
        whileTimePasses(() -> true, patient::close);
    }

    private void startWaiter(Runnable work) {
        Thread thread = new Thread(work, "waiter");
        waiter = thread;
        thread.start();
    }

    /** A thread of the client that locks and unlocks; how that ends. */
    private CompletableFuture<Void> waiter(RedisLocks client) {
        return CompletableFuture.runAsync(() -> client.reentrantLock("job").runWithLock(() -> {}), this::startWaiter);
    }

    private CompletableFuture<Void> queued() {
        CompletableFuture<Void> waiter = waiter(patient);
        await().until(() -> server.zset(KEY + ":queue").size() == 1);
        settle();
        return waiter;
    }

    /** A thread that waits for a signal. */
    private CompletableFuture<Void> awaiting() {
        RedisReentrantLock wanted = patient.reentrantLock("job");
        CompletableFuture<Void> waiter = CompletableFuture.runAsync(
                () -> {
                    wanted.lock();
                    try {
                        wanted.newCondition("ready").awaitUninterruptibly();
                    } finally {
                        wanted.unlock();
                    }
                },
                this::startWaiter);
        await().until(() -> server.zset(KEY + ":conditions").size() == 1);
        settle();
        return waiter;
    }

    private void signal(CompletableFuture<Void> waiter) {
        other.lock();
        other.newCondition("ready").signal();
        other.unlock();
        passUntil(waiter::isDone);
        waiter.join();
    }

    private void servesByAMessage(CompletableFuture<Void> waiter) {
        int heartbeats = port.sent("heartbeat");
        other.unlock();
        await().until(waiter::isDone);
        waiter.join();
        assertThat(port.sent("heartbeat")).isEqualTo(heartbeats);
    }

    @Test
    void heartbeat_isSentOnceInItsTime() {
        other.lock();
        CompletableFuture<Void> waiter = queued();
        pass(HEARTBEAT - 1);
        assertThat(port.sent("heartbeat")).isZero();
        for (int i = 1; i <= 3; i++) {
            pass(HEARTBEAT);
            assertThat(port.sent("heartbeat")).isEqualTo(i);
        }
        servesByAMessage(waiter);
    }

    @Test
    void heartbeatOfAnAwait_isSentOnceInItsTime() {
        CompletableFuture<Void> waiter = awaiting();
        for (int i = 1; i <= 3; i++) {
            pass(HEARTBEAT);
            assertThat(port.sent("heartbeat")).isEqualTo(i);
        }
        signal(waiter);
    }

    @Test
    void heartbeat_withoutAnAnswer_isSentAgainAfterAPause() {
        other.lock();
        CompletableFuture<Void> waiter = queued();
        AtomicInteger lost = new AtomicInteger();
        port.failNext(1_000, verb("heartbeat").and(call -> lost.incrementAndGet() > 0), Fault.REQUEST_LOST);
        pass(HEARTBEAT + 450);
        assertThat(lost).hasValue(5);
        port.target.heal();
        servesByAMessage(waiter);
    }

    @Test
    void waiter_whoseHeartbeatIsRefusedPermanently_failsAndSaysWhy() {
        other.lock();
        CompletableFuture<Void> waiter = queued();
        port.failNext(1_000, verb("heartbeat"), Fault.refused("NOPERM of the test"));
        pass(HEARTBEAT);
        await().until(waiter::isDone);
        assertThatThrownBy(waiter::join)
                .hasCauseInstanceOf(LockUnavailableException.class)
                .hasMessageContaining("NOPERM of the test");
        other.unlock();
        othersHaveTheLock();
    }

    @Test
    void await_whoseHeartbeatIsRefusedPermanently_waitsOnForItsSignal() {
        CompletableFuture<Void> waiter = awaiting();
        port.failNext(1_000, verb("heartbeat"), Fault.refused("NOPERM of the test"));
        pass(2 * HEARTBEAT);
        assertThat(waiter).isNotDone();
        port.target.heal();
        signal(waiter);
    }

    @Test
    void subscription_thatIsHalfOpen_isMadeAnewOnceItsPingIsMissed() {
        other.lock();
        HalfOpen half = new HalfOpen();
        RedisLocks hurried = client(Settings.DEFAULTS.withCommandTimeout(Duration.ofSeconds(2)));
        port.opening.set(channel -> half);
        CompletableFuture<Void> waiter = waiter(hurried);
        await().until(() -> server.zset(KEY + ":queue").size() == 1);
        int before = port.subscriptions.get();
        pass(HEARTBEAT);
        assertThat(half.closed.getCount()).as("the answer may still come").isEqualTo(1);
        pass(2 * HEARTBEAT);
        assertThat(half.closed.getCount()).isZero();
        passUntil(() ->
                port.subscriptions.get() > before && inside(hurried).mailbox().isOpen());
        servesByAMessage(waiter);
        clients.remove(hurried);
        whileTimePasses(() -> true, hurried::close);
    }

    @Test
    void subscription_thatAnswersItsPings_isKept() {
        other.lock();
        RedisLocks hurried = client(Settings.DEFAULTS.withCommandTimeout(Duration.ofSeconds(2)));
        CompletableFuture<Void> waiter = waiter(hurried);
        await().until(() -> server.zset(KEY + ":queue").size() == 1);
        int before = port.subscriptions.get();
        for (int i = 0; i < 10; i++) {
            pass(HEARTBEAT);
        }
        assertThat(port.subscriptions).hasValue(before);
        servesByAMessage(waiter);
        clients.remove(hurried);
        whileTimePasses(() -> true, hurried::close);
    }

    @Test
    void subscription_thatIsMadeWhileSomebodyWaitsForIt_isUsedAtOnce() {
        other.lock();
        port.opening.set(channel -> {
            awaitCallerOfMailbox();
            return port.target.subscribe(channel, 1);
        });
        CompletableFuture<Void> waiter = queued();
        servesByAMessage(waiter);
    }

    @Test
    void subscription_thatIsRefusedWhileSomebodyWaitsForIt_failsTheWaiterAtOnce() {
        other.lock();
        // The reader may subscribe again before the waiter has seen the refusal.
        port.opening.set(new Port.Opening() {
            @Override
            public Redis.Subscription open(String channel) {
                port.opening.set(this);
                awaitCallerOfMailbox();
                throw new RedisException.Refused("NOPERM of the test", null);
            }
        });
        CompletableFuture<Void> waiter = waiter(patient);
        await().until(waiter::isDone);
        assertThatThrownBy(waiter::join)
                .hasCauseInstanceOf(LockUnavailableException.class)
                .hasMessageContaining("NOPERM of the test");
        other.unlock();
    }

    /** Waits until the waiter can only be woken by the mailbox. */
    private void awaitCallerOfMailbox() {
        await().until(() -> waiter != null && waiter.getState() == Thread.State.TIMED_WAITING);
    }

    @Test
    void close_whileSomebodyWaitsForASubscription_endsTheWait_andTheSubscription() throws InterruptedException {
        other.lock();
        CountDownLatch closed = new CountDownLatch(1);
        HalfOpen late = new HalfOpen();
        port.opening.set(channel -> {
            awaitUninterruptibly(closed);
            return late;
        });
        CompletableFuture<Void> waiter = waiter(patient);
        awaitCallerOfMailbox();
        Thread closing = new Thread(patient::close);
        closing.start();
        whileTimePasses(() -> true, () -> await().until(waiter::isDone));
        assertThatThrownBy(waiter::join).hasCauseInstanceOf(IllegalStateException.class);
        closed.countDown();
        await().until(() -> late.closed.getCount() == 0);
        whileTimePasses(() -> true, () -> awaitEnd(closing));
    }

    @Test
    void acquireAsync_whileItsSubscriptionIsMade_asksNowAndThen() {
        other.lock();
        CountDownLatch goesOn = new CountDownLatch(1);
        port.opening.set(channel -> {
            awaitUninterruptibly(goesOn);
            return port.target.subscribe(channel, 1);
        });
        CompletableFuture<LockHandle> future = patient.reentrantLock("job").acquireAsync();
        pass(100);
        assertThat(port.target.log().count("take", "acquire")).isBetween(2, 20);
        goesOn.countDown();
        passUntil(() -> server.zset(KEY + ":queue").size() == 1);
        other.unlock();
        passUntil(future::isDone);
        future.join().close();
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void waiter_ofAClientThatCannotStartAThread_isGrantedTheLockWithTheNext(boolean async) {
        other.lock();
        AtomicInteger starts = new AtomicInteger();
        RedisLocks scarce = RedisLocks.builder()
                .threadFactory(work -> new Thread(work) {
                    @Override
                    public synchronized void start() {
                        if (getName().contains("mailbox") && starts.getAndIncrement() == 0) {
                            throw new OutOfMemoryError("of the test");
                        }
                        super.start();
                    }
                })
                .build(port, clock);
        clients.add(scarce);
        CompletableFuture<Void> waiter =
                async ? scarce.reentrantLock("job").acquireAsync().thenAccept(LockHandle::close) : waiter(scarce);
        passUntil(() -> server.zset(KEY + ":queue").size() == 1);
        servesByAMessage(waiter);
        assertThat(starts).hasValue(2);
        clients.remove(scarce);
        whileTimePasses(() -> true, scarce::close);
    }
}
