package io.github.redislocks;

import static io.github.redislocks.fixture.twin.Verbs.verb;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.client.Inside;
import io.github.redislocks.fixture.FakeClock;
import io.github.redislocks.fixture.Moment;
import io.github.redislocks.fixture.twin.TwoServers;
import io.github.redislocks.redis.Call;
import io.github.redislocks.state.Settings;
import io.github.redislocks.testkit.twin.Fault;
import io.github.redislocks.testkit.twin.HeldCalls;
import io.github.redislocks.testkit.twin.InMemoryRedis;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests a client of several servers: no server waits for another, and each has a clock of its own. */
@Timeout(30)
class TwoServersTest {

    private static final long HOUR_MICROS = 3_600_000_000L;

    /** A key for which the watchdog finds no sender, as if no thread could be started. */
    private volatile String scarce = "nothing";

    private final FakeClock clock = new FakeClock();
    private final InMemoryRedis first = new InMemoryRedis(clock.server());
    private final InMemoryRedis second = new InMemoryRedis(() -> clock.server().getAsLong() - HOUR_MICROS);
    private final List<LockLost> losses = new CopyOnWriteArrayList<>();
    private final RedisLocks locks = RedisLocks.on(
            new TwoServers(first, second, this::isOnSecond), Settings.DEFAULTS, LossListener.to(losses::add), clock);
    private final RedisReentrantLock here = locks.reentrantLock("on the first");
    private final RedisReentrantLock there = locks.reentrantLock("on the second");

    private boolean isOnSecond(String key) {
        if (key.contains(scarce) && Thread.currentThread().getName().startsWith("redis-locks-watchdog-")) {
            throw new OutOfMemoryError("unable to create native thread, of the test");
        }
        return key.contains("second");
    }

    @AfterEach
    void close() {
        scarce = "nothing";
        first.heal();
        second.heal();
        locks.close();
    }

    @Test
    void serverHangs_holdsOnTheOther_areRenewedMeanwhile() {
        here.lock();
        there.lock();
        HeldCalls one = first.hold(call -> call.script().name().equals("renew"));
        HeldCalls two = second.hold(call -> call.script().name().equals("renew"));
        clock.advanceMillis(10_000);
        await().until(() -> one.parked().size() == 1 && two.parked().size() == 1);
        two.release();
        await().pollInSameThread().until(() -> there.remainingLease().toMillis() > 29_000);
        one.release();
        assertThat(losses).isEmpty();
        here.unlock();
        there.unlock();
    }

    /** Lets time pass in steps, and the watchdog do in each what is due. */
    private void pass(long millis) {
        for (long passed = 0; passed < millis; passed += 500) {
            clock.advanceMillis(500);
            Thread watchdog = Inside.of(locks.client()).watchdog().threads().get(0);
            long parks = clock.parks(watchdog);
            Inside.of(locks.client()).watchdog().wakeAt(0);
            await().pollInterval(Duration.ofMillis(1))
                    .until(() -> clock.parks(watchdog) > parks
                            && Inside.of(locks.client()).watchdog().isIdle());
        }
    }

    @Test
    void noThreadForOneServer_holdsOnTheOther_areRenewedMeanwhile() {
        List<RedisReentrantLock> held = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            RedisReentrantLock one = locks.reentrantLock("first " + i);
            one.lock();
            held.add(one);
            locks.reentrantLock("second " + i).lock();
        }
        scarce = "second";
        pass(40_000);
        assertThat(held).allMatch(RedisReentrantLock::isHeldByCurrentThread);
        assertThat(losses).as("of the second").hasSize(20);
    }

    @Test
    void noThreadForTheServerOfTheMailbox_waitersOnAnother_areServedAllTheSame() throws InterruptedException {
        try (RedisLocks others = RedisLocks.on(first.another(), Settings.DEFAULTS, List.of(), clock)) {
            RedisReentrantLock other = others.reentrantLock("on the first");
            other.lock();
            Thread waiter = new Thread(() -> {
                here.lock();
                here.unlock();
            });
            waiter.start();
            await().until(() -> first.zset("redis-locks:{on the first}:queue").size() == 1);
            scarce = "mailbox";
            pass(6_000);
            first.dropMessages(true);
            other.unlock();
            pass(3_000);
            waiter.join(5_000);
            assertThat(waiter.isAlive()).isFalse();
        }
    }

    @Test
    void serverIsReplacedWhileAClientStarts_theNewOneIsAsked() {
        AtomicBoolean moved = new AtomicBoolean();
        InMemoryRedis old = first.another();
        old.failNext(call -> moved.compareAndSet(false, true), Fault.REPLY_LOST);
        TwoServers replaced = new TwoServers(old, second.another(), key -> moved.get());
        try (RedisLocks late = RedisLocks.on(replaced, Settings.DEFAULTS, List.of(), clock)) {
            assertThat(late.reentrantLock("job").tryLock()).isTrue();
        }
        assertThat(second.string("redis-locks:{job}:fence")).isNotNull();
    }

    @Test
    void serverFailsWhileAClientStarts_isNotAskedAgain() {
        InMemoryRedis broken = first.another();
        broken.failNext(call -> true, Fault.REPLY_LOST);
        TwoServers both = new TwoServers(broken, second.another(), key -> false);
        assertThatThrownBy(() -> RedisLocks.on(both, Settings.DEFAULTS, List.of(), clock))
                .isInstanceOf(LockUnavailableException.class);
        assertThat(broken.log().count("check")).isEqualTo(1);
    }

    @Test
    void clocksDiffer_requests_areDatedByTheServerThatRunsThem() {
        for (int i = 0; i < 3; i++) {
            assertThat(here.tryLock()).isTrue();
            here.unlock();
            assertThat(there.tryLock()).isTrue();
            there.unlock();
            clock.advanceMillis(1_500);
        }
        assertThat(first.log().count("take", "acquire")).isEqualTo(3);
        assertThat(second.log().count("take", "acquire"))
                .as("the first request brought the time")
                .isEqualTo(4);
        for (InMemoryRedis server : List.of(first, second)) {
            Call last = server.log().calls().stream()
                    .map(logged -> logged.call())
                    .filter(verb("acquire"))
                    .reduce((one, next) -> next)
                    .orElseThrow();
            assertThat(server.runLate(last).code()).as("sent 1.5 s ago").isEqualTo("LATE");
        }
    }

    @Test
    void serverIsAway_callsToIt_failAfterRetryForThoughTheOtherAnswers() throws InterruptedException {
        first.down(true);
        AtomicBoolean stop = new AtomicBoolean();
        Thread user = new Thread(() -> {
            while (!stop.get()) {
                there.isLocked();
            }
        });
        user.start();
        Thread caller = Thread.currentThread();
        Thread ticker = new Thread(() -> {
            while (!stop.get()) {
                if (clock.isParked(caller)) {
                    clock.advanceMillis(1);
                }
                Moment.pass();
            }
        });
        ticker.start();
        long began = clock.nanoTime();
        try {
            assertThatThrownBy(here::lock).isInstanceOf(LockUnavailableException.class);
        } finally {
            stop.set(true);
            user.join();
            ticker.join();
        }
        assertThat(clock.nanoTime() - began).isBetween(TimeUnit.SECONDS.toNanos(10), TimeUnit.SECONDS.toNanos(12));
        assertThat(there.tryLock()).isTrue();
        there.unlock();
    }
}
