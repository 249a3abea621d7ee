package io.github.redislocks;

import static io.github.redislocks.fixture.twin.Verbs.verb;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.redislocks.LockLost.Reason;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.state.Settings;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The limits of several locks: how long they last, their options, and the time of a try. */
class MultiLockLimitsTest extends FakeTime {

    private static final List<String> NAMES = List.of("a", "b", "c");
    private static final LockOptions MINUTE = LockOptions.defaults().maxHold(Duration.ofMinutes(1));

    private void keepToSlots(boolean oneByOne) {
        if (oneByOne) {
            inside.monitored().hasSlots();
        }
    }

    private static String key(String name) {
        return "redis-locks:{" + name + "}";
    }

    private void assertLostAfterAMinute(MultiLockHandle handle) {
        pass(59_000);
        handle.ensureHeld();
        assertThat(losses).isEmpty();
        pass(1_001);
        assertThat(handle.isHeld()).isFalse();
        assertThat(losses)
                .hasSize(3)
                .allSatisfy(loss -> assertThat(loss.reason()).isEqualTo(Reason.HELD_TOO_LONG));
        assertThat(NAMES).allSatisfy(name -> assertThat(server.keys()).doesNotContain(key(name)));
        assertThat(handle.release()).isFalse();
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void maxHold_endsEach(boolean oneByOne) throws InterruptedException {
        keepToSlots(oneByOne);
        assertLostAfterAMinute(locks.multiLock(NAMES, MINUTE).acquire());
    }

    /** The first locks may be held for longer, while nobody works under them. */
    @Test
    void maxHold_ofSeveralLocks_countsFromTheLastAcquisition() {
        FencedLock theirs = others.reentrantLock("b");
        theirs.lock();
        CompletableFuture<MultiLockHandle> held = new CompletableFuture<>();
        Thread waiter = new Thread(() -> {
            try {
                held.complete(locks.multiLock(NAMES, MINUTE).acquire());
            } catch (InterruptedException e) {
                held.completeExceptionally(e);
            }
        });
        waiter.start();
        passUntil(() -> server.zset(key("b") + ":queue").size() == 1);
        pass(150_000);
        assertThat(server.keys()).contains(key("a"));
        assertThat(losses).isEmpty();
        theirs.unlock();
        passUntil(held::isDone);
        assertLostAfterAMinute(held.join());
    }

    @Test
    void callWithHandle_whoseLockIsLost_isInterrupted() {
        assertThatThrownBy(() -> locks.multiLock(NAMES).callWithHandle(held -> {
                    others.reentrantLock("b").forceUnlock();
                    passUntil(() -> Thread.currentThread().isInterrupted());
                    return held.isHeld();
                }))
                .isInstanceOf(LockLostException.class);
        assertThat(Thread.interrupted()).isFalse();
    }

    /** A harm to the requests of callers. */
    private interface Harm {
        void befall(Call call, long timeoutNanos);
    }

    /** A client whose callers meet a harm once there is one. */
    private RedisLocks harmed(AtomicReference<Harm> harm) {
        InvocationHandler handler = (proxy, method, args) -> {
            if (harm.get() != null && method.getName().equals("run")) {
                harm.get().befall((Call) args[0], (Long) args[1]);
            }
            try {
                return method.invoke(redis, args);
            } catch (InvocationTargetException e) {
                throw e.getCause();
            }
        };
        Redis port =
                (Redis) Proxy.newProxyInstance(Redis.class.getClassLoader(), new Class<?>[] {Redis.class}, handler);
        return RedisLocks.on(port, Settings.DEFAULTS, LossListener.to(losses::add), clock);
    }

    /** Each request waits for its whole timeout, by the test's clock. */
    private void hang(Call call, long timeoutNanos) {
        clock.advanceMillis(TimeUnit.NANOSECONDS.toMillis(timeoutNanos));
        throw new RedisException.Unanswered("No answer to " + call.script(), true, null);
    }

    /** No request throws such a thing; if one did, that would be no reason to keep the other locks. */
    @Test
    void unlock_thatMeetsAnUnknownException_releasesAll() throws InterruptedException {
        AtomicReference<Harm> harm = new AtomicReference<>();
        RedisLocks client = harmed(harm);
        clients.add(client);
        MultiLock multi = client.multiLock(List.of("a", "b", "c"));
        multi.lock();
        multi.lock();
        MultiLockHandle handle = client.multiLock(List.of("d", "e")).acquire();
        harm.set((call, timeout) -> {
            throw new IllegalStateException("of the test");
        });
        // The inner unlock by a request for each, the outer one by one for all.
        assertThatThrownBy(multi::unlock)
                .hasMessage("of the test")
                .satisfies(e -> assertThat(e.getSuppressed()).hasSize(2));
        assertThatThrownBy(multi::unlock).hasMessage("of the test");
        assertThatThrownBy(handle::close).hasMessage("of the test");
        passUntil(() -> server.keys().stream().allMatch(key -> key.endsWith(":fence")));
        assertThat(losses).isEmpty();
        harm.set(null);
        whileTimePasses(client::close);
    }

    /** A try by one of several ways. */
    private interface Try {
        void go() throws InterruptedException;
    }

    private long millisUnanswered(Try way) {
        long began = clock.nanoTime();
        whileTimePasses(() -> assertThatThrownBy(way::go)
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageContaining("gave no usable answer"));
        return TimeUnit.NANOSECONDS.toMillis(clock.nanoTime() - began);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void tries_whileRedisHangs_endInTime(boolean oneByOne) {
        AtomicReference<Harm> harm = new AtomicReference<>();
        RedisLocks deaf = harmed(harm);
        if (oneByOne) {
            inside(deaf).monitored().hasSlots();
        }
        MultiLock multi = deaf.multiLock(List.of("a", "b", "c"));
        pass(100);
        harm.set(this::hang);
        redis.down(true);
        assertThat(millisUnanswered(() -> multi.tryLock(500, TimeUnit.MILLISECONDS)))
                .isBetween(500L, 700L);
        assertThat(millisUnanswered(multi::tryLock)).isBetween(1_000L, 1_200L);
        assertThat(millisUnanswered(() -> multi.tryLock(0, TimeUnit.SECONDS))).isBetween(1_000L, 1_200L);
        assertThat(millisUnanswered(() -> deaf.multiLock(NAMES).tryAcquire(Duration.ZERO)))
                .isBetween(1_000L, 1_200L);
        whileTimePasses(deaf::close);
    }

    /** The request for all is not answered in time, while another one of the client is. */
    private RedisLocks lateForAll(AtomicReference<Harm> harm) {
        RedisLocks late = harmed(harm);
        clients.add(late);
        harm.set((call, timeout) -> {
            if (verb("take_all").test(call)) {
                clock.advanceMillis(TimeUnit.NANOSECONDS.toMillis(timeout));
                assertThat(late.reentrantLock("other").isLocked()).isFalse();
                throw new RedisException.Unanswered("No answer to " + call.script(), true, null);
            }
        });
        return late;
    }

    @Test
    void tryWithoutTime_unansweredWhileAnotherRequestIsAnswered_isUnknown() {
        AtomicReference<Harm> harm = new AtomicReference<>();
        RedisLocks late = lateForAll(harm);
        MultiLock multi = late.multiLock(List.of("a", "b", "c"));
        assertThatThrownBy(multi::tryLock).isInstanceOf(LockUnavailableException.class);
        assertThatThrownBy(() -> multi.tryLock(0, TimeUnit.SECONDS)).isInstanceOf(LockUnavailableException.class);
        assertThat(multi.isHeldByCurrentThread()).isFalse();
        whileTimePasses(late::close);
    }
}
