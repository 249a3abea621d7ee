package io.github.redislocks.quorum;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.script.Inspections;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** When the answers of three masters decide, and the result where only the number of answers counts. */
@Timeout(30)
class PollTest extends ThreeMasters {

    private static final long SOON = 10 * SECOND;
    private static final Reply DONE = new Reply("DONE", List.of());
    private static final Reply GONE = new Reply("GONE", List.of());
    private static final Reply YOUNG = new Reply("YOUNG", List.of(1_000L, 1L));

    private final Call call = Inspections.locked(keys);
    private final List<Long> majorities = new ArrayList<>();

    /** A poll that the last answer decides; its value is the number of replies. */
    private final class Question extends Poll {

        private final long stragglersNanos;

        Question(long stragglersNanos) {
            super(3);
            this.stragglersNanos = stragglersNanos;
        }

        @Override
        public Call call(PolledMaster asked, String runId, long now, long timeoutNanos) {
            return call;
        }

        @Override
        public @Nullable Result judge(Answers answers) {
            return answers.open() > 0
                    ? null
                    : Result.of(
                            new Reply("ALL", List.of((long) answers.replies().size())));
        }

        @Override
        public long stragglersNanos(long majorityNanos) {
            majorities.add(majorityNanos);
            return stragglersNanos;
        }

        private long replies(long deadline) {
            return await(deadline, LockSupport::parkNanos).outcome().reply().number(0);
        }
    }

    private void hear(Poll poll, Outcome... outcomes) {
        for (int i = 0; i < outcomes.length; i++) {
            poll.answered(nodes.get(i), outcomes[i]);
        }
    }

    private static Outcome done() {
        return Outcome.of(DONE);
    }

    @Test
    void stragglers_areWaitedForNoLongerThanThePollAllows() {
        Question poll = new Question(0);
        long deadline = System.nanoTime() + SOON;
        hear(poll, done(), done());
        assertThat(poll.replies(deadline)).isEqualTo(2);
        assertThat(deadline - System.nanoTime()).isPositive();
        assertThat(majorities)
                .singleElement()
                .satisfies(nanos -> assertThat(nanos).isBetween(0L, SOON));
    }

    @Test
    void stragglers_thatThePollWouldWaitForLonger_areWaitedForUntilTheDeadline() {
        Question poll = new Question(3600 * SECOND);
        hear(poll, done(), done());
        assertThat(poll.replies(System.nanoTime())).isEqualTo(2);
    }

    @Test
    void stragglers_thatThePollHasTimeFor_areWaitedFor() throws InterruptedException {
        Question poll = new Question(SOON);
        hear(poll, done(), done());
        AtomicReference<Long> replies = new AtomicReference<>();
        Thread waiter = waiter(poll, replies);
        hear(poll, done(), done(), done());
        waiter.join();
        assertThat(replies).hasValue(3L);
    }

    /** A thread that waits long for the answers. */
    private static Thread waiter(Question poll, AtomicReference<Long> replies) {
        long deadline = System.nanoTime() + SOON;
        Thread waiter = new Thread(() -> {
            long heard = poll.replies(deadline);
            replies.set(deadline - System.nanoTime() > 0 ? heard : null);
        });
        waiter.start();
        await().until(() -> waiter.getState() == Thread.State.TIMED_WAITING);
        return waiter;
    }

    @Test
    void threadThatWaits_wakesByTheAnswerThatDecides() throws InterruptedException {
        Question poll = new Question(Long.MAX_VALUE);
        AtomicReference<Long> replies = new AtomicReference<>();
        hear(poll, done(), unanswered(true));
        Thread waiter = waiter(poll, replies);
        poll.answered(nodes.get(2), done());
        waiter.join();
        assertThat(replies).hasValue(2L);
        // The end of a wait does not keep later answers out.
        poll.answered(nodes.get(1), done());
    }

    @Test
    void waitingThread_wakesByTheMajorityThatDecides() throws InterruptedException {
        Question poll = new Question(0);
        AtomicReference<Long> replies = new AtomicReference<>();
        hear(poll, done());
        Thread waiter = waiter(poll, replies);
        poll.answered(nodes.get(1), done());
        waiter.join();
        assertThat(replies).hasValue(2L);
    }

    @Test
    void masterThatFails_isNoneOfAMajority() {
        Question poll = new Question(0);
        hear(poll, done(), unanswered(true));
        assertThat(majorities).isEmpty();
        poll.answered(nodes.get(2), done());
        assertThat(majorities).hasSize(1);
    }

    @Test
    void failureBehindAMajority_makesNoSecondOne() {
        Question poll = new Question(0);
        hear(poll, done(), done(), unanswered(true));
        assertThat(majorities).hasSize(1);
    }

    @Test
    void secondAnswerOfAMaster_changesNothing() {
        Question poll = new Question(0);
        hear(poll, done());
        hear(poll, unanswered(true));
        assertThat(poll.replies(System.nanoTime())).isEqualTo(1);
    }

    @Test
    void answerBehindTheDecision_changesNothing() {
        Question poll = new Question(0);
        hear(poll, done());
        Poll.Result decided = poll.await(System.nanoTime(), LockSupport::parkNanos);
        hear(poll, done(), done(), done());
        assertThat(poll.await(System.nanoTime(), LockSupport::parkNanos)).isSameAs(decided);
        assertThat(majorities).isEmpty();
    }

    @Test
    void pollThatSaysNothingElse_waitsForAllAsLongAsItsCallerAndAsksAll() {
        Poll poll = new InspectPoll(3, call, "LOCKED", 2, 0);
        assertThat(poll.patienceNanos()).isEqualTo(Long.MAX_VALUE);
        assertThat(poll.stragglersNanos(1)).isEqualTo(Long.MAX_VALUE);
        assertThat(poll.concerns(node)).isTrue();
        assertThat(poll.follows(poll)).isFalse();
    }

