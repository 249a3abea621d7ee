package io.github.redislocks.state;

import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.redis.ServerTimes;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;
import org.jspecify.annotations.Nullable;

/**
 * What Redis may still have of an attempt: a place or a hold with its number, and requests without an answer, which may
 * run until their deadline. From this follows whether the attempt has to leave Redis when it ends.
 */
public abstract class Footprint {

    private static final AtomicIntegerFieldUpdater<Footprint> ANSWERS =
            AtomicIntegerFieldUpdater.newUpdater(Footprint.class, "answers");
    private static final AtomicReferenceFieldUpdater<Footprint, ServerTimes.Date> MAY_RUN =
            AtomicReferenceFieldUpdater.newUpdater(Footprint.class, ServerTimes.Date.class, "mayRun");

    /** The hold that an attempt has given to its caller. */
    @FunctionalInterface
    public interface Possession {

        /** Whether the possession was lost after the caller had got it. */
        boolean isLost();
    }

    /** Whether the attempt's number was sent, and no later reply said that Redis has nothing with it. */
    private volatile boolean known;
    /** The latest deadline until which a copy of an unanswered request may still run; null if there is no such copy. */
    private volatile ServerTimes.@Nullable Date mayRun;
    /** The hold that the caller got in doubt, so that the attempt may have to leave Redis later; or null. */
    private volatile @Nullable Possession had;

    /** When the latest request for the lock was sent. */
    private volatile long sentNanos;

    /** How many clients have still to answer a try; less than 0 while answers come before their number is known. */
    private volatile int answers;

    Footprint() {}

    /** Adds to the clients that have still to answer a try; returns true if the last of them has answered. */
    public boolean isAnswered(int more) {
        int before;
        do {
            before = answers;
        } while (!ANSWERS.compareAndSet(this, before, before + more));
        return before + more == 0;
    }

    /** Notes that a request for the lock is sent at {@code nanos}. */
    public void sends(long nanos) {
        sentNanos = nanos;
    }

    /** When the latest request for the lock was sent. A message that grants a share brings this time back. */
    public long sentNanos() {
        return sentNanos;
    }

    /** Notes that Redis may have something with the attempt's number from now on. */
    public void known() {
        known = true;
    }

    /** Notes a reply that Redis has nothing with the number. An earlier copy of a request may still run. */
    public void unknown() {
        known = false;
    }

    /** Whether Redis may have anything with the attempt's number. */
    public boolean mayExistInRedis() {
        return known || mayRun();
    }

    /** Notes that the caller has the lock, by this hold if the attempt is in doubt; else null. */
    public void had(@Nullable Possession possession) {
        had = possession;
    }

    @Nullable
    public Possession had() {
        return had;
    }

    /** Notes that a request got no reply: it may still run, until its deadline. */
    public void unanswered(RedisException failure, ServerTimes.Date date) {
        if (failure instanceof RedisException.Unanswered lost && lost.sent()) {
            mayHaveRun(date);
        }
    }

    /** If the answered request was sent more than once, an earlier copy may still run until {@code date}. */
    public void answered(Reply reply, ServerTimes.Date date) {
        if (reply.resent()) {
            mayHaveRun(date);
        }
    }

    /** Notes that a copy of a request may have run, or may still run until its deadline. */
    public void mayHaveRun(ServerTimes.Date date) {
        ServerTimes.Date before = mayRun;
        while (date.mayRunLongerThan(before) && !MAY_RUN.compareAndSet(this, before, date)) {
            before = mayRun;
        }
    }

    /** Whether a copy of an unanswered request may have run, or may still run. */
    public boolean mayRun() {
        return mayRun != null;
    }

    /** Until when a copy of an unanswered request may run on a server, by the server's clock; 0 if none can. */
    public long mayRunUntilMicros(String server) {
        ServerTimes.Date date = mayRun;
        return date == null ? 0 : date.mayRunUntilMicros(server);
    }
}
