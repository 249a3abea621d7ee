package io.github.redislocks;

import static io.github.redislocks.FixedLease.fixed;
import static io.github.redislocks.fixture.twin.Verbs.verb;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.client.Inside;
import io.github.redislocks.fixture.Moment;
import io.github.redislocks.fixture.OwnThread;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Settings;
import io.github.redislocks.state.WaitLimit;
import io.github.redislocks.testkit.twin.Fault;
import io.github.redislocks.testkit.twin.HeldCalls;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.Condition;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests what a client that closes with a drain still allows, and what it refuses. */
class DrainTest extends FakeTime {

    private static final Duration LONG = Duration.ofMinutes(5);
    private static final String CLOSED = "closed";

    private Thread closing(Duration drain) {
        Thread closer = new Thread(() -> locks.close(drain), "closer");
        closer.start();
        await().until(() -> locks.isClosed() && clock.isParked(closer));
        return closer;
    }

    @Test
    void holder_reentersAndUnlocks_andTheDrainEndsThen() throws InterruptedException {
        assertThat(locks.isClosed()).isFalse();
        lock.lock();
        Thread closer = closing(LONG);
        lock.lock();
        assertThat(lock.getHoldCount()).isEqualTo(2);
        lock.unlock();
        pass(2_000);
        assertThat(closer.isAlive()).isTrue();
        lock.ensureHeld();
        lock.unlock();
        long unlocked = clock.nanoTime();
        passUntil(() -> !closer.isAlive());
        assertThat(clock.nanoTime() - unlocked).as("ns").isLessThan(LONG.toNanos() / 2);
        closer.join();
        assertThat(losses).isEmpty();
        assertThat(server.hash(KEY)).isEmpty();
    }

    @Test
    void newcomersAndWaiters_areRefusedAtOnce() throws InterruptedException {
        RedisReentrantLock held = locks.reentrantLock("held");
        held.lock();
        other.lock();
        AtomicReference<Throwable> thrown = new AtomicReference<>();
        Thread waiter = new Thread(() -> {
            try {
                lock.lock();
            } catch (IllegalStateException e) {
                thrown.set(e);
            }
        });
        waiter.start();
        await().until(() -> server.zset(KEY + ":queue").size() == 1);
        Thread closer = closing(LONG);
        waiter.join();
        assertThat(thrown.get()).hasMessageContaining(CLOSED);
        assertThatThrownBy(lock::tryLock)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining(CLOSED);
        settle();
        assertThat(server.zset(KEY + ":queue")).isEmpty();
        assertThat(held.isHeldByCurrentThread()).isTrue();
        other.unlock();
        held.unlock();
        passUntil(() -> !closer.isAlive());
        closer.join();
    }

    @Test
    void holderWaitingInACondition_comesBackByItsSignal() throws InterruptedException {
        Condition ours = lock.newCondition("go");
        AtomicReference<Boolean> back = new AtomicReference<>();
        Thread waiter = new Thread(() -> {
            lock.lock();
            try {
                ours.awaitUninterruptibly();
                back.set(lock.isHeldByCurrentThread());
            } finally {
                lock.unlock();
            }
        });
        waiter.start();
        await().until(() -> server.zset(KEY + ":conditions").size() == 1);
        Thread closer = closing(LONG);
        pass(1_000);
        assertThat(waiter.isAlive()).isTrue();
        other.lock();
        other.newCondition("go").signal();
        other.unlock();
        passUntil(() -> !waiter.isAlive());
        waiter.join();
        assertThat(back.get()).isTrue();
        passUntil(() -> !closer.isAlive());
        closer.join();
        assertThat(losses).isEmpty();
    }

    /** The record of a loss, of which something happens when the closing thread looks at it. */
    private Hold lost(int number, Runnable onLook) {
        Inside client = inside;
        Attempt attempt = client.attempts()
                .make(
                        LockKeys.of("redis-locks", "lost" + number),
                        client.owners().caller(),
                        new Attempt.Request(30_000, true, false),
                        WaitLimit.endless());
        Attempt.Grant grant = new Attempt.Grant(5, false, clock.nanoTime() + 1, clock.nanoTime(), true);
        Hold hold = new Hold(attempt, grant, clock.nanoTime(), Long.MAX_VALUE, null) {
            @Override
            public boolean isOpenOrReleasing() {
                onLook.run();
                return super.isOpenOrReleasing();
            }
        };
        hold.lose(LockLost.Reason.TAKEN);
        return hold;
    }

