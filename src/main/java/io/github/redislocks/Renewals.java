package io.github.redislocks;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import java.util.ArrayList;
import java.util.List;

/** The watchdog's care for holds: renews them, confirms grants, and declares what is lost. */
final class Renewals implements Watchdog.Ward {

    /** How many holds one script renews: about 0.2 ms of Redis' time. */
    static final int BATCH = 32;

    private static final long MIN_PAUSE_NANOS = 10_000_000;
    private static final long FENCE_REFRESH_NANOS = 3_600_000_000_000L;
    /** By how much the next renewal of each batch of a walk comes sooner than that of the batch before. */
    private static final long SPREAD_NANOS = 1_000_000;

    private final Client client;

    Renewals(Client client) {
        this.client = client;
    }

    @Override
    public long inspect(long now, long horizon, Watchdog.Due due) {
        long next = Long.MAX_VALUE;
        int moves = client.serverWatch.moves();
        List<Hold> together = new ArrayList<>();
        int batches = 0;
        for (Hold hold : client.holds.all()) {
            if (!hold.isValid(now) && !client.isValid(hold)) {
                if (hold.isLost()) {
                    next = Math.min(next, age(hold, now));
                }
                continue;
            }
            next = Math.min(next, hold.deadlineNanos());
            if (hold.moves != moves && !hold.renewing) {
                hold.moves = moves;
                hold.checkNanos = now;
            }
            long renewal = Math.min(hold.nextRenewalNanos, hold.checkNanos);
            if (renewal > horizon) {
                next = Math.min(next, renewal);
            } else if (!hold.thread.isAlive()) {
                abandon(hold);
            } else if (!hold.renewing && !isForBatch(hold, now)) {
                add(List.of(hold), 0, due);
            } else if (!hold.renewing) {
                together.add(hold);
                if (together.size() == BATCH) {
                    add(together, batches++, due);
                    together = new ArrayList<>();
                }
            }
        }
        if (!together.isEmpty()) {
            add(together, batches, due);
        }
        // A hold may have ended meanwhile.
        return next <= 0 ? now : next;
    }

    private void add(List<Hold> holds, int batch, Watchdog.Due due) {
        due.add(holds.get(0).keys.lock(), () -> new Renewal(holds, batch));
    }

    private boolean isForBatch(Hold hold, long now) {
        return client.redis.hasOneSlot() && hold.isRenewed() && !isFenceDue(hold, now);
    }

    private static boolean isFenceDue(Hold hold, long now) {
        return now - hold.fenceRefreshedNanos > FENCE_REFRESH_NANOS;
    }

    /** Looks after the record of a loss; returns when it will be of no use any more. */
    private long age(Hold hold, long now) {
        if (hold.forgottenNanos == 0) {
            hold.forgottenNanos = now + Holds.LOSS_REMEMBERED.toNanos();
        }
        if (hold.forgottenNanos <= now || !hold.thread.isAlive()) {
            client.holds.forget(hold);
            return Long.MAX_VALUE;
        }
        return hold.forgottenNanos;
    }

    private void abandon(Hold hold) {
        if (client.lose(hold, LockLost.Reason.ABANDONED)) {
            client.succession.leaveLater(hold);
        }
    }

    /** One renewal of some holds, or the confirmation of a grant, which is the same: each asks for the wanted lease. */
    private final class Renewal implements Watchdog.Job {

        private final List<Hold> holds;
        private final int batch;
        private long leaseMillis;

        Renewal(List<Hold> holds, int batch) {
            this.holds = holds;
            this.batch = batch;
            holds.forEach(hold -> hold.renewing = true);
        }

        @Override
        public int size() {
            return holds.size();
        }

        @Override
        public Call call(long sentNanos, long timeoutNanos) {
            holds.forEach(hold -> hold.unanswered = true);
            Hold first = holds.get(0);
            leaseMillis = first.isRenewed()
                    ? client.options.leaseMillis()
                    : Math.max(1, (first.wantedUntilNanos - sentNanos) / 1_000_000);
            if (holds.size() > 1) {
                return Protocol.renewAll(holds, leaseMillis).with(client.options.acks());
            }
            boolean fence = isFenceDue(first, sentNanos);
            if (fence) {
                first.fenceRefreshedNanos = sentNanos;
            }
            return Protocol.renew(first, leaseMillis, fence).with(client.options.acks());
        }

        @Override
        public long patienceNanos() {
            return client.options.leaseMillis() * 1_000_000 / LockOptions.RENEWALS_PER_LEASE;
        }

        @Override
        public void answered(Reply reply, long sentNanos) {
            boolean acknowledged =
                    !reply.is("OK") || client.isAcknowledged(holds.get(0).keys.lock(), reply, sentNanos);
            for (int i = 0; i < holds.size(); i++) {
                Hold hold = holds.get(i);
                try {
                    if (acknowledged) {
                        judge(hold, isHeld(reply, i), sentNanos);
                    } else {
                        // What replicas do not have must not be relied on: after a failover it would end earlier.
                        tryAgain(hold);
                    }
                } finally {
                    // Last: an answer of the server before must not be taken for one to the check after a move.
                    hold.renewing = false;
                }
            }
        }

        private boolean isHeld(Reply reply, int index) {
            return reply.is("OK") || (holds.size() > 1 && !reply.values().contains((long) index));
        }

        private void judge(Hold hold, boolean held, long sentNanos) {
            long now = client.clock.nanoTime();
            hold.checkNanos = Long.MAX_VALUE;
            if (held) {
                hold.nextRenewalNanos =
                        hold.isRenewed() ? sentNanos + client.renewalNanos() - spreadNanos() : Long.MAX_VALUE;
                if (hold.extend(now, sentNanos + LockOptions.validityNanos(leaseMillis))) {
                    hold.unanswered = false;
                }
            } else if (client.isValid(hold)) {
                client.lose(hold, LockLost.Reason.TAKEN);
            }
        }

        /** What began at once in great number is renewed ever more apart. */
        private long spreadNanos() {
            return Math.min(batch * SPREAD_NANOS, client.renewalNanos() / 8);
        }

        @Override
        public void failed(RedisException failure, long sentNanos) {
            holds.forEach(hold -> {
                tryAgain(hold);
                hold.renewing = false;
            });
        }

        private void tryAgain(Hold hold) {
            long again = client.clock.nanoTime() + Math.max(MIN_PAUSE_NANOS, client.renewalNanos() / 10);
            hold.nextRenewalNanos = again;
            if (hold.checkNanos != Long.MAX_VALUE) {
                hold.checkNanos = again;
            }
        }
    }
}
