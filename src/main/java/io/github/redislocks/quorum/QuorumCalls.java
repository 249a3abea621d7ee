package io.github.redislocks.quorum;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.redis.Script;
import io.github.redislocks.script.Scripts;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** What the nodes of a quorum are asked for each call of its client: the scripts of a node, and their arguments. */
public final class QuorumCalls {

    /** The time of a quorum, which has none: its requests are dated by the clocks of the nodes. */
    public static final long NOW = 1;

    /** The server that a vote is asked of, and its time after which it is not to be given any more. */
    public record At(String runId, long notAfterMicros) {

        public static At of(QuorumNode node, long now, long timeoutNanos) {
            return new At(node.server.runId(), node.time.notAfterMicros(now, timeoutNanos));
        }
    }

    private static final Script VOTE = Script.load(Scripts.class, "vote");
    private static final Script KEEP = Script.load(Scripts.class, "keep");
    private static final Script WITHDRAW = Script.load(Scripts.class, "withdraw");

    public static final long MIN_PATIENCE_NANOS = 20_000_000;
    private static final int PATIENCES_PER_LEASE = 10;
    private static final String NO_REENTRY = "";
    /** In place of a token: nothing is renewed. */
    private static final long NO_HOLD = -1;
    /** In place of the owner of a vote that is ended by its token. */
    private static final String WHOEVER = "";

    private final int nodes;
    private final long restartDelayMillis;
    private final AtomicLong ballots = new AtomicLong();

    /** @param restartDelayMillis how long a node must have run before it votes */
    public QuorumCalls(int nodes, long restartDelayMillis) {
        this.nodes = nodes;
        this.restartDelayMillis = restartDelayMillis;
    }

    public int nodes() {
        return nodes;
    }

    public long nextBallot() {
        return ballots.incrementAndGet();
    }

    /** How long one node is waited for. */
    public static long patienceNanos(long leaseMillis) {
        return Math.max(MIN_PATIENCE_NANOS, leaseMillis * 1_000_000 / PATIENCES_PER_LEASE);
    }

    /** For a candidate. */
    public Call vote(VotePoll.Candidate candidate, long ballot, long token, At at) {
        return vote(candidate, ballot, token, NO_HOLD, at);
    }

    /** Lapsed: the token of a later vote that has ended there by its lease and came to nothing, or 0. */
    public Call renewal(VotePoll.Candidate holder, long ballot, long token, long lapsed, At at) {
        return vote(holder, ballot, token, lapsed, at);
    }

    private Call vote(VotePoll.Candidate candidate, long ballot, long token, long lapsed, At at) {
        return new Call(
                VOTE,
                candidate.keys(),
                List.of(
                        candidate.owner(),
                        Long.toString(candidate.attempt()),
                        Long.toString(ballot),
                        Long.toString(candidate.leaseMillis()),
                        Long.toString(at.notAfterMicros),
                        candidate.claimMillis() == null ? "" : candidate.claimMillis(),
                        candidate.lastLostAttempt(),
                        Long.toString(token),
                        Long.toString(restartDelayMillis),
                        lapsed == NO_HOLD ? "0" : "1",
                        Long.toString(Math.max(0, lapsed)),
                        at.runId));
    }

    public Call withdraw(WithdrawPoll.Order order) {
        return new Call(
                WITHDRAW,
                order.keys(),
                List.of(
                        order.owner(),
                        Long.toString(order.attempt()),
                        Long.toString(order.ballot()),
                        word(order.end()),
                        word(order.place())));
    }

    /** As the scripts have it. */
    private static String word(Enum<?> value) {
        return value.name().toLowerCase(Locale.ROOT);
    }

    /** For a candidate that has won already: that a majority still has it. */
    public Poll kept(VotePoll.Candidate candidate) {
        List<String> args = List.of(candidate.owner(), Long.toString(candidate.attempt()));
        Call call = new Call(KEEP, candidate.keys().subList(0, 1), args);
        return keeping(call, candidate.leaseMillis(), NO_REENTRY, null);
    }

    /** Of a call that asks for no votes. */
    public Poll poll(Call call) {
        List<String> args = call.args();
        return switch (call.script().name()) {
            case "renew" -> keeping(call, Long.parseLong(args.get(2)), NO_REENTRY, null);
            case "reenter" -> reentry(call, null);
            case "release_inner" -> new MajorityPoll(nodes, call, Set.of("OK"), "OK", Long.MAX_VALUE);
            case "release" -> ending(call, WithdrawPoll.End.RELEASED);
            case "leave" -> ending(call, args.get(2).equals("1") ? WithdrawPoll.End.LOST : WithdrawPoll.End.UNHELD);
            case "force" -> {
                Call force = withdraw(new WithdrawPoll.Order(
                        call.keys(),
                        WHOEVER,
                        Long.parseLong(args.get(0)),
                        0,
                        WithdrawPoll.End.LOST,
                        WithdrawPoll.Place.KEEP));
                yield new MajorityPoll(nodes, force, Set.of("ENDED"), "FREED", Long.MAX_VALUE);
            }
            case "held" -> new MajorityPoll(nodes, call, Set.of("OK"), "OK", Long.MAX_VALUE);
            case "check" -> MajorityPoll.ofAll(nodes, call);
            case "locked" -> new InspectPoll(nodes, call, "LOCKED", 0);
            case "inspect" -> new InspectPoll(nodes, call, "HELD", 4);
            default -> throw new UnsupportedOperationException("A quorum cannot do " + call.script());
        };
    }

    /** Otherwise: what is asked if it is not known whether a majority has it; or null. */
    public Poll reentry(Call call, @Nullable Supplier<Poll> otherwise) {
        List<String> args = call.args();
        return keeping(call, Long.parseLong(args.get(3)), args.get(2), otherwise);
    }

    private Poll keeping(Call call, long leaseMillis, String countBefore, @Nullable Supplier<Poll> otherwise) {
        String owner = call.args().get(0);
        long attempt = Long.parseLong(call.args().get(1));
        long ballot = nextBallot();
        Call keep = new Call(
                KEEP,
                call.keys(),
                List.of(owner, Long.toString(attempt), Long.toString(ballot), Long.toString(leaseMillis), countBefore));
        return new MajorityPoll(nodes, keep, Set.of("OK"), "OK", patienceNanos(leaseMillis)) {
            @Override
            @Nullable
            public Result judge(Heard heard) {
                Result result = super.judge(heard);
                return result == null || result.outcome().reply() != null || otherwise == null
                        ? result
                        : new Result(result.outcome(), otherwise.get(), null, false);
            }

            @Override
            public void asked(QuorumNode node, long quietFromNanos, Outcome outcome) {
                Reply reply = outcome.reply();
                if (reply == null || reply.is("OK")) {
                    node.unanswered.kept(
                            new UnansweredVotes.Question(attempt, ballot, false, leaseMillis, quietFromNanos));
                }
            }
        };
    }

    private Poll ending(Call call, WithdrawPoll.End end) {
        List<String> args = call.args();
        return new WithdrawPoll(
                this,
                new WithdrawPoll.Order(
                        call.keys(),
                        args.get(0),
                        Long.parseLong(args.get(1)),
                        nextBallot(),
                        end,
                        WithdrawPoll.Place.DROP));
    }
}
