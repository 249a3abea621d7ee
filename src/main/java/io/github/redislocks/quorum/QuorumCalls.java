package io.github.redislocks.quorum;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.redis.Request;
import io.github.redislocks.redis.Script;
import io.github.redislocks.script.Scripts;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Translates the calls of the client into polls, and into calls of the scripts that run on each node. */
public final class QuorumCalls {

    /**
     * Stands for the server's time in replies of a quorum, which has no clock. The deadlines of requests are by the
     * clocks of the nodes.
     */
    public static final long NOW = 1;

    /**
     * The server that a call asks for a vote, as the call names it.
     *
     * @param runId the server's run id; empty if the call need not name it
     * @param fromMicros the server's time before which the server must not give a new vote; 0 if it may give one at
     *     once
     * @param notAfterMicros the server's time after which the call does nothing
     */
    public record At(String runId, long fromMicros, long notAfterMicros) {

        public static At of(PolledMaster node, String runId, long now, long timeoutNanos) {
            return new At(runId, node.server.votesFromMicros(), node.time.notAfterMicros(now, timeoutNanos));
        }
    }

    private static final Script VOTE = Script.load(Scripts.class, "vote");
    private static final Script KEEP = Script.load(Scripts.class, "keep");
    private static final Script WITHDRAW = Script.load(Scripts.class, "withdraw");

    public static final long MIN_PATIENCE_NANOS = 20_000_000;
    private static final int PATIENCES_PER_LEASE = 10;
    private static final String NO_REENTRY = "";
    /** Stands for a token in calls that renew no hold. */
    private static final long NO_HOLD = -1;
    /** The greatest number of arguments of a call for a vote. */
    private static final int ALL_ARGUMENTS = 11;

    private final int nodes;
    private final AtomicLong ballots = new AtomicLong();

    public QuorumCalls(int nodes) {
        this.nodes = nodes;
    }

    public int nodes() {
        return nodes;
    }

    public long nextBallot() {
        return ballots.incrementAndGet();
    }

    /** How long to wait for one node in a call that grants or renews this lease. */
    public static long patienceNanos(long leaseMillis) {
        return Math.max(MIN_PATIENCE_NANOS, leaseMillis * 1_000_000 / PATIENCES_PER_LEASE);
    }

    /** The call that asks a master to vote for a candidate. */
    public Call vote(VotePoll.Candidate candidate, long ballot, long token, At at) {
        return renewal(candidate, ballot, token, NO_HOLD, at);
    }

    /**
     * The call that renews a vote.
     *
     * @param lapsed the token of a later vote that expired on the node and had no majority; 0 if none is known
     */
    public Call renewal(VotePoll.Candidate candidate, long ballot, long token, long lapsed, At at) {
        boolean place = candidate.claimMillis() != 0;
        List<String> keys = candidate.keys();
        List<String> args = new ArrayList<>(ALL_ARGUMENTS);
        args.add(candidate.owner());
        args.add(Long.toString(candidate.attempt()));
        args.add(Long.toString(ballot));
        args.add(Long.toString(candidate.leaseMillis()));
        args.add(Long.toString(at.notAfterMicros));
        args.add(Long.toString(token));
        boolean more = place || candidate.lastLostAttempt() != 0 || lapsed != NO_HOLD;
        if (more || at.fromMicros != 0 || !at.runId.isEmpty()) {
            args.add(Long.toString(at.fromMicros));
            args.add(at.runId);
        }
        if (more) {
            args.add(place ? Long.toString(candidate.claimMillis()) : "");
            args.add(Long.toString(candidate.lastLostAttempt()));
        }
        if (lapsed != NO_HOLD) {
            args.add(Long.toString(lapsed));
        }
        // Pass as few keys and arguments as possible: each costs the server time.
        return new Call(VOTE, place ? keys : List.of(keys.get(0), keys.get(3)), args);
    }

    public Call withdraw(Withdrawal order) {
        List<String> args = new ArrayList<>(ALL_ARGUMENTS);
        args.add(order.owner());
        args.add(Long.toString(order.attempt()));
        args.add(Long.toString(order.ballot()));
        args.add(word(order.end()));
        if (order.place() != Withdrawal.Place.DROP) {
            args.add(word(order.place()));
        }
        return new Call(WITHDRAW, order.keys().subList(0, 4), args);
    }

    /** The word for a constant in the arguments of the scripts. */
    private static String word(Enum<?> value) {
        return value.name().toLowerCase(Locale.ROOT);
    }

