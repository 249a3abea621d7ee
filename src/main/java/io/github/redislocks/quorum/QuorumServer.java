package io.github.redislocks.quorum;

import io.github.redislocks.concurrent.Loggers;
import io.github.redislocks.health.ServerRequirements;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.redis.ServerTime;
import io.github.redislocks.script.Scripts;
import io.github.redislocks.state.LockKeys;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The server behind one node of a quorum, as the last look found it: before the first call, and whenever another one
 * has answered than the one that was meant. By that look it is known from when on the server may give new votes.
 *
 * <p>Only a restarted server tells by its uptime which votes it may have forgotten. A promoted replica, or a server
 * that ran before the last answer of the one in whose place it is, may not know the votes that were given: it is met as
 * a server that starts at this moment.
 */
public final class QuorumServer {

    private static final long LOOK_AGAIN_NANOS = 10_000_000_000L;
    /** More than the error of the estimate of a server's time, which is a round trip. */
    public static final long LATE_MARGIN_NANOS = 100_000_000;

    /** The uptime is the difference of two times in whole seconds: it may tell a second too much. */
    private static final long UPTIME_ERROR_MICROS = 1_000_000;

    /**
     * In place of the run id of a replica, which keeps its own when it is promoted: then it is met as another server.
     */
    private static final String REPLICA = "replica";

    /**
     * Before which time of the server it gives no new vote, and until when it is told so: for twice as long, so that
     * only the server's clock counts.
     */
    private record Silence(long untilMicros, long toldUntilNanos) {}

    public final Redis redis;
    public final ServerTime time = new ServerTime();

    private final String keyPrefix;
    /** Of nobody, to try whether it may be listened to. */
    private final String mailbox;

    private final Call check;
    private final long restartDelayMillis;
    private final long leaseMillis;
    /** Whose run id is whose, by the addresses of the quorum: each server has one vote. */
    private final ConcurrentMap<String, Redis> known;

    private final LongSupplier nanoTime;
    private final ReentrantLock looking = new ReentrantLock();
    private volatile @Nullable String runId;
    private volatile @Nullable String objection;
    private volatile @Nullable Silence silence;
    /** Whether another server has answered than the one with the run id. */
    private volatile boolean doubted;

    private volatile long lookedNanos;
    /** When the server answered last, by its clock. */
    private volatile long answeredMicros;

    /**
     * Of which nothing is known yet.
     *
     * @param keyPrefix of the locks
     * @param restartDelayMillis how long a restarted server must have run before it votes; 0 if it forgets nothing
     * @param leaseMillis for how long another server gives no vote at least, since it does not know those given
     * @param known the run ids of all nodes
     */
    public QuorumServer(
            Redis redis,
            String keyPrefix,
            long restartDelayMillis,
            long leaseMillis,
            ConcurrentMap<String, Redis> known) {
        this(redis, keyPrefix, restartDelayMillis, leaseMillis, known, System::nanoTime);
    }

    /** By a clock, of which only is told how long ago a server was looked at. */
    public QuorumServer(
            Redis redis,
            String keyPrefix,
            long restartDelayMillis,
            long leaseMillis,
            ConcurrentMap<String, Redis> known,
            LongSupplier nanoTime) {
        this.redis = redis;
        this.keyPrefix = keyPrefix;
        this.mailbox = LockKeys.mailbox(keyPrefix, "check");
        this.check = Scripts.check(keyPrefix, mailbox);
        this.restartDelayMillis = restartDelayMillis;
        this.leaseMillis = leaseMillis;
        this.known = known;
        this.nanoTime = nanoTime;
    }

    /** The run id of the server that is meant; empty if it is not known. */
    public String runId() {
        String id = runId;
        return id == null ? "" : id;
    }

    /** The server's time before which it is to give no new vote; 0 if that is over. */
    public long votesFromMicros() {
        Silence told = silence;
        return told == null || nanoTime.getAsLong() - told.toldUntilNanos > 0 ? 0 : told.untilMicros;
    }

    /** Why it cannot be one of a quorum, or null. */
    @Nullable
    public String objection() {
        return objection;
    }

    /** Looks at the server if that is due, and learns its time; throws if it cannot be one of a quorum. */
    public void checkOnce(long timeoutNanos) {
        if (isToBeLookedAt()) {
            looking.lock();
            try {
                if (isToBeLookedAt()) {
                    meet(look(timeoutNanos), timeoutNanos);
                }
            } finally {
                looking.unlock();
            }
        }
        String why = objection;
        if (why != null) {
            throw new RedisException.Refused(why, null);
        }
    }

