package io.github.redislocks.waiting;

import io.github.redislocks.LockLost;
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
 * The watchdog's care for threads that wait in the local queue, behind a hold of their own client. They send nothing
 * themselves, and that hold may be renewed in a third of its lease, or never if it named one: so Redis is asked once in
 * a heartbeat whether it is still there. If not, it is lost, and the first of them has the turn.
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

    /** Looks at the holds behind which anybody waits, not only at those whose time has come: so they are few walks. */
    private long lookBehind(long now, Batch due) {
        long next = Long.MAX_VALUE;
        Set<String> locks = new HashSet<>();
        for (Attempt attempt : attempts.all()) {
            if (attempt.isInLocalQueue()) {
                locks.add(attempt.keys.lock());
                attempt.lookAgain(now);
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
                losses.lose(hold, LockLost.Reason.TAKEN);
            }
        }

        @Override
        public void failed(RedisException failure, long sentNanos) {
            // The next look asks again.
        }

        @Override
        public void end() {}
    }
}
