package io.github.redislocks.health;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.LockListener;
import io.github.redislocks.RedisOutage;
import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.events.EventNotifier;
import io.github.redislocks.fixture.FakeClock;
import io.github.redislocks.fixture.ForwardingRedis;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.script.Inspections;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Settings;
import io.github.redislocks.testkit.twin.InMemoryRedis;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class MonitoredRedisTest {

    private final FakeClock fake = new FakeClock();
    private final List<String> told = new CopyOnWriteArrayList<>();
    private final EventNotifier events = new EventNotifier(List.of(new LockListener() {
        @Override
        public void outageBegan(RedisOutage outage) {
            told.add("began");
        }

        @Override
        public void outageEnded(RedisOutage outage) {
            told.add("ended");
        }
    }));
    private boolean down;
    private boolean movesWhileItFails;
    private boolean movesNext;
    private boolean hasNoMaster;
    private boolean replaced;
    /** A clock with a hook that runs before each reading. */
    private final Clock stepping = new Clock() {
        @Override
        public long nanoTime() {
            if (movesNext) {
                movesNext = false;
                several.moved();
            }
            return fake.nanoTime();
        }

        @Override
        public void park(Object blocker, long nanos) {
            fake.park(blocker, nanos);
        }
    };

    private @Nullable MonitoredRedis several;

    /** A Redis that is a single server of several. */
    private class One extends ForwardingRedis {

        One(InMemoryRedis twin) {
            super(twin);
        }

        @Override
        public String serverOf(String key) {
            return hasNoMaster ? "" : "a:1";
        }

        @Override
        public String address() {
            return "a:1";
        }

        @Override
        public boolean hasOneSlot() {
            return false;
        }

        @Override
        public List<? extends Redis> servers() {
            return replaced ? List.of() : List.of(this);
        }

        @Override
        public Reply run(Call call, long timeoutNanos) {
            if (!down) {
                return super.run(call, timeoutNanos);
            }
            fake.advanceMillis(3_000);
            movesNext = movesWhileItFails;
            throw new RedisException.Unanswered("silent", true, null);
        }
    }

    private void outage(boolean movesWhileItFails, long silentMillis) {
        this.movesWhileItFails = movesWhileItFails;
        fake.advanceMillis(1_000);
        try (InMemoryRedis twin = new InMemoryRedis(fake.server())) {
            MonitoredRedis monitored = new MonitoredRedis(Settings.DEFAULTS, stepping, new One(twin), events);
            several = monitored;
            monitored.connected();
            Call call = Inspections.locked(LockKeys.of("redis-locks", "job"));
            monitored.run(call, 3_000_000_000L);
            fake.advanceMillis(1_000);
            down = true;
            assertThatThrownBy(() -> monitored.run(call, 3_000_000_000L)).isInstanceOf(RedisException.Unanswered.class);
            down = false;
            fake.advanceMillis(silentMillis);
            monitored.moved();
            monitored.run(call, 3_000_000_000L);
            await().until(() -> told.size() == 2);
            assertThat(told).containsExactly("began", "ended");
        }
    }

    @Test
    void outage_whileTheMastersChange_isPublishedFromStartToEnd() {
        outage(true, 0);
    }

    @Test
    void outage_withoutCallsForALongTime_isPublishedFromStartToEnd() {
        outage(false, 60_000);
    }

    /** No call goes to that server any more. */
    @Test
    void outage_ofAServerReplacedWhileACallFails_isPublishedFromStartToEnd() {
        replaced = true;
        movesWhileItFails = true;
        fake.advanceMillis(1_000);
        try (InMemoryRedis twin = new InMemoryRedis(fake.server())) {
            MonitoredRedis monitored = new MonitoredRedis(Settings.DEFAULTS, stepping, new One(twin), events);
            several = monitored;
            monitored.connected();
            down = true;
            Call call = Inspections.locked(LockKeys.of("redis-locks", "job"));
            assertThatThrownBy(() -> monitored.run(call, 3_000_000_000L)).isInstanceOf(RedisException.Unanswered.class);
            await().until(() -> told.size() == 2);
            assertThat(told).containsExactly("began", "ended");
        }
    }

    /** A cluster may lose the only master of a slot. */
    @Test
    void outage_ofAKeyWithoutAMaster_isPublishedFromStartToEndEachTime() {
        fake.advanceMillis(1_000);
        try (InMemoryRedis twin = new InMemoryRedis(fake.server())) {
            MonitoredRedis monitored = new MonitoredRedis(Settings.DEFAULTS, fake, new One(twin), events);
            monitored.connected();
            Call call = Inspections.locked(LockKeys.of("redis-locks", "job"));
            for (int time = 1; time <= 2; time++) {
                hasNoMaster = true;
                down = true;
                assertThatThrownBy(() -> monitored.run(call, 3_000_000_000L))
                        .isInstanceOf(RedisException.Unanswered.class);
                // Another lock has a new master, this lock has none.
                monitored.moved();
                int all = 2 * time;
                await().until(() -> told.size() == all - 1);
                hasNoMaster = false;
                down = false;
                monitored.run(call, 3_000_000_000L);
                await().until(() -> told.size() == all);
            }
            assertThat(told).containsExactly("began", "ended", "began", "ended");
            assertThat(monitored.count()).isOne();
        }
    }

    @Test
    void run_withAReplyOfNoServer_endsNoOutage() {
        fake.advanceMillis(1_000);
        try (InMemoryRedis twin = new InMemoryRedis(fake.server())) {
            Redis unasked = new One(twin) {
                @Override
                public Reply run(Call call, long timeoutNanos) {
                    return down ? super.run(call, timeoutNanos) : new Reply(Reply.UNASKED, List.of());
                }
            };
            MonitoredRedis monitored = new MonitoredRedis(Settings.DEFAULTS, fake, unasked, events);
            monitored.connected();
            Call call = Inspections.locked(LockKeys.of("redis-locks", "job"));
            down = true;
            assertThatThrownBy(() -> monitored.run(call, 3_000_000_000L)).isInstanceOf(RedisException.Unanswered.class);
            down = false;
            Availability server = monitored.of(call.keys().get(0));
            long silent = server.silence(fake.nanoTime());
            assertThat(silent).isPositive();
            assertThat(monitored.run(call, 3_000_000_000L).code()).isEqualTo(Reply.UNASKED);
            assertThat(server.silence(fake.nanoTime())).isGreaterThanOrEqualTo(silent);
            assertThat(server.answeredSince(0)).isFalse();
        }
    }
}
