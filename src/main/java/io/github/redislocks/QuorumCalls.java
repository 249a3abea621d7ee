package io.github.redislocks;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.redis.Script;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** What the nodes of a quorum are asked for each call of its client: the scripts of a node, and their arguments. */
final class QuorumCalls {

    /** The time of a quorum, which has none: its requests are dated by the clocks of the nodes. */
    static final long NOW = 1;

    /** The server that a vote is asked of, and its time after which it is not to be given any more. */
    record At(String runId, long notAfterMicros) {

        static At of(QuorumNode node, long now, long timeoutNanos) {
            return new At(node.server.runId(), node.time.notAfterMicros(now, timeoutNanos));
        }
    }

    private static final Script VOTE = Script.load(QuorumCalls.class, "vote");
    private static final Script KEEP = Script.load(QuorumCalls.class, "keep");
    private static final Script WITHDRAW = Script.load(QuorumCalls.class, "withdraw");

    static final long MIN_PATIENCE_NANOS = 20_000_000;
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
    QuorumCalls(int nodes, long restartDelayMillis) {
        this.nodes = nodes;
        this.restartDelayMillis = restartDelayMillis;
    }

    int nodes() {
        return nodes;
    }

    long nextBallot() {
        return ballots.incrementAndGet();
    }

    /** How long one node is waited for. */
    static long patienceNanos(long leaseMillis) {
        return Math.max(MIN_PATIENCE_NANOS, leaseMillis * 1_000_000 / PATIENCES_PER_LEASE);
    }

    /** For a candidate. */
    Call vote(Vote.Candidate candidate, long ballot, long token, At at) {
        return vote(candidate, ballot, token, NO_HOLD, at);
    }

    /** Lapsed: the token of a later vote that has ended there by its lease and came to nothing, or 0. */
    Call renewal(Vote.Candidate holder, long ballot, long token, long lapsed, At at) {
        return vote(holder, ballot, token, lapsed, at);
    }

    private Call vote(Vote.Candidate candidate, long ballot, long token, long lapsed, At at) {
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
                        candidate.suspect(),
                        Long.toString(token),
                        Long.toString(restartDelayMillis),
                        lapsed == NO_HOLD ? "0" : "1",
                        Long.toString(Math.max(0, lapsed)),
                        at.runId));
    }

    Call withdraw(Withdrawal.Order order) {
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
    Poll kept(Vote.Candidate candidate) {
        List<String> args = List.of(candidate.owner(), Long.toString(candidate.attempt()));
        Call call = new Call(KEEP, candidate.keys().subList(0, 1), args);
        return keeping(call, candidate.leaseMillis(), NO_REENTRY, null);
    }

    /** Of a call that asks for no votes. */
    Poll poll(Call call) {
        List<String> args = call.args();
        return switch (call.script().name()) {
            case "renew" -> keeping(call, Long.parseLong(args.get(2)), NO_REENTRY, null);
            case "reenter" -> reentry(call, null);
            case "release_inner" -> new Affirmation(nodes, call, Set.of("OK"), "OK", Long.MAX_VALUE);
            case "release" -> ending(call, Withdrawal.End.RELEASED);
            case "leave" -> ending(call, args.get(2).equals("1") ? Withdrawal.End.LOST : Withdrawal.End.UNHELD);
            case "force" -> {
                Call force = withdraw(new Withdrawal.Order(
                        call.keys(),
                        WHOEVER,
                        Long.parseLong(args.get(0)),
                        0,
                        Withdrawal.End.LOST,
                        Withdrawal.Place.KEEP));
                yield new Affirmation(nodes, force, Set.of("ENDED"), "FREED", Long.MAX_VALUE);
            }
            case "held" -> new Affirmation(nodes, call, Set.of("OK"), "OK", Long.MAX_VALUE);
            case "check" -> Affirmation.ofAll(nodes, call);
            case "locked" -> new View(nodes, call, "LOCKED", 0);
            case "inspect" -> new View(nodes, call, "HELD", 4);
            default -> throw new UnsupportedOperationException("A quorum cannot do " + call.script());
        };
    }

    /** Otherwise: what is asked if it is not known whether a majority has it; or null. */
    Poll reentry(Call call, @Nullable Supplier<Poll> otherwise) {
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
        return new Affirmation(nodes, keep, Set.of("OK"), "OK", patienceNanos(leaseMillis)) {
            @Override
            @Nullable
            Result judge(Heard heard) {
                Result result = super.judge(heard);
                return result == null || result.outcome().reply() != null || otherwise == null
                        ? result
                        : new Result(result.outcome(), otherwise.get(), null, false);
            }

            @Override
            void asked(QuorumNode node, long quietFromNanos, Outcome outcome) {
                Reply reply = outcome.reply();
                if (reply == null || reply.is("OK")) {
                    node.lateVotes.kept(new LateVotes.Question(attempt, ballot, false, leaseMillis, quietFromNanos));
                }
            }
        };
    }

    private Poll ending(Call call, Withdrawal.End end) {
        List<String> args = call.args();
        return new Withdrawal(
                this,
                new Withdrawal.Order(
                        call.keys(),
                        args.get(0),
                        Long.parseLong(args.get(1)),
                        nextBallot(),
                        end,
                        Withdrawal.Place.DROP));
    }
}
