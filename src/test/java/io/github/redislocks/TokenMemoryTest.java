package io.github.redislocks;

import static io.github.redislocks.FixedLease.fixed;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.concurrent.Shown;
import io.github.redislocks.fixture.RedisServer;
import io.github.redislocks.redis.Script;
import io.github.redislocks.script.Scripts;
import io.github.redislocks.script.TokenMemory;
import io.github.redislocks.state.Settings;
import io.github.redislocks.state.Timing;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import redis.clients.jedis.Jedis;

/** Tests how long the last token of a lock is remembered with another token memory than the default. */
class TokenMemoryTest extends FakeTime {

    private static final Duration MEMORY = Duration.ofMinutes(2);
    private static final String FENCE = KEY + ":fence";

    private RedisLocks brief;
    private RedisReentrantLock job;

    @BeforeEach
    void connectBriefly() {
        Settings options = Settings.DEFAULTS.withTokenMemory(MEMORY);
        brief = RedisLocks.on(TokenMemory.of(server.another(), MEMORY), options, LossListener.to(losses::add), clock);
        clients.add(brief);
        job = brief.reentrantLock("job");
    }

    @AfterEach
    void closeBrief() {
        brief.close();
    }

    private Duration left() {
        return Duration.ofMillis(server.pttl(FENCE));
    }

    @Test
    void token_isRememberedForHalfOfTheTimeAndNoLongerThanAll_andGrows() {
        long last = 0;
        for (long seconds : new long[] {0, 1, 5, 13, 59, 119, 121}) {
            pass(seconds * 1_000);
            assertThat(job.tryLock()).isTrue();
            assertThat(left()).isGreaterThan(MEMORY.dividedBy(2));
            assertThat(job.fencingToken()).isGreaterThan(last);
            assertThat(job.previousHolderLost()).isFalse();
            last = job.fencingToken();
            job.unlock();
            assertThat(left()).isBetween(MEMORY.dividedBy(2), MEMORY.plus(Settings.DEFAULT_LEASE));
        }
        pass(151_000);
        assertThat(server.pttl(FENCE)).as("forgotten").isNegative();
    }

    @Test
    void holdThatIsRenewed_keepsItsMemory() {
        job.lock();
        for (int i = 0; i < 60; i++) {
            pass(10_000);
            assertThat(job.isHeldByCurrentThread()).isTrue();
            assertThat(left()).isGreaterThan(MEMORY.dividedBy(2).plus(Settings.DEFAULT_LEASE));
        }
        job.unlock();
    }

    @Test
    void holdWithAFixedLease_outlastsNoMemory() {
        fixed(job, Duration.ofHours(1)).lock();
        assertThat(left()).isGreaterThan(Duration.ofHours(1).plus(MEMORY).minusSeconds(1));
        assertThat(job.tryLock()).isTrue();
        pass(3_500_000);
        assertThat(left()).isGreaterThan(MEMORY);
        job.unlock();
        job.unlock();
    }

    @Test
    void fixedLeaseOfAReentry_outlastsNoMemory() {
        job.lock();
        fixed(job, Duration.ofHours(1)).lock();
        assertThat(left()).isGreaterThan(Duration.ofHours(1).plus(MEMORY).minusSeconds(1));
        job.unlock();
        job.unlock();
    }

    @Test
    void shorterLeaseOfAReentry_shortensNoMemory() {
        fixed(job, Duration.ofHours(1)).lock();
        job.lock();
        assertThat(left()).isGreaterThan(Duration.ofHours(1).plus(MEMORY).minusSeconds(1));
        pass(20_000);
        assertThat(left())
                .as("renewed")
                .isGreaterThan(Duration.ofHours(1).plus(MEMORY).minusSeconds(21));
        fixed(job, Duration.ofMillis(100)).lock();
        assertThat(left()).isGreaterThan(Duration.ofHours(1).plus(MEMORY).minusSeconds(21));
        for (int i = 0; i < 3; i++) {
            job.unlock();
        }
    }

    @Test
    void fixedLeaseOfAWaiter_outlastsNoMemory() throws Exception {
        other.lock();
        CountDownLatch seen = new CountDownLatch(1);
        FutureTask<Boolean> waiter = new FutureTask<>(() -> {
            fixed(job, Duration.ofHours(1)).lock();
            seen.await();
            job.unlock();
            return true;
        });
        new Thread(waiter).start();
        await().until(() -> others.inspect("job").queueLength() == 1);
        other.unlock();
        // A hand-over between clients gives a claim, which becomes the lease when the watchdog asks for that.
        await().until(() -> brief.inspect("job").holder().isPresent());
        pass(20_000);
        assertThat(left()).isGreaterThan(Duration.ofHours(1).plus(MEMORY).minusSeconds(60));
        seen.countDown();
        assertThat(waiter.get(10, TimeUnit.SECONDS)).isTrue();
    }

    @Test
    void holderThatWasLost_isRememberedForTheNext() {
        fixed(job, Duration.ofSeconds(1)).lock();
        pass(70_000);
        assertThat(other.tryLock()).isTrue();
        assertThat(other.previousHolderLost()).isTrue();
        other.unlock();
    }

    /** A thread that waits in a Condition of the lock by now. */
    private FutureTask<Boolean> conditionWait() {
        FutureTask<Boolean> waiter = new FutureTask<>(() -> {
            job.lock();
            job.newCondition("ready").await();
            job.unlock();
            return true;
        });
        new Thread(waiter).start();
        await().until(() -> server.zset(KEY + ":conditions").size() == 1);
        return waiter;
    }

