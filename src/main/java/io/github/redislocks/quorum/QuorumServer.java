package io.github.redislocks.quorum;

import io.github.redislocks.concurrent.Loggers;
import io.github.redislocks.health.ServerRequirements;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.redis.ServerTime;
import io.github.redislocks.script.Inspections;
import io.github.redislocks.state.LockKeys;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The server behind one node of a quorum, as the last check found it. The node checks the server before the first call
 * and after another server has answered at the same address. The check finds out from when on the server may give new
 * votes.
 *
 * <p>A server that has restarted may have forgotten votes; its uptime shows which. A promoted replica, or another
 * server at the same address, may never have known the votes, however long it has run. So it counts as a server that
 * has just started.
 */
public final class QuorumServer {

    private static final long CHECK_AGAIN_NANOS = 10_000_000_000L;
    /** A margin that is greater than the error of the estimated server time. That error is a round trip. */
    public static final long LATE_MARGIN_NANOS = 100_000_000;

    /** The greatest error of an uptime, which is the difference of two times in whole seconds. */
    private static final long UPTIME_ERROR_MICROS = 1_000_000;

    /** Stands for the run id of a replica. A promoted replica keeps its run id, but has to count as another server. */
    private static final String REPLICA = "replica";

    /**
     * A time in which the server gives no new votes.
     *
     * @param untilMicros the end of that time, by the server's clock
     * @param namedUntilNanos until when requests name {@code untilMicros}, by this client's clock. Requests name it for
     *     twice the time that is left, so that only the server's clock decides when the silence ends
     */
    private record Silence(long untilMicros, long namedUntilNanos) {}

    public final Redis redis;
    public final ServerTime time = new ServerTime();

    private final String keyPrefix;
    /** A channel without readers. The check subscribes to it to find out whether the user may subscribe. */
    private final String mailbox;

    private final Call check;
    private final long restartDelayMillis;
    private final long leaseMillis;
    /**
     * The connection of each run id of the quorum's servers. A second node with the same run id would be a second vote
     * of one server.
     */
    private final ConcurrentMap<String, Redis> known;

    private final LongSupplier nanoTime;
    private final ReentrantLock checking = new ReentrantLock();
    private volatile @Nullable String runId;
    private volatile @Nullable String objection;
    private volatile @Nullable Silence silence;
    /** Whether a server with another run id has answered since the last check. */
    private volatile boolean doubted;

    private volatile long checkedNanos;
    /** The server's time in its last answer. */
    private volatile long answeredMicros;

    /**
     * Makes a server that has not been checked yet.
     *
     * @param keyPrefix the prefix of the locks' keys
     * @param restartDelayMillis how long a restarted server must have run before it votes; 0 if servers forget nothing
     *     in a restart
     * @param leaseMillis the least time in which another server at this address gives no vote: until then, votes that
     *     the server does not know may last
     * @param known the connection of each run id, shared by all nodes
     */
    public QuorumServer(
            Redis redis,
            String keyPrefix,
            long restartDelayMillis,
            long leaseMillis,
            ConcurrentMap<String, Redis> known) {
        this(redis, keyPrefix, restartDelayMillis, leaseMillis, known, System::nanoTime);
    }

    /** Makes a server that has not been checked yet, with the given clock. */
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
        this.check = Inspections.check(keyPrefix, mailbox);
        this.restartDelayMillis = restartDelayMillis;
        this.leaseMillis = leaseMillis;
        this.known = known;
        this.nanoTime = nanoTime;
    }

    /** The run id that the server had at the last check; empty if it is unknown. */
    public String runId() {
        String id = runId;
        return id == null ? "" : id;
    }

    /** The server's time before which the server must not give a new vote; 0 if it may give one now. */
    public long votesFromMicros() {
        Silence now = silence;
        return now == null || nanoTime.getAsLong() - now.namedUntilNanos > 0 ? 0 : now.untilMicros;
    }

    /** Why the server cannot be part of a quorum, or null. */
    @Nullable
    public String objection() {
        return objection;
    }

    /**
     * Checks the server if a check is due, and reads the server's time. Throws if the server cannot be part of a
     * quorum.
     */
    public void checkOnce(long timeoutNanos) {
        if (isCheckDue()) {
            checking.lock();
            try {
                if (isCheckDue()) {
                    adopt(check(timeoutNanos), timeoutNanos);
                }
            } finally {
                checking.unlock();
            }
        }
        String why = objection;
        if (why != null) {
            throw new RedisException.Refused(why, null);
        }
    }

    /** Whether no check is due and there is no objection. */
    public boolean isTrusted() {
        return objection == null && !isCheckDue();
    }

    /**
     * A check is due before the first call, after another server has answered, and, while there is an objection, now
     * and then.
     */
    private boolean isCheckDue() {
        return objection == null ? runId == null || doubted : nanoTime.getAsLong() - checkedNanos > CHECK_AGAIN_NANOS;
    }

    private ServerRequirements check(long timeoutNanos) {
        checkedNanos = nanoTime.getAsLong();
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

    /** Notes the server's time in an answer, once a second at most. */
    public void answered(long micros) {
        if (micros - answeredMicros > 1_000_000) {
            answeredMicros = micros;
        }
    }

    /** Notes that another server has answered. */
    public void doubt() {
        doubted = true;
    }

    /** Notes that the server has become a replica, and so forgets everything that its master does not know. */
    public void becameReplica() {
        checking.lock();
        try {
            runId = REPLICA;
        } finally {
            checking.unlock();
        }
    }

    /** Decides whether the server can be part of a quorum, and from when on it may give new votes. */
    private void adopt(ServerRequirements server, long timeoutNanos) {
        object(server, timeoutNanos);
        if (server.isReplica()) {
            runId = REPLICA;
        } else if (objection == null) {
            if (!server.runId().equals(runId)) {
                adoptAnother(server);
            }
            runId = server.runId();
            answeredMicros = server.nowMicros();
        }
        doubted = false;
    }

    private void adoptAnother(ServerRequirements server) {
        boolean restarted = runId == null || (!server.wasPromoted() && !server.ranAt(answeredMicros));
        long delayMillis = restarted ? restartDelayMillis : Math.max(restartDelayMillis, leaseMillis);
        long sinceMicros = restarted ? server.startedMicros() + UPTIME_ERROR_MICROS : server.nowMicros();
        // A restart does not end an earlier silence: the server does not regain the votes that it had forgotten before.
        long untilMicros =
                Math.max(delayMillis == 0 ? 0 : sinceMicros + delayMillis * 1_000, restarted ? votesFromMicros() : 0);
        long leftMicros = untilMicros - server.nowMicros();
        // Write `silence` before `runId`, since readers read `runId` first. So a request that names the new run id also
        // has the new silence.
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
            why = "Redis at " + redis.address() + " does not report its run id, which shows whether it has restarted."
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
