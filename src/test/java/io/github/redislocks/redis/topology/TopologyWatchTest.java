package io.github.redislocks.redis.topology;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.redis.Address;
import io.github.redislocks.redis.jedis.JedisConfigs;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import redis.clients.jedis.DefaultJedisClientConfig;

/** The watch asks its observers again, whatever went wrong before. */
@Timeout(60)
class TopologyWatchTest {

    private final AtomicBoolean noMemory = new AtomicBoolean();
    private final AtomicInteger asked = new AtomicInteger();
    private final AtomicInteger failed = new AtomicInteger();

    private final class Watch extends TopologyWatch<String> {

        Watch() {
            super(
                    "test",
                    List.of(new Address("127.0.0.1", 1), new Address("127.0.0.1", 2)),
                    new JedisConfigs(DefaultJedisClientConfig.builder().build()).servers(1, Threads.DAEMONS),
                    500_000_000,
                    20_000_000,
                    Threads.DAEMONS);
        }

        @Override
        @Nullable
        protected Observer<String> next(List<Observer<String>> free, long now) {
            return free.isEmpty() ? null : free.get(0);
        }

        @Override
        protected long pauseNanos(List<Observer<String>> free, long now) {
            return 5_000_000;
        }

        @Override
        protected String ask(Observer<String> observer) {
            asked.incrementAndGet();
            want();
            return "";
        }

        @Override
        @Nullable
        protected String use(Observer<String> from, String answer, long now) {
            return null;
        }

        @Override
        protected void noReply(Observer<String> from, long now) {}

        @Override
        @Nullable
        protected String remedy(Observer<String> from, String message) {
            // The text needs memory as well.
            want();
            return null;
        }

        @Override
        protected void warn(String trouble) {}

        private void want() {
            if (noMemory.get()) {
                failed.incrementAndGet();
                throw new OutOfMemoryError("of the test");
            }
        }
    }

    @Test
    void outOfMemory_whileAFailureIsNoted_endsNoQuestionsPermanently() {
        Watch watch = new Watch();
        watch.start();
        try {
            await().until(() -> asked.get() > 4);
            noMemory.set(true);
            // A question and its failure, for both observers.
            await().until(() -> failed.get() >= 4);
            noMemory.set(false);
            int before = asked.get();
            await().until(() -> asked.get() > before + 4);
            assertThat(asked).hasValueGreaterThan(before);
        } finally {
            watch.close();
        }
    }
}
