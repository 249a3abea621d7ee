package io.github.redislocks.health;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.events.EventNotifier;
import io.github.redislocks.fixture.ForwardingRedis;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.state.Settings;
import io.github.redislocks.testkit.twin.InMemoryRedis;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class MonitoredRedisTest {

    private static final Settings ONE_REPLICA = Settings.DEFAULTS.withReplicaAcks(1, Duration.ofMillis(100));

    @Test
    void isAcknowledged_withoutMemoryToTellThatItIsNot_saysSo() {
        AtomicInteger asked = new AtomicInteger();
        try (InMemoryRedis twin = new InMemoryRedis()) {
            MonitoredRedis monitored = new MonitoredRedis(
                    ONE_REPLICA,
                    Clock.SYSTEM,
                    new ForwardingRedis(twin) {
                        @Override
                        public String serverOf(String key) {
                            if (asked.incrementAndGet() == 2) {
                                throw new OutOfMemoryError("of the test");
                            }
                            return "a:1";
                        }
                    },
                    new EventNotifier(List.of()));
            Reply granted = new Reply("OK", List.of(1L));
            assertThat(monitored.isAcknowledged("key", granted, Clock.SYSTEM.nanoTime()))
                    .isFalse();
            assertThat(asked).hasValue(2);
        }
    }
}
