package io.github.redislocks.quorum;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.quorum.VoteAnswer.Word;
import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Reading the replies of {@code vote.lua}. */
class VoteAnswerTest {

    private static VoteAnswer read(String code, Object... values) {
        return VoteAnswer.of(Outcome.of(new Reply(code, List.of(values))));
    }

    @Test
    void reply_isReadByItsCode() {
        assertThat(read("VOTED", 5L, 3L, 1L, 0L, 9L)).isEqualTo(new VoteAnswer.Voted(5, 3, true, false));
        assertThat(read("VOTED", 5L, 3L, 0L, 1L, 9L)).isEqualTo(new VoteAnswer.Voted(5, 3, false, true));
        assertThat(read("TAKEN", "a:1", 70L, 9L)).isEqualTo(new VoteAnswer.Taken("a:1", 70));
        assertThat(read("YOUNG", 80L, 9L)).isEqualTo(new VoteAnswer.Young(80));
        assertThat(read("GONE", 4L)).isEqualTo(new VoteAnswer.Gone(4));
        assertThat(read("OTHER")).isEqualTo(Word.OTHER);
        assertThat(read("STALE")).isEqualTo(Word.STALE);
        assertThat(read("LATE", 9L)).isEqualTo(Word.LATE);
    }

    @Test
    void anythingElse_isNone() {
        assertThat(read("GONE")).isEqualTo(Word.NONE);
        assertThat(read("OK")).isEqualTo(Word.NONE);
        assertThat(VoteAnswer.of(Outcome.of(new RedisException.Unanswered("away", true, null))))
                .isEqualTo(Word.NONE);
    }

    @Test
    void timeOfTheServer_standsBehindVotesAndWhatIsSaidInTheirPlace() {
        assertThat(List.of(read("VOTED", 5L, 3L, 0L, 0L, 9L), read("TAKEN", "a:1", 1L), read("YOUNG", 1L), Word.LATE))
                .allMatch(VoteAnswer::hasTime);
        assertThat(List.of(read("GONE", 4L), Word.OTHER, Word.STALE, Word.NONE)).noneMatch(VoteAnswer::hasTime);
    }
}
