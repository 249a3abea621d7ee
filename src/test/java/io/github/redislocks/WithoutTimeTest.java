package io.github.redislocks;

import static io.github.redislocks.fixture.twin.Verbs.verb;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.fixture.FakeClock;
import io.github.redislocks.fixture.ForwardingRedis;
import io.github.redislocks.fixture.OwnThread;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.state.Settings;
import io.github.redislocks.testkit.twin.InMemoryRedis;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * A try without time is one thing, by whatever way: in its time, and in what it takes before whom.
 * {@link ResidencyTest} has what it takes of a lock that a client keeps.
 */
class WithoutTimeTest extends FakeTime {

    private static final LockOptions FAIR = LockOptions.defaults().fair(true);

    private volatile long lastedMillis;
    private final Far way = new Far(server.another(), clock);
    private final RedisLocks far = RedisLocks.on(way, Settings.DEFAULTS, List.of(), clock);

    /** Answers requests for locks after 400 ms, or never. */
    private static final class Far extends ForwardingRedis {

        private final FakeClock clock;
        private volatile boolean hangs;

        Far(InMemoryRedis target, FakeClock clock) {
            super(target);
            this.clock = clock;
        }

        private boolean isHeard(List<Call> calls, long timeoutNanos) {
            boolean wants =
                    calls.stream().anyMatch(verb("take").or(verb("acquire")).or(verb("take_all")));
            long nanos = hangs ? timeoutNanos : TimeUnit.MILLISECONDS.toNanos(400);
            if (wants) {
                clock.advanceMicros(Math.min(nanos, timeoutNanos) / 1_000);
            }
            return !hangs && (!wants || nanos <= timeoutNanos);
        }

        private static RedisException unanswered() {
            return new RedisException.Unanswered("no answer in time", true, null);
        }

        @Override
        public Reply run(Call call, long timeoutNanos) {
            if (!isHeard(List.of(call), timeoutNanos)) {
                throw unanswered();
            }
            return super.run(call, timeoutNanos);
        }

        @Override
        public List<Outcome> runAll(List<Call> calls, long timeoutNanos) {
            return isHeard(calls, timeoutNanos)
                    ? super.runAll(calls, timeoutNanos)
                    : calls.stream().map(call -> Outcome.of(unanswered())).toList();
        }
    }

    @BeforeEach
    void addFar() {
        clients.add(far);
    }

    @AfterEach
    void closeFar() {
        way.hangs = false;
        whileTimePasses(() -> true, far::close);
    }

    private boolean takes(WithoutTime kind, RedisLocks client, boolean several, LockOptions options) {
        CompletableFuture<Boolean> taken = OwnThread.call(() -> {
            long began = clock.nanoTime();
            try {
                return kind.takes(client, several, options);
            } finally {
                lastedMillis = TimeUnit.NANOSECONDS.toMillis(clock.nanoTime() - began);
            }
        });
        passUntil(taken::isDone);
        return taken.join();
    }

    @ParameterizedTest
    @EnumSource(WithoutTime.class)
    void takesAFreeLock_ofARedisThatIsFarAway(WithoutTime kind) {
        for (boolean several : new boolean[] {false, true}) {
            assertThat(takes(kind, far, several, LockOptions.defaults())).isTrue();
        }
    }

    @ParameterizedTest
    @EnumSource(WithoutTime.class)
    void waitsACommandTimeoutForARedisThatHangs_andDoesNotCallTheLockBusy(WithoutTime kind) {
        way.hangs = true;
        for (boolean several : new boolean[] {false, true}) {
            assertThatThrownBy(() -> takes(kind, far, several, LockOptions.defaults()))
                    .hasCauseInstanceOf(LockUnavailableException.class);
            assertThat(lastedMillis).isBetween(1_000L, 1_200L);
        }
    }

    /** A listener keeps the thread for longer than a command timeout. */
    @ParameterizedTest
    @EnumSource(WithoutTime.class)
    void takesAFreeLock_howeverLateItsThreadAsks(WithoutTime kind) {
        LockListener slow = new LockListener() {
            @Override
            public @Nullable Acquiring acquiring(String name) {
                clock.advanceMillis(1_001);
                return null;
            }
        };
        RedisLocks late = RedisLocks.on(server.another(), Settings.DEFAULTS, List.of(slow), clock);
        clients.add(late);
        try {
            assertThat(takes(kind, late, false, LockOptions.defaults())).isTrue();
        } finally {
            whileTimePasses(() -> true, late::close);
        }
    }

    /** Each request takes 400 ms, so the time and its grace are over with the first lock. */
    @Test
    void tryOfSeveral_whoseTimeIsOverAfterTheFirst_asksForNoOther() {
        long began = clock.nanoTime();
        CompletableFuture<Optional<MultiLockHandle>> all =
                far.multiLock(List.of("one", "two", "three")).tryAcquireAsync(Duration.ofMillis(100));
        passUntil(all::isDone);
        assertThat(all.join()).isEmpty();
        assertThat(clock.nanoTime() - began).isLessThan(TimeUnit.MILLISECONDS.toNanos(800));
        for (String name : List.of("one", "two", "three")) {
            passUntil(() -> server.hash("redis-locks:{" + name + "}").isEmpty());
        }
    }

    /** The waiter does not know yet that the lock is free. */
    @ParameterizedTest
    @EnumSource(WithoutTime.class)
    void takesAFairLockBeforeThoseInLine_byTryLockAlone(WithoutTime kind) throws InterruptedException {
        for (boolean several : new boolean[] {false, true}) {
            other.lock();
            Waiter waiter = new Waiter();
            waiter.startAndQueue();
            redis.dropMessages(true);
            server.del(KEY);
            assertThat(takes(kind, others, several, FAIR)).isEqualTo(kind.barges());
            redis.dropMessages(false);
            pass(2_000);
            passUntil(waiter::holds);
            waiter.end();
            assertThatThrownBy(other::unlock).isInstanceOf(LockLostException.class);
            await().until(() -> server.zset(KEY + ":queue").isEmpty());
        }
    }
}
