package io.github.redislocks.waiting;

import io.github.redislocks.lease.Losses;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.script.Answer;
import io.github.redislocks.script.Scripts;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Holds;
import io.github.redislocks.state.Timing;
import io.github.redislocks.watchdog.Batch;
import io.github.redislocks.watchdog.Job;
import io.github.redislocks.watchdog.Task;
import java.util.HashSet;
import java.util.Set;

/**
 * The watchdog task for threads that wait in the local queue behind a hold of their own client. Those threads send
 * nothing, and the hold's next renewal may be a third of a lease away, or never come if the lease is fixed. So Redis is
 * asked once per heartbeat time whether the hold is still there. If not, the hold is lost, and the first of these
 * threads gets the turn.
 */
public final class Lookout implements Task {

    private final Holds holds;
    private final Attempts attempts;
    private final Losses losses;

    public Lookout(Holds holds, Attempts attempts, Losses losses) {
        this.holds = holds;
        this.attempts = attempts;
        this.losses = losses;
    }

    @Override
    public long inspect(long now, long horizon, Batch due) {
        long next = Long.MAX_VALUE;
        boolean any = false;
        for (Attempt attempt : attempts.all()) {
            if (attempt.isInLocalQueue()) {
                any |= attempt.nextHeartbeatNanos() <= horizon;
                next = Math.min(next, attempt.nextHeartbeatNanos());
            }
        }
        return any ? lookBehind(now, due) : next;
    }

    /** Inspects all holds with local waiters, even those that are not due yet, so that inspections are few. */
    private long lookBehind(long now, Batch due) {
        long next = Long.MAX_VALUE;
        Set<String> locks = new HashSet<>();
        for (Attempt attempt : attempts.all()) {
            // Read the time first: if the attempt gets a place meanwhile, which sets a time of its own, lookAgain()
            // must not overwrite that time.
            long seen = attempt.nextHeartbeatNanos();
            if (attempt.isInLocalQueue()) {
                locks.add(attempt.keys.lock());
                attempt.lookAgain(seen, now);
                next = Math.min(next, attempt.nextHeartbeatNanos());
            }
        }
        for (Hold hold : holds.all()) {
            if (locks.contains(hold.lock()) && hold.isValid(now) && !hold.isRenewing()) {
                due.add(hold.lock(), new Look(hold));
            }
        }
        return next;
    }

    private final class Look implements Job {

        private final Hold hold;

        Look(Hold hold) {
            this.hold = hold;
        }

        @Override
        public boolean begin() {
            return true;
        }

        @Override
        public Call call(long sentNanos, long timeoutNanos) {
            return Scripts.held(hold);
        }

        @Override
        public long patienceNanos() {
            return Timing.HEARTBEAT_MILLIS * 1_000_000;
        }

        @Override
        public void answered(Reply reply, long sentNanos) {
            if (Answer.isGone(reply)) {
                losses.taken(hold);
            }
        }

        @Override
        public void failed(RedisException failure, long sentNanos) {
            // Ignored: the next inspection asks again.
        }

        @Override
        public void end() {}
    }
}