    /** Whether {@link #checkOnce} has nothing to do and no objection. */
    public boolean isTrusted() {
        return objection == null && !isToBeLookedAt();
    }

    /** Before its first call, and if another one answered; and now and then if something spoke against it. */
    private boolean isToBeLookedAt() {
        return objection == null ? runId == null || doubted : nanoTime.getAsLong() - lookedNanos > LOOK_AGAIN_NANOS;
    }

    private ServerRequirements look(long timeoutNanos) {
        lookedNanos = nanoTime.getAsLong();
        long sent = System.nanoTime();
        Reply answer;
        try {
            answer = redis.run(check, timeoutNanos);
        } catch (RedisException.Refused e) {
            if (ServerRequirements.isElsewhere(e)) {
                object(ServerRequirements.tooSmall(redis.address()));
            }
            throw e;
        }
        time.saw(answer, Math.max(sent, System.nanoTime() - LATE_MARGIN_NANOS));
        ServerRequirements server = new ServerRequirements(redis.address(), answer);
        server.warnings().forEach(Loggers.CONNECTION::warn);
        String warning = ServerRequirements.warningOfSubscribing(redis, mailbox, timeoutNanos);
        if (warning != null) {
            Loggers.CONNECTION.warn(warning);
        }
        return server;
    }

    /** Notes an answer of the server, which had its time; of many in a second one. */
    public void answered(long micros) {
        if (micros - answeredMicros > 1_000_000) {
            answeredMicros = micros;
        }
    }

    /** Notes that another server has answered. */
    public void doubt() {
        doubted = true;
    }

    /** Notes that the server is a replica now: it has forgotten what its master does not know. */
    public void becameReplica() {
        looking.lock();
        try {
            runId = REPLICA;
        } finally {
            looking.unlock();
        }
    }

    /** Finds out whether the server that was looked at can be one of a quorum, and from when on it gives new votes. */
    private void meet(ServerRequirements server, long timeoutNanos) {
        object(server, timeoutNanos);
        if (server.isReplica()) {
            runId = REPLICA;
        } else if (objection == null) {
            if (!server.runId().equals(runId)) {
                meetAnother(server);
            }
            runId = server.runId();
            answeredMicros = server.nowMicros();
        }
        doubted = false;
    }

    private void meetAnother(ServerRequirements server) {
        boolean restarted = runId == null || (!server.wasPromoted() && !server.ranAt(answeredMicros));
        long delayMillis = restarted ? restartDelayMillis : Math.max(restartDelayMillis, leaseMillis);
        long sinceMicros = restarted ? server.startedMicros() + UPTIME_ERROR_MICROS : server.nowMicros();
        // A restarted server knows no vote that it did not know before.
        long untilMicros =
                Math.max(delayMillis == 0 ? 0 : sinceMicros + delayMillis * 1_000, restarted ? votesFromMicros() : 0);
        long leftMicros = untilMicros - server.nowMicros();
        // Written before the run id and read after it: a request that names the new server then heeds its silence.
        silence = leftMicros <= 0 ? null : new Silence(untilMicros, nanoTime.getAsLong() + 2_000 * leftMicros);
        if (!restarted) {
            Loggers.CONNECTION.warn(
                    "Redis at {} is another server than before, or has been promoted: it may not know the votes that"
                            + " were given, and is asked for no new ones for {} ms. An address of a quorum should"
                            + " always lead to the same master, and the masters should have no replicas.",
                    redis.address(),
                    delayMillis);
        }
    }

    private void object(ServerRequirements server, long timeoutNanos) {
        String why = server.objection();
        if (why == null && server.hasSlots()) {
            why = ServerRequirements.objectionToSlots(redis, keyPrefix, timeoutNanos);
        }
        if (why == null && restartDelayMillis != 0 && server.runId().isEmpty()) {
            why = "Redis at " + redis.address() + " does not tell its run id, by which it is known that it restarted."
                    + " Grant +info, or set restartDelay to Duration.ZERO if it never forgets a vote";
        }
        known.values().removeIf(redis::equals);
        Redis same = why != null || server.runId().isEmpty() ? null : known.putIfAbsent(server.runId(), redis);
        if (same != null && same != redis) {
            why = "Redis at " + redis.address() + " is the same server as " + same.address()
                    + ", and would have two votes. Name each master of the quorum once";
        }
        object(why);
    }

    private void object(@Nullable String why) {
        objection = why;
        if (why != null) {
            Loggers.CONNECTION.error("{}: it is not asked for votes", why);
        }
    }
}
