package io.github.redislocks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.fixture.ForwardingRedis;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.state.Settings;
import io.github.redislocks.testkit.twin.InMemoryRedis;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A list while the server restarts, whose cursors then lead past locks that are held all the time. */
@Timeout(30)
class LockListRestartTest {

    /** The cursors that were asked for. */
    private final List<String> asked = new ArrayList<>();

    private final List<Reply> parts = new ArrayList<>();
    private final InMemoryRedis twin = new InMemoryRedis();
    private final RedisLocks locks = RedisLocks.on(
            new ForwardingRedis(twin) {
                @Override
                public Reply run(Call call, long timeoutNanos) {
                    if (!call.script().name().equals("list")) {
                        return super.run(call, timeoutNanos);
                    }
                    asked.add(call.args().get(0));
                    return parts.remove(0);
                }
            },
            Settings.DEFAULTS,
            List.of(),
            Clock.SYSTEM);

    @AfterEach
    void close() {
        locks.close();
    }

    private void part(String cursor, String runId, String... names) {
        List<Object> values = new ArrayList<>(List.of(cursor, runId));
        for (String name : names) {
            values.addAll(List.of("redis-locks:{" + name + "}", "h:1:c:1", 1L, 5L, 1_000L, 0L, 0L, 0L));
        }
        parts.add(new Reply("LISTED", values));
    }

    private List<String> names() {
        return locks.list("*").map(LockSummary::lockName).toList();
    }

    @Test
    void list_whileTheServerRestarts_beginsAgainAndHasEachLockOnce() {
        part("7", "one", "a");
        part("0", "two", "b");
        part("9", "two", "a", "c");
        part("0", "two", "b");
        assertThat(names()).containsExactly("a", "b", "c");
        assertThat(asked).containsExactly("0", "7", "0", "9");
    }

    @Test
    void list_ofAServerThatDoesNotTellWhichItIs_goesOn() {
        part("7", "", "a");
        part("0", "", "b");
        assertThat(names()).containsExactly("a", "b");
    }

    @Test
    void list_ofAServerThatIsAnotherEachTime_isGivenUp() {
        for (int i = 0; i < 100; i++) {
            part("7", "run" + i, "a");
        }
        assertThatThrownBy(this::names)
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageContaining("it was another server than before each time");
        assertThat(asked).hasSize(6);
    }
}