    private Poll majority() {
        return new MajorityPoll(3, call, Set.of("DONE", "MADE"), "OK", SECOND);
    }

    @Test
    void majority_thatHasDoneIt_isSuccessThatSaysWhetherACopyMayHaveRun() {
        assertThat(result(majority(), DONE, new Reply("MADE", List.of()), GONE).outcome())
                .isEqualTo(Outcome.of(new Reply("OK", List.of())));
        assertThat(result(majority(), GONE, DONE, DONE.resentOnce()).outcome())
                .isEqualTo(Outcome.of(new Reply("OK", List.of(), true)));
    }

    @Test
    void majority_outOfReach_isGone() {
        for (List<Reply> replies : List.of(
                List.of(DONE, GONE, new Reply("STALE", List.of())),
                List.of(GONE, takenBy("a:1"), DONE),
                List.of(takenBy("a:1"), takenBy("a:1"), DONE),
                List.of(YOUNG, YOUNG, DONE))) {
            assertThat(result(majority(), replies.toArray(Reply[]::new)).outcome())
                    .isEqualTo(Outcome.of(GONE));
        }
        assertThat(result(majority(), GONE, GONE.resentOnce()).outcome())
                .isEqualTo(Outcome.of(new Reply("GONE", List.of(), true)));
    }

    @Test
    void majority_stillOpen_isAwaitedUntilNoNodeIsLeft() {
        List<@Nullable Outcome> outcomes = Arrays.asList(done(), Outcome.of(GONE), null);
        assertThat(majority().judge(new Poll.Answers(outcomes, false))).isNull();
        assertThat(majority().judge(new Poll.Answers(outcomes, true)).outcome().failure())
                .hasMessage("locked needs 2 of 3 masters: 1 did not answer in time");
    }

    @Test
    void look_isDecidedWhenAllHaveAnswered() {
        Poll look = MajorityPoll.ofAll(3, call);
        Reply checked = new Reply("CHECKED", List.of());
        List<@Nullable Outcome> two = Arrays.asList(Outcome.of(checked), Outcome.of(checked), null);
        assertThat(look.judge(new Poll.Answers(two, false))).isNull();
        assertThat(look.judge(new Poll.Answers(two, true)).outcome()).isEqualTo(Outcome.of(checked));
        assertThat(look.call(node, "", 0, 0)).isSameAs(call);
        assertThat(look.patienceNanos()).isEqualTo(Long.MAX_VALUE);
        assertThat(majority().patienceNanos()).isEqualTo(SECOND);
    }

    private static Outcome noMajority(boolean closed, @Nullable Outcome... outcomes) {
        return new Poll.Answers(Arrays.asList(outcomes), closed).noMajority("this", 2);
    }

    private static Outcome refused(String why) {
        return Outcome.of(new RedisException.Refused(why, null));
    }

    @Test
    void noMajority_namesWhatEachMasterSaid() {
        Outcome failure = noMajority(true, unanswered(true), Outcome.of(YOUNG), null);
        assertThat(failure.failure())
                .isInstanceOfSatisfying(
                        RedisException.Unanswered.class,
                        unanswered -> assertThat(unanswered.sent()).isTrue())
                .hasMessage("this needs 2 of 3 masters: away; 1 did not answer in time;"
                        + " one has just started, and gives no vote for another 1000 ms");
        assertThat(failure.failure().getCause()).hasMessage("away");
        assertThat(noMajority(true, done(), done(), done()).failure())
                .hasMessage("this needs 2 of 3 masters: ")
                .hasNoCause();
    }

    /** The cause says whether the quorum has answered. */
    @Test
    void noMajority_hasTheCauseOfARefusalOnlyIfAMajorityAnswered() {
        Outcome full = refused("OOM");
        for (List<Outcome> silent : Arrays.asList(
                List.of(full, unanswered(true), unanswered(true)), List.of(unanswered(true), unanswered(true), full))) {
            assertThat(noMajority(true, silent.toArray(Outcome[]::new))
                            .failure()
                            .getCause())
                    .hasMessage("away");
        }
        for (List<Outcome> answering :
                Arrays.asList(List.of(unanswered(true), full, full), List.of(unanswered(true), done(), full))) {
            assertThat(noMajority(true, answering.toArray(Outcome[]::new))
                            .failure()
                            .getCause())
                    .hasMessage("OOM");
        }
        assertThat(noMajority(true, full, null, null).failure()).hasNoCause();
    }

    @Test
    void noMajority_isRefusedOnlyIfAllNodesRefusePermanently() {
        Outcome denied = refused("NOPERM");
        assertThat(noMajority(true, denied, done(), denied).failure())
                .isInstanceOf(RedisException.Refused.class)
                .hasCause(denied.failure());
        for (Outcome other : Arrays.asList(unanswered(true), refused("OOM"), null)) {
            assertThat(noMajority(true, denied, denied, other).failure()).isInstanceOf(RedisException.Unanswered.class);
        }
        assertThat(noMajority(true, done(), done()).failure()).isInstanceOf(RedisException.Unanswered.class);
    }

    @Test
    void owner_thatMostVotesAreOf_countsHisOwnAlone() {
        assertThat(taken("a:1", "b:1", "a:1").mostTaken()).isEqualTo(2);
        assertThat(taken("a:1", "b:1", "c:1").mostTaken()).isEqualTo(1);
        assertThat(taken().mostTaken()).isZero();
    }

    private static Poll.Answers taken(String... owners) {
        return new Poll.Answers(
                Arrays.stream(owners).map(owner -> Outcome.of(takenBy(owner))).toList(), true);
    }
}
