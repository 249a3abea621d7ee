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
 * What a quorum's client knows of one attempt that wants votes. Its own requests take turns, and one that has won asks
 * for no votes any more: else the withdrawal of a vote that came to nothing could end one that counts.
 */
public final class VoteState {

    /** Those of a client, by attempt: until it is released or has left, or some time after it was lost. */
    public static final class Register {

        private final Cache<Long, VoteState> all;

        /** Memory: how long a hold lasts that nobody renews. */
        public Register(Duration memory) {
            all = Caffeine.newBuilder()
                    .executor(Runnable::run)
                    .expireAfterAccess(memory.plus(Settings.MAX_COMMAND_TIMEOUT.multipliedBy(2)))
                    .build();
        }

        /** Whose votes a call asks for; null if it asks for none, or if its attempt has ended. */
        @Nullable
        public VoteState of(Call call) {
            if (call.request() instanceof Request.Acquire first) {
                return all.get(first.attempt(), number -> new VoteState(call.keys(), first.lastLostAttempt()));
            }
            return call.request() instanceof Request.Heartbeat heartbeat ? all.getIfPresent(heartbeat.attempt()) : null;
        }

        /** Whose hold a call renews or enters once more; null if it does neither, or of one that has been forgotten. */
        @Nullable
        public VoteState holder(Call call) {
            return call.request() instanceof Request.Keeping kept ? all.getIfPresent(kept.attempt()) : null;
        }

        /**
         * Forgets an attempt that got nothing and has no place, or was refused: it may ask again as if it never had.
         */
        public void forgetBusy(Call call, Outcome outcome) {
            boolean refused =
                    call.request() instanceof Request.Acquire && outcome.failure() instanceof RedisException.Refused;
            boolean busy = outcome.reply() != null && outcome.reply().is("BUSY");
            if (call.request() instanceof Request.Wanting wanting && (busy || refused)) {
                all.asMap().computeIfPresent(wanting.attempt(), (number, state) -> state.won == null ? null : state);
            }
        }

        /** Forgets the attempt that a call ends. */
        public void forgetEnded(Call call) {
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
    /** What the last renewal of the hold found, or is about to. */
    private volatile RenewPoll.Round round = RenewPoll.Round.NONE;

    private VoteState(List<String> keys, long lastLostAttempt) {
        this.keys = keys;
        this.lastLostAttempt = lastLostAttempt;
    }

    /** Waits for its turn, at most until a time; whether it came. An interrupt is kept. */
    public boolean enter(long deadlineNanos) {
        return Uninterruptibles.until(deadlineNanos, nanos -> turn.tryAcquire(nanos, TimeUnit.NANOSECONDS));
    }

    public void exit() {
        turn.release();
    }

    /** What has to be asked: for votes, or if they were won, whether they are still there. */
    public Poll poll(QuorumCalls calls, Request.Wanting wanting, long token) {
        VotePoll.Candidate candidate = new VotePoll.Candidate(
                keys,
                wanting.owner(),
                wanting.attempt(),
                wanting.leaseMillis(),
                wanting.claimMillis(),
                lastLostAttempt,
                success(wanting));
        return won == null ? new VotePoll(calls, candidate, token) : calls.kept(candidate);
    }

    /** The code of the reply that the client understands. */
    private static String success(Request.Wanting wanting) {
        return wanting instanceof Request.Heartbeat ? GRANTED : OK;
    }

    /**
     * What has to be asked to renew the hold or to enter it once more. For that it needs the votes that it has; if they
     * are too few, since it was won with others that are away now, it gets more first, as by a renewal.
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

    /** What the client is answered; notes whether the votes were won. */
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
                // The caller asks, so it has no hold: the votes that it won have lapsed.
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
