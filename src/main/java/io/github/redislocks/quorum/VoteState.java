package io.github.redislocks.quorum;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import io.github.redislocks.concurrent.Uninterruptibles;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.redis.Request;
import io.github.redislocks.state.Settings;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The knowledge of a client about one attempt on a quorum. The calls of an attempt ask for votes one after the other,
 * and no call asks after the attempt has won. Otherwise one call could win, and another call of the attempt, without a
 * majority, could withdraw the winning votes.
 */
public final class VoteState {

    /** The attempts of a client. An attempt is removed when it is released or has left, or some time after its loss. */
    public static final class Register {

        private final Cache<Long, VoteState> all;

        /** @param memory how long a hold lasts without a renewal, at most */
        public Register(Duration memory) {
            all = Caffeine.newBuilder()
                    .executor(Runnable::run)
                    .expireAfterAccess(memory.plus(Settings.MAX_COMMAND_TIMEOUT.multipliedBy(2)))
                    .build();
        }

        /**
         * The attempt for which a call asks for votes; null if the call does not ask for votes, or the attempt is over.
         */
        @Nullable
        public VoteState of(Call call) {
            if (call.request() instanceof Request.Acquire first) {
                return all.get(first.attempt(), number -> new VoteState(call.keys(), first.lastLostAttempt()));
            }
            return call.request() instanceof Request.Heartbeat heartbeat ? all.getIfPresent(heartbeat.attempt()) : null;
        }

        /**
         * The attempt whose hold a call renews or re-enters; null if the call does neither, or the attempt was removed.
         */
        @Nullable
        public VoteState holder(Call call) {
            return call.request() instanceof Request.Keeping kept ? all.getIfPresent(kept.attempt()) : null;
        }

        /**
         * Removes an attempt that got neither votes nor a place, or was refused. If the attempt asks again, it is added
         * again.
         */
        public void forgetBusy(Call call, Outcome outcome) {
            boolean refused =
                    call.request() instanceof Request.Acquire && outcome.failure() instanceof RedisException.Refused;
            boolean busy = outcome.reply() != null && outcome.reply().is("BUSY");
            if (call.request() instanceof Request.Wanting wanting && (busy || refused)) {
                all.asMap().computeIfPresent(wanting.attempt(), (number, state) -> state.won == null ? null : state);
            }
        }

        /** Removes the attempt that a call releases, or with which it leaves the queue. */
        public void forgetOver(Call call) {
            if (call.request() instanceof Request.Ending ending) {
                all.invalidate(ending.attempt());
            }
        }

        public int size() {
            all.cleanUp();
            return (int) all.estimatedSize();
        }
    }

    private static final String OK = "OK";
    private static final String GRANTED = "GRANTED";

    private final List<String> keys;
    private final long lastLostAttempt;
    private final Semaphore turn = new Semaphore(1, true);
    private volatile @Nullable Reply won;
    /** The round of the latest renewal, which may be under way. */
    private volatile RenewPoll.Round round = RenewPoll.Round.NONE;

    private VoteState(List<String> keys, long lastLostAttempt) {
        this.keys = keys;
        this.lastLostAttempt = lastLostAttempt;
    }

    /**
     * Waits while another call of the attempt asks for votes, until {@code deadlineNanos} at most. Returns true if the
     * calling thread may ask now. An interrupt does not end the wait; its flag is set again.
     */
    public boolean enter(long deadlineNanos) {
        return Uninterruptibles.until(deadlineNanos, nanos -> turn.tryAcquire(nanos, TimeUnit.NANOSECONDS));
    }

    public void exit() {
        turn.release();
    }

    /** Makes the poll for votes; if the attempt has won, makes a poll that checks its votes. */
    public Poll poll(QuorumCalls calls, Request.Wanting wanting, long token) {
        VotePoll.Candidate candidate = new VotePoll.Candidate(
                keys,
                wanting.owner(),
                wanting.attempt(),
                wanting.leaseMillis(),
                wanting.claimMillis(),
                lastLostAttempt,
                success(wanting));
        return won == null ? new VotePoll(calls, candidate, token) : calls.stillWon(candidate);
    }

    /** The code of the reply that the client expects. */
    private static String success(Request.Wanting wanting) {
        return wanting instanceof Request.Heartbeat ? GRANTED : OK;
    }

    /**
     * Makes the poll that renews or re-enters the hold. A re-entry needs a majority of nodes that have voted for the
     * hold. If too few of them answer, the re-entry first gets the votes of other nodes, as a renewal does.
     */
    public Poll keeping(QuorumCalls calls, Call call, Request.Keeping kept) {
        Reply winning = won;
        if (winning == null) {
            return calls.poll(call);
        }
        return kept instanceof Request.Reenter reentry
                ? calls.reentry(call, reentry, () -> renewal(calls, call, kept, winning))
                : renewal(calls, call, kept, winning);
    }

    private Poll renewal(QuorumCalls calls, Call call, Request.Keeping kept, Reply winning) {
        VotePoll.Candidate holder =
                new VotePoll.Candidate(keys, kept.owner(), kept.attempt(), kept.leaseMillis(), 0, lastLostAttempt, OK);
        RenewPoll next = new RenewPoll(calls, call, holder, winning.number(0), round);
        round = next.round();
        return next;
    }

    /** Returns the answer to the client. Notes whether the attempt has won. */
    public Outcome answer(Request.Wanting wanting, Outcome outcome) {
        Reply reply = outcome.reply();
        Reply before = won;
        if (reply == null) {
            return outcome;
        }
        if (before != null) {
            if (reply.is(OK)) {
                return Outcome.of(new Reply(success(wanting), before.values()));
            }
            if (wanting instanceof Request.Acquire && reply.is("GONE")) {
                // The caller still asks for the lock, so it got no hold, and the votes that had won have expired.
                won = null;
            }
            return Outcome.of(new RedisException.Unanswered("the votes that it had are gone", false, null));
        }
        if (reply.is(OK) || reply.is(GRANTED)) {
            won = reply;
        }
        return outcome;
    }
}