    /** Locks, waits in a Condition when told to, and unlocks when told to. */
    private final class Returning extends Thread {

        volatile boolean mayWait;
        volatile boolean back;
        volatile boolean mayEnd;

        @Override
        public void run() {
            lock.lock();
            awaitTrue(() -> mayWait || mayEnd);
            if (!mayEnd) {
                lock.newCondition("go").awaitUninterruptibly();
            }
            back = true;
            awaitTrue(() -> mayEnd);
            lock.unlock();
        }

        private void awaitTrue(BooleanSupplier said) {
            while (!said.getAsBoolean()) {
                Moment.pass();
            }
        }

        boolean isBack() {
            return back && inside.attempts().isEmpty();
        }

        void end() {
            mayEnd = true;
            awaitEnd(this);
        }
    }

    /** Starts one that holds the lock, which is neither the first nor the last of all that the client looks at. */
    private Returning holderBetweenOthers() {
        while (true) {
            Returning holder = new Returning();
            holder.start();
            await().until(() -> inside.holds().all().stream().anyMatch(Hold::isOpen));
            List<Boolean> open = inside.holds().all().stream().map(Hold::isOpen).toList();
            if (!open.get(0) && !open.get(open.size() - 1)) {
                return holder;
            }
            holder.end();
        }
    }

    /** @param waitsBefore whether the holder waits already when the look begins, or goes there during it */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void holderThatComesBackFromAConditionWhileTheHoldsAreLookedAt_isWaitedFor(boolean waitsBefore) {
        int records = 20;
        AtomicInteger looks = new AtomicInteger(records);
        AtomicReference<Returning> returning = new AtomicReference<>();
        for (int i = 0; i < records; i++) {
            inside.holds().put(lost(i, () -> {
                int look = looks.incrementAndGet();
                Returning holder = returning.get();
                if (look == 1) {
                    holder.mayWait = true;
                    await().until(() -> clock.isParked(holder) || holder.back);
                } else if (look == records) {
                    await().until(holder::isBack);
                }
            }));
        }
        Returning holder = holderBetweenOthers();
        returning.set(holder);
        holder.mayWait = waitsBefore;
        await().until(() -> clock.isParked(holder) == waitsBefore);
        Thread closer = closing(LONG);
        long parks = clock.parks(closer);
        looks.set(0);
        clock.advanceMillis(50);
        await().until(() -> clock.isParked(holder));
        other.lock();
        other.newCondition("go").signal();
        await().until(() -> looks.get() >= records || clock.parks(closer) > parks);
        other.unlock();
        await().until(holder::isBack);
        pass(1_000);
        assertThat(closer.isAlive()).isTrue();
        holder.end();
        passUntil(() -> !closer.isAlive());
        assertThat(losses).extracting(LockLost::reason).doesNotContain(LockLost.Reason.CLOSED);
    }

    @Test
    void holderThatDoesNotEnd_losesItsHoldAfterTheDrain() throws InterruptedException {
        lock.lock();
        Thread closer = closing(Duration.ofSeconds(3));
        pass(2_500);
        assertThat(closer.isAlive()).isTrue();
        lock.ensureHeld();
        passUntil(() -> !closer.isAlive());
        closer.join();
        assertThat(losses).extracting(LockLost::reason).containsExactly(LockLost.Reason.CLOSED);
        assertThatThrownBy(lock::unlock).isInstanceOf(LockLostException.class);
        assertThat(server.hash(KEY)).isEmpty();
    }

    @Test
    void secondClose_withoutADrain_endsTheFirst() throws InterruptedException {
        lock.lock();
        Thread closer = closing(LONG);
        long began = clock.nanoTime();
        whileTimePasses(closer, locks::close);
        closer.join();
        // Time runs only while the first waits for holders: it looks for the second's wish each few milliseconds.
        assertThat(clock.nanoTime() - began).as("ns").isLessThan(TimeUnit.SECONDS.toNanos(1));
        assertThat(losses).hasSize(1);
    }

