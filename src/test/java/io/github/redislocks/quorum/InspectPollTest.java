package io.github.redislocks.quorum;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.script.Inspections;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** The holder of a lock and its waiters, by the answers of three masters. */
class InspectPollTest extends ThreeMasters {

    private static final Reply FREE = new Reply("FREE", List.of());
    private static final Reply NOBODY = new Reply("FREE", List.of("", 0L, 0L, 0L, 0L, 0L));

    private final Call call = Inspections.inspect(keys);
    private final Poll inspect = new InspectPoll(3, call, "HELD", 1, 4);
    private final Poll locked = new InspectPoll(3, call, "LOCKED", 2, 0);

    private static Reply held(String owner, long holds, long waiters) {
        return new Reply("HELD", List.of(owner, holds, 5L, 1_000L, waiters, 0L));
    }

    private static Reply locked(String attempt, long token) {
        return new Reply("LOCKED", List.of("a:1", attempt, Long.toString(token)));
    }

    private static Poll.@Nullable Result judge(Poll poll, boolean closed, @Nullable Reply... replies) {
        return poll.judge(new Poll.Answers(
                Arrays.stream(replies)
                        .map(reply -> reply == null ? null : Outcome.of(reply))
                        .toList(),
                closed));
    }

    @Test
    void holder_isWhomAMajorityNames_withTheMostEntriesThatOneOfThemKnows() {
        assertThat(result(inspect, held("a:1", 1, 0), held("b:1", 9, 0), held("a:1", 2, 0))
                        .outcome())
                .isEqualTo(Outcome.of(held("a:1", 2, 0)));
        assertThat(inspect.call(node, "", 0, 0)).isSameAs(call);
    }

    @Test
    void waiters_areThoseOfTheMasterThatKnowsMost() {
        assertThat(result(inspect, held("a:1", 1, 3), held("a:1", 1, 0), held("b:1", 1, 7))
                        .outcome())
                .isEqualTo(Outcome.of(held("a:1", 1, 7)));
    }

    @Test
    void candidates_thatNoMajorityNames_areNotShown() {
        assertThat(result(inspect, held("a:1", 1, 0), held("b:1", 1, 2), NOBODY).outcome())
                .isEqualTo(Outcome.of(new Reply("FREE", List.of("", 0L, 0L, 0L, 2L, 0L))));
    }

    @Test
    void hold_isThatOfTheAttemptThatAMajorityNames_whateverItsTokens() {
        for (long other : new long[] {5, 6}) {
            assertThat(result(locked, FREE, locked("1", 5), locked("1", other)).outcome())
                    .isEqualTo(Outcome.of(locked("1", 5)));
        }
        assertThat(result(locked, FREE, locked("1", 5), locked("2", 6)).outcome())
                .isEqualTo(Outcome.of(FREE));
    }

    @Test
    void masterThatDoesNotAnswer_isNotWaitedForIfNoMajorityCanNameAHolder() {
        assertThat(judge(locked, false, FREE, null, FREE).outcome()).isEqualTo(Outcome.of(FREE));
        assertThat(judge(inspect, false, NOBODY, NOBODY, null).outcome()).isEqualTo(Outcome.of(NOBODY));
    }

    @Test
    void answer_thatMayStillChangeIt_isWaitedFor() {
        assertThat(judge(locked, false, FREE, locked("1", 5), null)).isNull();
        assertThat(judge(locked, false, FREE, null, null)).isNull();
        assertThat(judge(locked, true, FREE, locked("1", 5), null).outcome()).isEqualTo(Outcome.of(FREE));
        assertThat(judge(locked, true, locked("1", 5), null, null).outcome().failure())
                .isInstanceOf(RedisException.Unanswered.class)
                .hasMessageStartingWith("a look at the lock needs 2 of 3 masters");
    }
}