    @Test
    void conditionWait_isSignalledByAClientThatKeepsTheLock_afterTheTime() throws Exception {
        Settings keeping = Settings.DEFAULTS.withTokenMemory(MEMORY).withResidency(Duration.ofMillis(100));
        RedisLocks keeper =
                RedisLocks.on(TokenMemory.of(server.another(), MEMORY), keeping, LossListener.to(losses::add), clock);
        clients.add(keeper);
        FutureTask<Boolean> waiter = conditionWait();
        pass(MEMORY.multipliedBy(2).toMillis());
        assertThat(left()).isGreaterThan(MEMORY.dividedBy(2));
        RedisReentrantLock kept = keeper.reentrantLock("job");
        kept.lock();
        kept.newCondition("ready").signal();
        kept.unlock();
        await().until(waiter::isDone);
        assertThat(waiter.get()).isTrue();
        keeper.close();
    }

    @Test
    void conditionWait_withoutAFence_endsWithoutASignal() throws Exception {
        FutureTask<Boolean> waiter = conditionWait();
        server.del(FENCE);
        pass(Timing.HEARTBEAT_MILLIS);
        await().until(waiter::isDone);
        assertThat(waiter.get()).isTrue();
    }

    static Stream<String> scripts() {
        return Stream.of(
                "take",
                "take_all",
                "acquire",
                "free",
                "free_all",
                "give_up",
                "release",
                "release_after",
                "renew",
                "reenter",
                "heartbeat",
                "await",
                "rejoin",
                "leave",
                "force",
                "keep",
                "vote",
                "withdraw");
    }

    @ParameterizedTest
    @ValueSource(longs = {60_000, 120_000, 999_999, 1_000_000, 9_999_999, 10_000_000, 99_999_999})
    void numbersOfTheScripts_followTheTime(long millis) {
        int power = Long.toString(millis).length() - 1;
        List<String> sources =
                scripts().map(name -> Script.load(Scripts.class, name).source()).toList();
        for (String source : sources) {
            assertThat(TokenMemory.source(source, Settings.DEFAULT_TOKEN_MEMORY.toMillis()))
                    .isEqualTo(source);
            String copy = TokenMemory.source(source, millis);
            assertThat(copy).doesNotContain("100000000").doesNotContainPattern("\\b10000000\\b(?<!" + millis + ")");
        }
        String take = TokenMemory.source(Script.load(Scripts.class, "take").source(), millis);
        assertThat(take).contains("#ARGV[3] > " + (power - 1) + " ", "1, " + (14 - power) + ")", millis + " + ARGV[3]");
        assertThat(TokenMemory.source(Script.load(Scripts.class, "acquire").source(), millis))
                .contains("tonumber(lease) < 1" + "0".repeat(power - 1) + " ", "#lease > " + (power - 1) + " ");
    }

    @ParameterizedTest
    @CsvSource({"PT59S, PT10S, PT1M", "PT1M59S, PT30S, PT2M", "PT-1S, PT30S, PT2M", "PT28H, PT30S, PT2M"})
    void timeThatIsTooShortOrTooLong_isRefused(Duration memory, Duration lease, Duration least) {
        RedisLocksBuilder builder = RedisLocks.builder().lease(lease).tokenMemory(memory);
        assertThatThrownBy(builder::build)
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("tokenMemory is " + Shown.of(memory))
                .hasMessageContaining("between " + Shown.of(least))
                .hasMessageContaining("100000 s");
        RedisLocksBuilder quorum = RedisLocks.builder()
                .quorum("redis://a", "redis://b", "redis://c")
                .restartDelay(Duration.ofMinutes(2))
                .tokenMemory(Duration.ofMinutes(7));
        assertThatThrownBy(quorum::build)
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("at least four times");
    }

    @Test
    void realServers_rememberForThatTime() {
        try (RedisServer a = RedisServer.start();
                RedisServer b = RedisServer.start();
                RedisServer c = RedisServer.start();
                RedisLocks single =
                        RedisLocks.builder().uri(a.uri()).tokenMemory(MEMORY).build();
                RedisLocks quorum = RedisLocks.builder()
                        .quorum(a.uri(), b.uri(), c.uri())
                        .restartDelay(Duration.ZERO)
                        .tokenMemory(MEMORY)
                        .build();
                Jedis jedis = a.client()) {
            for (RedisLocks locks : List.of(single, quorum)) {
                for (int i = 0; i < 3; i++) {
                    locks.reentrantLock("job").runWithLock(() -> {});
                }
                RedisReentrantLock unattended = locks.reentrantLock("long");
                fixed(unattended, Duration.ofHours(1)).lock();
            }
            // A majority may have granted without this master, whose vote is still on its way.
            await().until(() -> jedis.keys("*{long}:fence").size() == 2);
            assertThat(jedis.keys("*{long}:fence"))
                    .allSatisfy(
                            fence -> assertThat(jedis.pttl(fence)).isGreaterThan(3_600_000L + MEMORY.toMillis() / 2));
            assertThat(jedis.pttl(FENCE)).isBetween(60_000L, 150_000L);
            assertThat(jedis.keys("*{job}:fence"))
                    .hasSize(2)
                    .allSatisfy(fence -> assertThat(jedis.pttl(fence)).isBetween(60_000L, 150_000L));
        }
    }
}