    /** Makes the poll that checks whether a candidate that has won still has a majority of the votes. */
    public Poll stillWon(VotePoll.Candidate candidate) {
        Request.Keeping kept = new Request.Renew(candidate.owner(), candidate.attempt(), candidate.leaseMillis());
        return keeping(candidate.keys().subList(0, 1), kept, NO_REENTRY, null);
    }

    /** Makes the poll for a call that does not ask for votes. */
    public Poll poll(Call call) {
        Request request = call.request();
        if (request instanceof Request.Reenter reentry) {
            return reentry(call, reentry, null);
        }
        if (request instanceof Request.Keeping kept) {
            return keeping(call.keys(), kept, NO_REENTRY, null);
        }
        if (request instanceof Request.Ending ending) {
            return ending(call, ending);
        }
        if (request instanceof Request.Force force) {
            // Name the hold by its owner instead of its token: until its first renewal, the nodes may have different
            // tokens for it.
            Call withdrawal = withdraw(new Withdrawal(
                    call.keys(),
                    force.owner(),
                    force.attempt(),
                    Long.MAX_VALUE,
                    Withdrawal.End.LOST,
                    Withdrawal.Place.KEEP));
            return new MajorityPoll(nodes, withdrawal, Set.of("ENDED"), "FREED", Long.MAX_VALUE);
        }
        if (request instanceof Request.Plain plain) {
            return switch (plain) {
                case CHECK -> MajorityPoll.ofAll(nodes, call);
                case LOCKED -> new InspectPoll(nodes, call, "LOCKED", 2, 0);
                case INSPECT -> new InspectPoll(nodes, call, "HELD", 1, 4);
                case HELD, RELEASE_INNER -> new MajorityPoll(nodes, call, Set.of("OK"), "OK", Long.MAX_VALUE);
            };
        }
        throw new UnsupportedOperationException("A quorum cannot do " + call.script());
    }

    /**
     * Makes the poll for a re-entry.
     *
     * @param otherwise makes the poll that follows if no majority confirms the hold; null for no such poll
     */
    public Poll reentry(Call call, Request.Reenter reentry, @Nullable Supplier<Poll> otherwise) {
        return keeping(call.keys(), reentry, Integer.toString(reentry.countBefore()), otherwise);
    }

    private Poll keeping(
            List<String> keys, Request.Keeping kept, String countBefore, @Nullable Supplier<Poll> otherwise) {
        long ballot = nextBallot();
        List<String> args = List.of(
                kept.owner(),
                Long.toString(kept.attempt()),
                Long.toString(ballot),
                Long.toString(kept.leaseMillis()),
                countBefore);
        Call keep = new Call(kept, KEEP, keys, args);
        return new MajorityPoll(nodes, keep, Set.of("OK"), "OK", patienceNanos(kept.leaseMillis())) {
            @Override
            @Nullable
            public Result judge(Answers answers) {
                Result result = super.judge(answers);
                return result == null || result.outcome().reply() != null || otherwise == null
                        ? result
                        : new Result(result.outcome(), otherwise.get(), null, false);
            }

            @Override
            public Call call(PolledMaster node, String runId, long now, long timeoutNanos) {
                if (runId.isEmpty()) {
                    return keep;
                }
                List<String> named = new ArrayList<>(args);
                named.add(runId);
                return new Call(kept, KEEP, keys, named);
            }

            @Override
            public void settled(PolledMaster node, long mayRunUntilNanos, Outcome outcome) {
                Reply reply = outcome.reply();
                if (reply == null || reply.is("OK")) {
                    node.unanswered.renewed(new UnansweredVotes.Question(
                            kept.attempt(), ballot, false, kept.leaseMillis(), mayRunUntilNanos));
                }
            }
        };
    }

    private Poll ending(Call call, Request.Ending ending) {
        Withdrawal.End end = !(ending instanceof Request.Leave leave)
                ? Withdrawal.End.RELEASED
                : leave.returned() ? Withdrawal.End.LOST : Withdrawal.End.UNHELD;
        // The attempt asks for no more votes, so the withdrawal ends the votes of all ballots of the attempt. If it
        // named
        // one ballot, the vote of a later ballot, which a renewal under way may have taken, would stay.
        return new WithdrawPoll(
                this,
                new Withdrawal(
                        call.keys(), ending.owner(), ending.attempt(), Long.MAX_VALUE, end, Withdrawal.Place.DROP));
    }
}
