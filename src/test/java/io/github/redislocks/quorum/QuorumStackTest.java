package io.github.redislocks.quorum;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.fixture.NearTheEnd;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.redis.Request;
import io.github.redislocks.script.Inspections;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Settings;
import io.github.redislocks.testkit.twin.InMemoryRedis;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Calls to a quorum near the end of the stack. */
@Timeout(value = 30, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class QuorumStackTest {

    private static final int DEPTHS = 100;
    private static final long LONG = 5_000_000_000L;

    private final LockKeys keys = LockKeys.of("redis-locks:quorum", "job");
    private final Quorum quorum =
            new Quorum(Stream.generate(InMemoryRedis::new).limit(3).toList(), Settings.DEFAULTS, 0);

    @AfterEach
    void close() {
        quorum.close();
    }

    private Call acquire(long attempt) {
        Request request = new Request.Acquire("client:1", attempt, 3_000, 0, 0);
        return new Call(request, Inspections.locked(keys).script(), keys.all(), List.of());
    }

    /** A call changes what all calls share only if it has the stack to complete the change. */
    @Test
    void run_atTheEndOfTheStack_changesNothingThatCallsShare() throws InterruptedException {
        // Loads all classes.
        Reply unused = quorum.run(acquire(1), LONG);
        List<Integer> changed = new ArrayList<>();
        int[] overflows = {0};
        for (int i = 0; i < DEPTHS; i++) {
            int left = i;
            int before = quorum.remembered();
            Thread diver = NearTheEnd.thread(() -> {
                if (NearTheEnd.overflows(left, () -> quorum.run(acquire(2 + left), LONG))) {
                    overflows[0]++;
                    if (quorum.remembered() != before) {
                        changed.add(left);
                    }
                }
            });
            diver.start();
            diver.join();
        }
        assertThat(overflows[0]).as("how often the end was met").isBetween(10, DEPTHS);
        assertThat(changed).as("frames left where an attempt was remembered").isEmpty();
    }
}
