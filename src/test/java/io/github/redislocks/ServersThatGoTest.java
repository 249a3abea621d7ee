package io.github.redislocks;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.fixture.twin.InMemoryRedis;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** What is known of servers, when masters come and go by their addresses. */
class ServersThatGoTest {

    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);
    private static final int MASTERS = 1_000;

    private final FakeClock clock = new FakeClock();
    private final ServerTimes times = new ServerTimes(clock);

    private static Reply told(long micros) {
        return new Reply("OK", List.of(micros));
    }

    @Test
    void times_ofManyMasters_areForgottenWithThem() {
        for (int i = 0; i < MASTERS; i++) {
            times.forget(clock.nanoTime());
            times.date(clock.nanoTime(), SECOND).micros("master-" + i);
            clock.advanceMillis(1);
        }
        assertThat(times.count()).isEqualTo(1);
    }

    @Test
    void time_ofAMasterThatWasForgotten_isNotTakenFromAnEarlierRequest() {
        ServerTimes.Date before = times.date(clock.nanoTime(), SECOND);
        before.micros("a");
        clock.advanceMillis(1);
        times.forget(clock.nanoTime());
        before.saw(told(5_000_000));
        assertThat(times.date(clock.nanoTime(), SECOND).micros("a")).isZero();
    }

    @Test
    void time_toldAfterALongJourney_countsFromTheSendingToWhoToldIt() {
        ServerTimes.Date date = times.date(clock.nanoTime(), SECOND);
        date.micros("a");
        clock.advanceMillis(800);
        date.micros("b");
        date.saw(told(5_000_000));
        assertThat(times.date(clock.nanoTime(), 0).micros("b")).isEqualTo(5_000_000);
    }

    @Test
    void outages_ofManyMasters_areForgottenOnceTheyAreOver() {
        AtomicReference<String> master = new AtomicReference<>("");
        InMemoryRedis twin = new InMemoryRedis(clock.server());
        Redis redis = (Redis)
                Proxy.newProxyInstance(getClass().getClassLoader(), new Class<?>[] {Redis.class}, (p, method, args) -> {
                    return method.getName().equals("serverOf") ? master.get() : method.invoke(twin, args);
                });
        Outages outages = new Outages(LockOptions.DEFAULTS, clock, redis);
        RedisException away = new RedisException.Unanswered("away", true, null);
        for (int i = 0; i < MASTERS; i++) {
            master.set("master-" + i);
            long now = clock.nanoTime();
            outages.of("key").failed(Protocol.locked(Keys.of("redis-locks", "job")), away, now, SECOND, now + SECOND);
            clock.advanceMillis(1_001);
            outages.moved();
        }
        assertThat(outages.of("key").silence(clock.nanoTime()))
                .as("it is still away")
                .isPositive();
        assertThat(outages.count()).as("those of the last seconds").isLessThan(20);
        twin.close();
    }
}
