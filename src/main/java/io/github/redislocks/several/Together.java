package io.github.redislocks.several;

import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.health.MonitoredRedis;
import io.github.redislocks.health.RedisAccess;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.redis.ServerTimes;
import io.github.redislocks.script.Answer;
import io.github.redislocks.script.SeveralScripts;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.FailoverEpoch;
import io.github.redislocks.state.Held;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Owner;
import io.github.redislocks.state.Settings;
import io.github.redislocks.state.WaitLimit;
import io.github.redislocks.waiting.Attempts;
import io.github.redislocks.waiting.Handoff;
import io.github.redislocks.waiting.Settlements;
import io.github.redislocks.waiting.WaitingParts;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Takes several free locks by one request, all or none, and frees several locks by one request. If the request does not
 * take the locks, its attempts end, and locks that it may have taken after all are released. A caller that then asks
 * for the locks one by one makes new attempts.
 */
public final class Together {

    /** The greatest number of locks in one request. So many locks take Redis about 0.2 ms. */
    private static final int MOST = 32;

    private final Clock clock;
    private final Settings settings;
    private final FailoverEpoch epoch;
    private final ServerTimes serverTimes;
    private final MonitoredRedis monitored;
    private final Attempts attempts;
    private final Settlements settlements;
    private final Handoff handoff;

    public Together(RedisAccess access, WaitingParts parts) {
        this.clock = access.clock();
        this.settings = access.settings();
        this.epoch = access.epoch();
        this.serverTimes = access.serverTimes();
        this.monitored = access.monitored();
        this.attempts = parts.attempts();
        this.settlements = parts.settlements();
        this.handoff = parts.handoff();
    }

    /** Whether one request can take {@code count} locks now: never on a quorum or over several slots. */
    public boolean isPossible(int count) {
        return count > 1
                && count <= MOST
                && monitored.hasLines()
                && monitored.hasOneSlot()
                && epoch.graceNanos(clock.nanoTime()) == 0;
    }

    /**
     * Takes all locks by one request if all are free. Waits for the reply, but not for a lock. Even if the answer is
     * not a grant, {@code had} may contain holds, which the caller must release.
     *
     * @param within the limit of the caller, which bounds the wait for the reply
     * @param had receives the holds
     * @return {@code Granted} with all locks; {@code OneBusy} if another owner has one of them; any other answer if the
     *     caller has to ask for each lock by itself
     */
    public Answer take(
            List<LockKeys> locks, Owner owner, Attempt.Request request, WaitLimit within, @Nullable Held[] had) {
        List<Attempt> all = new ArrayList<>(locks.size());
        Answer answer = Answer.Word.LINE;
        try {
            long began = clock.nanoTime();
            long timeoutNanos = within.timeoutNanos(began, settings.commandTimeoutNanos());
            WaitLimit limit = WaitLimit.forAnswer(timeoutNanos, settings.retryForNanos());
            limit.begin(began);
            for (LockKeys keys : locks) {
                Attempt attempt = attempts.make(keys, owner, request, limit);
                all.add(attempt);
                attempts.begin(attempt);
            }
            long sent = clock.nanoTime();
            Answer first = ask(all, sent, timeoutNanos, within.waits());
            // The attempts have the same lease, so one grant serves all.
            if (!(first instanceof Answer.Granted granted)
                    || settle(all, granted.of(all.get(0), sent, clock.nanoTime()), limit, had)) {
                answer = first;
            }
            return answer;
        } finally {
            if (!(answer instanceof Answer.Granted)) {
                end(all);
            }
        }
    }

    /**
     * Frees the locks of holds whose release has begun, by one request. Holds with waiters remain; the reply has their
     * indexes.
     *
     * @throws RedisException if no answer came; the request may have run, or may still run
     */
    public Reply free(List<Hold> holds, long timeoutNanos) {
        try {
            return monitored.run(SeveralScripts.freeAll(holds), timeoutNanos);
        } catch (RedisException e) {
            monitored.refused(e);
            throw e;
        }
    }

    private Answer ask(List<Attempt> all, long sent, long timeoutNanos, boolean waits) {
        ServerTimes.Date notAfter = serverTimes.date(sent, timeoutNanos);
        Answer answer = null;
        try {
            Reply reply =
                    monitored.run(SeveralScripts.takeAll(all, notAfter, waits).with(settings.acks()), timeoutNanos);
            Answer read = Answer.ofTakeAll(reply);
            for (Attempt attempt : all) {
                attempt.answered(reply, notAfter);
                if (read instanceof Answer.Granted) {
                    attempt.known();
                }
            }
            answer = read;
        } catch (RedisException.Unacknowledged e) {
            // Redis ran the request, but too few replicas confirmed it. So `answer` stays null, and the finally block
            // notes that the request may have run.
        } catch (RedisException e) {
            for (Attempt attempt : all) {
                attempt.unanswered(e, notAfter);
            }
            monitored.refused(e);
            answer = Answer.Word.LINE;
        } finally {
            for (int i = 0; answer == null && i < all.size(); i++) {
                all.get(i).mayHaveRun(notAfter);
            }
        }
        return answer == null ? Answer.Word.LINE : answer;
    }

    /** Turns the grants into holds, up to the first that is not valid any more; returns true if all became holds. */
    private boolean settle(List<Attempt> all, Attempt.Grant grant, WaitLimit limit, @Nullable Held[] had) {
        boolean held = true;
        for (int i = 0; i < all.size() && held; i++) {
            Attempt attempt = all.get(i);
            boolean granted = attempt.decide(grant);
            Settlements.Settlement settlement = settlements.of(attempt, limit, null);
            settlement.isConfirmed(grant);
            try {
                // `granted` is false if the client is being closed.
                held = granted && settlement.settle(grant) == Settlements.Result.HELD;
            } finally {
                had[i] = settlement.made;
            }
        }
        return held;
    }

    /** Ends the attempts that have no hold. In the background, removes from Redis what the attempts may have there. */
    private void end(List<Attempt> all) {
        int next = 0;
        try {
            for (; next < all.size(); next++) {
                if (attempts.isUnderWay(all.get(next))) {
                    handoff.rescue(all.get(next));
                }
            }
        } finally {
            // After an error, the watchdog ends the attempts that are left.
            for (; next < all.size(); next++) {
                handoff.strand(all.get(next));
            }
        }
    }
}
