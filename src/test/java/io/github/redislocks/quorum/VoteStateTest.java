package io.github.redislocks.quorum;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.redis.Request;
import io.github.redislocks.script.Inspections;
import io.github.redislocks.state.Settings;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The knowledge of a quorum's client about an attempt, and the polls that it makes. */
@Timeout(30)
class VoteStateTest extends ThreeMasters {

    private static final String OWNER = "client:1";
    private static final Reply WON = new Reply("OK", List.of(30L, 0L, QuorumCalls.NOW));
    private static final Reply GONE = new Reply("GONE", List.of());

    private final VoteState.Register register = new VoteState.Register(Duration.ofMinutes(1));
    private final Request.Acquire first = new Request.Acquire(OWNER, ATTEMPT, 3_000, 0, 5);
    private final Request.Heartbeat heartbeat = new Request.Heartbeat(OWNER, ATTEMPT, 500);
    private final Request.Renew renew = new Request.Renew(OWNER, ATTEMPT, 3_000);
    private final VoteState state = register.of(call(first));

    private Call call(Request request) {
        return new Call(request, Inspections.locked(keys).script(), keys.all(), List.of());
    }

    private void win() {
        assertThat(state.answer(first, Outcome.of(WON))).isEqualTo(Outcome.of(WON));
    }

    @Test
    void attempt_isKnownFromItsFirstRequestOn() {
        assertThat(state).isNotNull();
        assertThat(register.of(call(first))).isSameAs(state);
        assertThat(register.of(call(heartbeat))).isSameAs(state);
        assertThat(register.of(call(new Request.Heartbeat(OWNER, 8, 500)))).isNull();
        assertThat(register.of(call(renew))).isNull();
        assertThat(register.holder(call(renew))).isSameAs(state);
        assertThat(register.holder(call(first))).isNull();
        assertThat(register.size()).isEqualTo(1);
    }

    @Test
    void attempt_isForgottenWhenItIsBusyAndHasNoPlace() {
        register.forgetBusy(call(renew), Outcome.of(new Reply("BUSY", List.of())));
        register.forgetBusy(call(first), Outcome.of(new Reply("QUEUED", List.of())));
        register.forgetBusy(call(first), unanswered(true));
        assertThat(register.of(call(heartbeat))).isSameAs(state);
        register.forgetBusy(call(first), Outcome.of(new Reply("BUSY", List.of())));
        assertThat(register.of(call(heartbeat))).isNull();
        assertThat(register.size()).isZero();
    }

    @Test
    void attempt_releasedOrLeft_isForgotten() {
        register.forgetOver(call(first));
        assertThat(register.of(call(heartbeat))).isSameAs(state);
        register.forgetOver(call(new Request.Release(OWNER, ATTEMPT)));
        assertThat(register.of(call(heartbeat))).isNull();
    }

    /** Masters that were away join a hold even at the end of a long lease that a caller named. */
    @Test
    void attempt_isRememberedAsLongAsTheLongestLeaseThatMayBeNamed() {
        assertThat(Quorum.memory(Settings.DEFAULTS, 0)).isEqualTo(Settings.MAX_LEASE);
        long delay = Duration.ofHours(1).toMillis();
        assertThat(Quorum.memory(Settings.DEFAULTS, delay)).isEqualTo(Duration.ofHours(1));
    }

    @Test
    void enter_whileAnotherCallAsks_waits() {
        assertThat(state.enter(System.nanoTime())).isTrue();
        assertThat(state.enter(System.nanoTime())).isFalse();
        state.exit();
        assertThat(state.enter(System.nanoTime())).isTrue();
    }

    @Test
    void attemptThatHasNotWon_asksForVotes() {
        List<String> args =
                state.poll(calls, heartbeat, 30).call(node, "", 0, 0).args();
        assertThat(args.subList(0, 2)).containsExactly(OWNER, "7");
        assertThat(args.get(5)).as("the token").isEqualTo("30");
        assertThat(args.get(8)).as("the claim").isEqualTo("500");
        assertThat(args.get(9)).as("the last that was lost").isEqualTo("5");
        assertThat(args).as("no renewal").hasSize(10);
    }

    @Test
    void attemptThatHasWon_asksWhetherItsVotesAreStillThere() {
        win();
        Poll poll = state.poll(calls, heartbeat, 31);
        assertThat(poll).isNotInstanceOf(VotePoll.class);
        assertThat(poll.call(node, "", 0, 0).script().name()).isEqualTo("keep");
    }

