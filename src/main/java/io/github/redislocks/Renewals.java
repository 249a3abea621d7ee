package io.github.redislocks;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** The watchdog's care for holds: renews them, confirms grants, and declares what is lost. */
final class Renewals implements Watchdog.Ward {

    /** How many holds one script renews: about 0.2 ms of Redis' time. */
    static final int BATCH = 32;

    private static final long MIN_PAUSE_NANOS = 10_000_000;
    private static final int FENCE_REFRESH_SECONDS = 3_600;
    /** By how much the next renewal of each batch of a walk comes sooner than that of the batch before. */
    private static final long SPREAD_NANOS = 1_000_000;

    /** How many losses are remembered for owners that have not called since. */
    static final int LOSSES = 100_000;
    /** When to look again whether the owner of a loss lives. */
    private static final long LOOK_AGAIN_NANOS = 60_000_000_000L;

    private final Client client;
    private final int losses;
    /** How often Redis had become another server when the last walk began. */
    private int lastMoves;

    /** Losses: how many of them to remember. */
    Renewals(Client client, int losses) {
        this.client = client;
        this.losses = losses;
    }

    @Override
    public long inspect(long now, long horizon, Watchdog.Due due) {
        long next = Long.MAX_VALUE;
        int moves = client.serverWatch.moves();
        boolean moved = moves != lastMoves;
        lastMoves = moves;
        List<Hold> together = new ArrayList<>();
        int batches = 0;
        int lost = 0;
        for (Hold hold : client.holds.all()) {
            if (hold.stranded) {
                client.succession.rescue(hold);
            }
            if (!hold.isValid(now) && !client.isValid(hold)) {
                if (hold.isLost()) {
                    client.ended(hold);
                    next = Math.min(next, age(hold, now));
                    lost++;
                }
                continue;
            }
            next = Math.min(next, hold.deadlineNanos());
            boolean renewing = hold.renewing;
            if (!renewing && hold.moves != moves && (moved || !isAskedSoon(hold))) {
                hold.nextRenewalNanos = now;
            }
            long renewal = hold.nextRenewalNanos;
            if (renewal > horizon) {
                next = Math.min(next, renewal);
            } else if (hold.isRenewed() && !hold.thread().isAlive()) {
                // A lease that was named lasts, however the hold came about.
                abandon(hold);
            } else if (!renewing && !isForBatch(hold, now)) {
                add(List.of(hold), 0, due);
            } else if (!renewing) {
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
        if (lost > losses) {
            forgetOldest(lost - losses);
        }
        client.tellLosses();
        // A hold may have ended meanwhile.
        return next <= 0 ? now : next;
    }

    private void add(List<Hold> holds, int batch, Watchdog.Due due) {
        due.add(holds.get(0).lock(), new Renewal(holds, batch, lastMoves));
    }

    /**
     * Whether Redis is to be asked of a hold within the pause after a failure. If not, and it has become another server
     * since it answered, then the answer came too late to be of the new one, or something else has put the renewal off.
     */
    private boolean isAskedSoon(Hold hold) {
        // By the time of now: the failure may have come since the walk began.
        return hold.nextRenewalNanos <= client.clock.nanoTime() + pauseNanos();
    }

    /** How long after a failure it is tried again. */
    private long pauseNanos() {
        return Math.max(MIN_PAUSE_NANOS, client.renewalNanos() / 10);
    }

    private boolean isForBatch(Hold hold, long now) {
        return client.serverWatch.hasOneSlot() && hold.isRenewed() && !isFenceDue(hold, now);
    }

    private static boolean isFenceDue(Hold hold, long now) {
        return hold.secondsSinceFenceRefresh(now) > FENCE_REFRESH_SECONDS;
    }

    /** Looks after the record of a loss, which its owner may still ask for; returns when to look at it again. */
    private long age(Hold hold, long now) {
        if (!hold.thread().isAlive()) {
            client.holds.forget(hold);
            return Long.MAX_VALUE;
        }
        if (hold.nextRenewalNanos >= 0) {
            // Since when it is known, to find the oldest.
            hold.nextRenewalNanos = -now;
        }
        return now + LOOK_AGAIN_NANOS;
    }

    /** Forgets the records of the losses that have been known for longest. */
    private void forgetOldest(int count) {
        client.holds.all().stream()
                .filter(Hold::isLost)
                .sorted(Comparator.comparingLong(hold -> -hold.nextRenewalNanos))
                .limit(count)
                .toList()
                .forEach(client.holds::forget);
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
        private final int moves;
        private long leaseMillis;

        Renewal(List<Hold> holds, int batch, int moves) {
            this.holds = holds;
            this.batch = batch;
            this.moves = moves;
        }

        @Override
        public boolean begin() {
            for (int i = 0; i < holds.size(); i++) {
                holds.get(i).renewing = true;
            }
            return true;
        }

        @Override
        public void end() {
            for (int i = 0; i < holds.size(); i++) {
                holds.get(i).renewing = false;
            }
        }

        @Override
        public int size() {
            return holds.size();
        }

        @Override
        public Call call(long sentNanos, long timeoutNanos) {
            for (Hold hold : holds) {
                hold.unanswered = true;
            }
            Hold first = holds.get(0);
            // One of several was to be renewed when they were put together; an unlock may have ended that meanwhile.
            leaseMillis = holds.size() > 1 || first.isRenewed()
                    ? client.options.leaseMillis()
                    : Math.max(1, (first.wantedUntilNanos - sentNanos) / 1_000_000);
            if (holds.size() > 1) {
                return Protocol.renewAll(holds, leaseMillis).with(client.options.acks());
            }
            boolean fence = isFenceDue(first, sentNanos);
            if (fence) {
                first.fenceRefreshed(sentNanos);
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
                    !reply.is("OK") || client.isAcknowledged(holds.get(0).lock(), reply, sentNanos);
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
            hold.moves = moves;
            if (held) {
                hold.renewNext(sentNanos + client.renewalNanos() - spreadNanos());
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
            if (holds.size() > 1) {
                client.serverWatch.refused(failure);
            }
            for (Hold hold : holds) {
                tryAgain(hold);
                hold.renewing = false;
            }
        }

        private void tryAgain(Hold hold) {
            long now = client.clock.nanoTime();
            hold.nextRenewalNanos = moves == client.serverWatch.moves() ? now + pauseNanos() : now;
        }
    }
}