    /** The outage is over, and nobody has asked since. */
    @Test
    void close_afterAnOutage_endsAlsoWhatWasLostOrUnlockedInIt() {
        RedisReentrantLock lost = locks.reentrantLock("lost");
        fixed(lost, Duration.ofSeconds(3)).lock();
        lock.lock();
        redis.failNext(1_000, verb("renew"), Fault.REPLY_LOST);
        redis.failNext(1_000, verb("reenter"), Fault.REPLY_LOST);
        whileTimePasses(() -> assertThatThrownBy(
                        () -> fixed(lost, Duration.ofHours(1)).tryLock(Duration.ofMillis(50)))
                .isInstanceOf(LockUnavailableException.class));
        redis.down(true);
        whileTimePasses(lock::unlock);
        pass(6_000);
        assertThat(losses).extracting(LockLost::lockName).containsExactly("lost");
        redis.heal();
        assertThat(server.hash(KEY)).isNotEmpty();
        assertThat(server.hash("redis-locks:{lost}")).isNotEmpty();
        whileTimePasses(locks::close);
        assertThat(server.hash(KEY)).isEmpty();
        assertThat(server.hash("redis-locks:{lost}")).isEmpty();
    }

    /** The watchdog has not begun to end the lost hold in Redis yet. */
    @Test
    void close_rightAfterALoss_endsItInRedis() {
        for (int i = 0; i < 200; i++) {
            RedisLocks client = RedisLocks.on(server.another(), Settings.DEFAULTS, List.of(), clock);
            client.reentrantLock("job").lock();
            Hold hold = inside(client).holds().all().iterator().next();
            // A renewal that was sent and not answered.
            assertThat(hold.beginRenewal()).isTrue();
            inside(client).losses().lose(hold, LockLost.Reason.UNCONFIRMED);
            clients.add(client);
            whileTimePasses(client::close);
            clients.remove(client);
            assertThat(server.hash(KEY)).isEmpty();
        }
    }

    @Test
    void closingThread_interrupted_waitsForNoHolder() throws InterruptedException {
        lock.lock();
        Thread closer = closing(LONG);
        closer.interrupt();
        passUntil(() -> !closer.isAlive());
        closer.join();
        assertThat(losses).hasSize(1);
    }

    @Test
    void drain_thatIsNegative_isRefused_beforeAnythingIsClosed() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> locks.close(Duration.ofNanos(-1)))
                .withMessageContaining("-0.000001 ms")
                .withMessageContaining("close()");
        assertThat(locks.isClosed()).isFalse();
        assertThat(lock.tryLock()).isTrue();
        assertThat(locks).hasToString("RedisLocks " + locks.clientId() + " at memory[1 held, 0 waiting]");
        lock.unlock();
    }

    @Test
    void drain_ofADurationBeyondAllNumbers_isNoError() throws InterruptedException {
        lock.lock();
        Thread closer = closing(Duration.ofSeconds(Long.MAX_VALUE));
        lock.unlock();
        passUntil(() -> !closer.isAlive());
        closer.join();
        assertThat(losses).isEmpty();
    }

    @Test
    void close_duringAForce_isWhatTheCallerIsTold() {
        other.lock();
        HeldCalls held = redis.hold(verb("locked")).whateverTheirTimeouts();
        CompletableFuture<Boolean> forced = OwnThread.call(lock::forceUnlock);
        held.awaitParked(1, Duration.ofSeconds(20));
        whileTimePasses(locks::close);
        held.release();
        assertThatThrownBy(forced::join)
                .cause()
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining(CLOSED);
        other.unlock();
    }

    @Test
    void close_duringAList_isWhatTheCallerIsTold() {
        HeldCalls held = redis.hold(verb("list")).whateverTheirTimeouts();
        CompletableFuture<Long> counted = OwnThread.call(() -> locks.list("*").count());
        held.awaitParked(1, Duration.ofSeconds(20));
        whileTimePasses(locks::close);
        held.release();
        assertThatThrownBy(counted::join)
                .cause()
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining(CLOSED);
    }
}