    @Test
    void answer_ofAnAttemptThatHasWon_isThatItHasWon() {
        win();
        Outcome kept = Outcome.of(new Reply("OK", List.of()));
        assertThat(state.answer(first, kept)).isEqualTo(Outcome.of(WON));
        assertThat(state.answer(heartbeat, kept)).isEqualTo(Outcome.of(new Reply("GRANTED", WON.values())));
    }

    @Test
    void grantOfAHeartbeat_isRememberedAsWon() {
        Outcome granted = Outcome.of(new Reply("GRANTED", WON.values()));
        assertThat(state.answer(heartbeat, granted)).isEqualTo(granted);
        assertThat(state.poll(calls, heartbeat, 31)).isNotInstanceOf(VotePoll.class);
    }

    @Test
    void answer_ofAnAttemptThatHasNotWon_isWhatTheMastersSaid() {
        for (Outcome outcome : List.of(Outcome.of(GONE), unanswered(true))) {
            assertThat(state.answer(first, outcome)).isEqualTo(outcome);
            assertThat(state.poll(calls, first, 31)).isInstanceOf(VotePoll.class);
        }
    }

    @Test
    void votesThatAreGone_areAskedForAgainByTheCallerAlone() {
        win();
        Outcome away = unanswered(true);
        assertThat(state.answer(first, away)).isSameAs(away);
        for (Request.Wanting wanting : List.of(heartbeat, first)) {
            assertThat(state.poll(calls, wanting, 31)).isNotInstanceOf(VotePoll.class);
            assertThat(state.answer(wanting, Outcome.of(GONE)).failure())
                    .isInstanceOf(RedisException.Unanswered.class)
                    .hasMessage("the votes that it had are gone");
        }
        assertThat(state.poll(calls, first, 31)).isInstanceOf(VotePoll.class);
    }

    @Test
    void votes_mastersAnswerSomethingElse_areStillThere() {
        win();
        assertThat(state.answer(first, Outcome.of(new Reply("STALE", List.of())))
                        .failure())
                .isNotNull();
        assertThat(state.poll(calls, first, 31)).isNotInstanceOf(VotePoll.class);
    }

    @Test
    void renewal_ofAHoldThatWasNotWonHere_asksForNoVotes() {
        Poll poll = state.keeping(calls, call(renew), renew);
        assertThat(poll).isNotInstanceOf(RenewPoll.class);
        assertThat(poll.call(node, "", 0, 0).script().name()).isEqualTo("keep");
    }

    @Test
    void renewal_ofAHoldThatWasWon_asksAlsoForVotesWithItsToken() {
        win();
        List<String> args =
                state.keeping(calls, call(renew), renew).call(node, "", 0, 0).args();
        assertThat(args.get(5)).isEqualTo("30");
        assertThat(args.get(10)).as("of a renewal: no later vote is known").isEqualTo("0");
    }

    @Test
    void renewal_afterAnother_knowsWhatThatFound() {
        win();
        RenewPoll before = (RenewPoll) state.keeping(calls, call(renew), renew);
        Reply kept = new Reply("VOTED", List.of(30L, 0L, 0L, 1L, 1L));
        before.settled(nodes.get(0), 0, Outcome.of(new Reply("GONE", List.of(40L))));
        before.settled(nodes.get(1), 0, Outcome.of(kept));
        before.settled(nodes.get(2), 0, Outcome.of(kept));
        List<String> args =
                state.keeping(calls, call(renew), renew).call(node, "", 0, 0).args();
        assertThat(args.get(10)).isEqualTo("40");
    }

    @Test
    void reentry_tooFewVotesLeft_getsMoreVotes() {
        win();
        Request.Reenter reenter = new Request.Reenter(OWNER, ATTEMPT, 3_000, 1);
        Poll poll = state.keeping(calls, call(reenter), reenter);
        assertThat(poll.call(node, "", 0, 0).script().name()).isEqualTo("keep");
        Poll.Result tooFew =
                poll.judge(new Poll.Answers(List.of(unanswered(true), unanswered(true), Outcome.of(GONE)), true));
        assertThat(tooFew.next()).isInstanceOf(RenewPoll.class);
    }
}
