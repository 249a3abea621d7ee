package io.github.redislocks;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;

/**
 * The watchdog's care for waiters: keeps their places alive, and asks when the holder's lease should be over, so that
 * no wake-up depends on a message. Waiters that Redis has left alone for too long are told so.
 */
final class Heartbeats implements Watchdog.Ward {

    private static final long PAUSE_NANOS = 100_000_000;

    private final Client client;

    Heartbeats(Client client) {
        this.client = client;
    }

    @Override
    public long inspect(long now, long horizon, Watchdog.Due due) {
        long next = Long.MAX_VALUE;
        long bearable = client.options.retryFor().toNanos();
        long grace = client.serverWatch.graceNanos(now);
        for (Attempt attempt : client.attempts.values()) {
            if (attempt.stranded) {
                client.succession.rescue(attempt);
            }
            if (!attempt.undecided()) {
                continue;
            }
            Availability server = client.availability(attempt.keys);
            long outage = server.age(now);
            if (outage > 0 && !attempt.bearsOutages()) {
                if (outage > bearable && server.met(attempt.beganNanos)) {
                    attempt.decide(new Attempt.Failure(client.unavailable.notServed(attempt, outage, server.cause())));
                    continue;
                }
                next = Math.min(next, now + Math.max(PAUSE_NANOS, bearable - outage + 1));
            }
            if (attempt.standing == null || attempt.heartbeatInFlight) {
                continue;
            }
            if (grace > 0) {
                // It would take a lock that is free, or let another waiter have it.
                next = Math.min(next, now + grace);
            } else if (attempt.nextHeartbeatNanos > horizon) {
                next = Math.min(next, attempt.nextHeartbeatNanos);
            } else {
                due.add(attempt.keys.lock(), new Heartbeat(attempt));
            }
        }
        return next;
    }

    final class Heartbeat implements Watchdog.Job {

        private final Attempt attempt;
        private ServerTimes.Date notAfter;

        Heartbeat(Attempt attempt) {
            this.attempt = attempt;
            this.notAfter = client.serverTimes.date(0, 0);
        }

        @Override
        public boolean begin() {
            // Who settles an attempt looks at this after its verdict, so that one of the two sees the other.
            attempt.heartbeatInFlight = true;
            if (!attempt.undecided()) {
                attempt.heartbeatInFlight = false;
            }
            return attempt.heartbeatInFlight;
        }

        @Override
        public Call call(long sentNanos, long timeoutNanos) {
            notAfter = client.serverTimes.date(sentNanos, timeoutNanos);
            return Protocol.heartbeat(attempt, notAfter);
        }

        @Override
        public long patienceNanos() {
            return LockOptions.claimMillis(attempt.leaseMillis) * 1_000_000;
        }

        @Override
        public void answered(Reply reply, long sentNanos) {
            attempt.answered(reply, notAfter);
            attempt.heartbeatInFlight = false;
            switch (reply.code()) {
                case "GRANTED" -> granted(reply, sentNanos);
                case "QUEUED" -> {
                    notAfter.saw(reply);
                    attempt.queued(sentNanos, reply.number(0), reply.number(1));
                    attempt.condition = null;
                    leaveIfEnded();
                }
                case "WAITING" -> {
                    notAfter.saw(reply);
                    attempt.queued(sentNanos, reply.number(0), -1);
                    leaveIfEnded();
                }
                case "LATE" -> {
                    // It is due as before, and will not be late again.
                    notAfter.saw(reply);
                    leaveIfEnded();
                }
                default -> {
                    attempt.nextHeartbeatNanos = client.clock.nanoTime() + PAUSE_NANOS;
                    leaveIfEnded();
                }
            }
        }

        private void granted(Reply reply, long sentNanos) {
            notAfter.saw(reply);
            long claim = LockOptions.claimMillis(attempt.leaseMillis);
            Attempt.Grant grant = Attempt.Grant.claimed(reply, sentNanos, client.clock.nanoTime(), claim);
            if (!attempt.decide(grant)) {
                // It may have been granted before by other news, and released: then this is a hold that nobody has.
                leaveIfEnded();
            }
        }

        @Override
        public void failed(RedisException failure, long sentNanos) {
            attempt.unanswered(failure, notAfter);
            attempt.heartbeatInFlight = false;
            long pause = failure instanceof RedisException.Unready
                    ? LockOptions.heartbeatMillis(attempt.leaseMillis) * 1_000_000
                    : PAUSE_NANOS;
            attempt.nextHeartbeatNanos = client.clock.nanoTime() + pause;
            leaveIfEnded();
        }

        @Override
        public void end() {
            if (attempt.heartbeatInFlight) {
                // Something went wrong here, so that nobody was told what became of it.
                attempt.mayHaveRun(notAfter);
                attempt.heartbeatInFlight = false;
                try {
                    leaveIfEnded();
                } catch (Throwable e) {
                    // Then what it may have left behind lapses with its claim.
                }
            }
        }

        /** An attempt that ended while it was asked for may have a place or the lock again. */
        private void leaveIfEnded() {
            if (client.hasEnded(attempt)) {
                client.succession.leaveLater(attempt);
            }
        }
    }
}
