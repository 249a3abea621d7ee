package io.github.redislocks;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import java.time.Instant;
import java.util.Date;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import org.jspecify.annotations.Nullable;

/**
 * A Condition of a lock in Redis: {@code await} in one JVM is woken by {@code signal} in another. Conditions of one
 * lock and one id are one Condition.
 */
final class RedisCondition implements Condition {

    private static final long PAUSE_NANOS = 20_000_000;

    private final Sync sync;
    private final Client client;
    private final String id;

    RedisCondition(Sync sync, String id) {
        this.sync = sync;
        this.client = sync.client();
        this.id = id;
    }

    String id() {
        return id;
    }

    /** Whether it is of this lock. */
    boolean isOf(Sync other) {
        return client == other.client()
                && sync.keys().lock().equals(other.keys().lock());
    }

    @Override
    public void await() throws InterruptedException {
        waitWith(Patience.interruptible(), null);
    }

    @Override
    public void awaitUninterruptibly() {
        try {
            waitWith(Patience.endless(), null);
        } catch (InterruptedException e) {
            throw new AssertionError("awaitUninterruptibly() does not end by an interrupt", e);
        }
    }

    @Override
    public long awaitNanos(long nanos) throws InterruptedException {
        long now = client.clock.nanoTime();
        waitWith(Patience.within(now, nanos), null);
        long left = nanos - (client.clock.nanoTime() - now);
        // What was spent may not fit below the least of all times.
        return left <= nanos ? left : Long.MIN_VALUE;
    }

    @Override
    public boolean await(long time, TimeUnit unit) throws InterruptedException {
        return waitWith(Patience.within(client.clock.nanoTime(), unit.toNanos(time)), null);
    }

    /** Waits by the wall clock of this machine, as the JDK does. */
    @Override
    @SuppressWarnings("JavaUtilDate") // Of the interface.
    public boolean awaitUntil(Date deadline) throws InterruptedException {
        // Not toInstant(), which the dates of java.sql refuse.
        return waitWith(Patience.interruptible(), Instant.ofEpochMilli(deadline.getTime()));
    }

    private boolean waitWith(Patience patience, @Nullable Instant until) throws InterruptedException {
        try {
            // An interrupt goes before a lock that is not held, as in the JDK.
            patience.throwIfInterrupted();
            return new ConditionWait(client, this, sync.ensureHeld(), patience, until).await();
        } finally {
            patience.restore();
        }
    }

    @Override
    public void signal() {
        signal(false);
    }

    @Override
    public void signalAll() {
        signal(true);
    }

    private void signal(boolean all) {
        Hold hold = sync.ensureHeld();
        long number = client.nextNumber();
        long began = client.clock.nanoTime();
        Call call = Protocol.signal(hold, number, id, all);
        while (true) {
            try {
                Reply reply = client.run(call, client.options.commandTimeoutNanos());
                if (reply.is("GONE")) {
                    client.lose(hold, LockLost.Reason.TAKEN);
                    throw Sync.lost(hold);
                }
                reply.values().forEach(place -> moved(place.toString()));
                return;
            } catch (RedisException e) {
                if (!client.isValid(hold)) {
                    throw Sync.lost(hold);
                }
                long now = client.clock.nanoTime();
                boolean hopeless = e instanceof RedisException.Refused refused && !refused.passing();
                if (hopeless
                        || client.availability(hold.keys()).age(call, now)
                                > client.options.retryFor().toNanos()) {
                    throw client.unavailable.toDo(
                            sync.keys(),
                            "was not signalled",
                            "The calling thread still holds it; the signal may have been given.",
                            now - began,
                            e);
                }
                client.clock.park(this, PAUSE_NANOS);
            }
        }
    }

    /** Moves a waiter from the Condition's books to the lock's, if it is one of this client. */
    private void moved(String place) {
        int end = place.lastIndexOf(':');
        Attempt attempt = client.attempts.get(Long.valueOf(place.substring(end + 1)));
        if (attempt != null && attempt.owner.id.equals(place.substring(0, end)) && equals(attempt.condition)) {
            attempt.condition = null;
        }
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof RedisCondition condition && condition.isOf(sync) && condition.id.equals(id);
    }

    @Override
    public int hashCode() {
        return id.hashCode();
    }

    @Override
    public String toString() {
        return "RedisCondition " + id.substring(1) + " of " + sync.keys().name();
    }
}
