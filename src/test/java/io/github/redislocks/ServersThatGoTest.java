package io.github.redislocks;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.concurrent.Loggers;
import io.github.redislocks.events.EventNotifier;
import io.github.redislocks.fixture.FakeClock;
import io.github.redislocks.fixture.Logged;
import io.github.redislocks.health.MonitoredRedis;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.redis.ServerTimes;
import io.github.redislocks.script.Inspections;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Settings;
import io.github.redislocks.testkit.twin.InMemoryRedis;
import java.io.IOException;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;

/** Tests that a client forgets servers when masters with different addresses come and go. */
@Isolated("It looks at what all threads log")
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

    private static Redis redis(InvocationHandler handler) {
        return (Redis)
                Proxy.newProxyInstance(ServersThatGoTest.class.getClassLoader(), new Class<?>[] {Redis.class}, handler);
    }

    @Test
    void outageOfAMasterThatLostItsSlots_isToldAsOver() {
        List<String> masters = new CopyOnWriteArrayList<>(List.of("a:1", "b:1"));
        InMemoryRedis twin = new InMemoryRedis(clock.server());
        Redis cluster = redis((p, method, args) -> switch (method.getName()) {
            case "serverOf" -> masters.get(0);
            case "hasOneSlot" -> false;
            case "servers" ->
                masters.stream()
                        .map(master -> redis((server, address, none) -> master))
                        .toList();
            default -> method.invoke(twin, args);
        });
        EventNotifier events = new EventNotifier(List.of());
        MonitoredRedis monitored = new MonitoredRedis(Settings.DEFAULTS, clock, cluster, events);
        monitored.connected();
        clock.advanceMillis(1);
        RedisException away = new RedisException.Unanswered("away", true, new IOException("Connection refused"));
        String log = Logged.infoBy(Loggers.CONNECTION, () -> {
            long now = clock.nanoTime();
            monitored.of("key").failed(Inspections.locked(LockKeys.of("redis-locks", "job")), away, now, SECOND, now);
            clock.advanceMillis(500);
            monitored.moved();
            events.awaitTold(Duration.ofSeconds(20));
            assertThat(Logged.soFar()).as("it may come back").doesNotContain("replaced");
            clock.advanceMillis(500);
            masters.remove(0);
            monitored.moved();
            monitored.moved();
            events.awaitTold(Duration.ofSeconds(20));
        });
        assertThat(log.lines().filter(line -> line.contains("Redis is away"))).hasSize(1);
        assertThat(log.lines().filter(line -> line.contains("Redis at a:1 has been replaced after 1000 ms")))
                .hasSize(1);
        assertThat(monitored.count()).isZero();
        twin.close();
    }

    @Test
    void outages_ofManyMasters_areForgottenOnceTheyAreOver() {
        AtomicReference<String> master = new AtomicReference<>("");
        InMemoryRedis twin = new InMemoryRedis(clock.server());
        Redis redis = redis(
                (p, method, args) -> method.getName().equals("serverOf") ? master.get() : method.invoke(twin, args));
        MonitoredRedis outages = new MonitoredRedis(Settings.DEFAULTS, clock, redis, new EventNotifier(List.of()));
        RedisException away = new RedisException.Unanswered("away", true, null);
        for (int i = 0; i < MASTERS; i++) {
            master.set("master-" + i);
            long now = clock.nanoTime();
            outages.of("key")
                    .failed(Inspections.locked(LockKeys.of("redis-locks", "job")), away, now, SECOND, now + SECOND);
            clock.advanceMillis(1_001);
            outages.moved();
        }
        assertThat(outages.of("key").silence(clock.nanoTime()))
                .as("the server is still away")
                .isPositive();
        assertThat(outages.count()).as("the servers of the last seconds").isLessThan(20);
        twin.close();
    }
}
