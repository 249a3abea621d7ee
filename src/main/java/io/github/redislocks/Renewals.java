package io.github.redislocks;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;

/** The watchdog's care for holds: renews them, confirms grants, and declares what is lost. */
final class Renewals implements Watchdog.Ward {

    private static final long MIN_PAUSE_NANOS = 10_000_000;
    private static final long FENCE_REFRESH_NANOS = 3_600_000_000_000L;

    private final Client client;

    Renewals(Client client) {
        this.client = client;
    }

    @Override
    public long inspect(long now, Watchdog.Due due) {
        long next = Long.MAX_VALUE;
        int moves = client.moves();
        for (Hold hold : client.holds.all()) {
            if (!hold.isOpen() || !client.isValid(hold)) {
                continue;
            }
            next = Math.min(next, hold.deadlineNanos());
            if (hold.moves != moves && !hold.renewing) {
                hold.moves = moves;
                hold.checkNanos = now;
            }
            long renewal = Math.min(hold.nextRenewalNanos, hold.checkNanos);
            if (renewal > now) {
                next = Math.min(next, renewal);
            } else if (!hold.thread.isAlive()) {
                abandon(hold);
            } else if (!hold.renewing) {
                due.add(hold.keys.lock(), () -> new Renewal(hold));
            }
        }
        // A hold may have ended meanwhile.
        return next <= 0 ? now : next;
    }

    private void abandon(Hold hold) {
        if (client.lose(hold, LockLost.Reason.ABANDONED)) {
            client.succession.leaveLater(hold);
        }
    }

    /** One renewal, or the confirmation of a grant, which is the same: both ask for the lease that is wanted. */
    private final class Renewal implements Watchdog.Job {

        private final Hold hold;
        private long leaseMillis;

        Renewal(Hold hold) {
            this.hold = hold;
            hold.renewing = true;
        }

        @Override
        public Call call(long sentNanos, long timeoutNanos) {
            hold.unanswered = true;
            leaseMillis = hold.isRenewed()
                    ? client.options.leaseMillis()
                    : Math.max(1, (hold.wantedUntilNanos - sentNanos) / 1_000_000);
            boolean fence = sentNanos - hold.fenceRefreshedNanos > FENCE_REFRESH_NANOS;
            if (fence) {
                hold.fenceRefreshedNanos = sentNanos;
            }
            return Protocol.renew(hold, leaseMillis, fence).with(client.options.acks());
        }

        @Override
        public long patienceNanos() {
            return client.options.leaseMillis() * 1_000_000 / LockOptions.RENEWALS_PER_LEASE;
        }

        @Override
        public void answered(Reply reply, long sentNanos) {
            try {
                if (reply.is("OK") && !client.isAcknowledged(hold.keys.lock(), reply, sentNanos)) {
                    // What replicas do not have must not be relied on: after a failover the hold would end earlier.
                    tryAgain();
                } else {
                    judge(reply, sentNanos);
                }
            } finally {
                // Last: an answer of the server before must not be taken for one to the check that follows a move.
                hold.renewing = false;
            }
        }

        private void judge(Reply reply, long sentNanos) {
            long now = client.clock.nanoTime();
            hold.checkNanos = Long.MAX_VALUE;
            if (reply.is("OK")) {
                hold.nextRenewalNanos = hold.isRenewed() ? sentNanos + client.renewalNanos() : Long.MAX_VALUE;
                if (hold.extend(now, sentNanos + LockOptions.validityNanos(leaseMillis))) {
                    hold.unanswered = false;
                }
            } else if (client.isValid(hold)) {
                client.lose(hold, LockLost.Reason.TAKEN);
            }
        }

        @Override
        public void failed(RedisException failure, long sentNanos) {
            tryAgain();
            hold.renewing = false;
        }

        private void tryAgain() {
            long again = client.clock.nanoTime() + Math.max(MIN_PAUSE_NANOS, client.renewalNanos() / 10);
            hold.nextRenewalNanos = again;
            if (hold.checkNanos != Long.MAX_VALUE) {
                hold.checkNanos = again;
            }
        }
    }
}
