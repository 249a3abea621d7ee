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
 * The server behind one node of a quorum: looked at before its first call, and whenever another one is met in its
 * place. Only a restarted server tells by its uptime which votes it may have forgotten. A promoted replica, or a server
 * that ran before the last answer of the one in whose place it is, may not know the votes that were given: it is met as
 * a server that starts at this moment.
 */
public final class QuorumServer {

    private static final long LOOK_AGAIN_NANOS = 10_000_000_000L;
    /** More than the error of the estimate of a server's time, which is a round trip. */
    public static final long LATE_MARGIN_NANOS = 100_000_000;

    /**
     * In place of the run id of a replica, which keeps its own when it is promoted: then it is met as another server.
     */
    private static final String REPLICA = "replica";

    /** A server that is not trusted yet, and since when it has been known. */
    private record Newcomer(String runId, long metNanos) {}

    public final Redis redis;
    public final ServerTime time = new ServerTime();

    private final String keyPrefix;
    /** Of nobody, to try whether it may be listened to. */
    private final String mailbox;

    private final Call check;
    private final long delayNanos;
    /** Whose run id is whose, by the addresses of the quorum: each server has one vote. */
    private final ConcurrentMap<String, Redis> known;

    private final LongSupplier nanoTime;
    private final ReentrantLock looking = new ReentrantLock();
    private volatile @Nullable String runId;
    private volatile @Nullable String objection;
    private volatile @Nullable Newcomer newcomer;
    private volatile long lookedNanos;
    /** When the trusted server answered last, by its clock. */
    private volatile long answeredMicros;

    /**
     * Of which nothing is known yet.
     *
     * @param keyPrefix of the locks
     * @param delayMillis for how long a server that may not know all votes gives none
     * @param known the run ids of all nodes
     */
    public QuorumServer(Redis redis, String keyPrefix, long delayMillis, ConcurrentMap<String, Redis> known) {
        this(redis, keyPrefix, delayMillis, known, System::nanoTime);
    }

    /** By a clock, of which only is told how long ago a server was looked at or met. */
    public QuorumServer(
            Redis redis,
            String keyPrefix,
            long delayMillis,
            ConcurrentMap<String, Redis> known,
            LongSupplier nanoTime) {
        this.redis = redis;
        this.keyPrefix = keyPrefix;
        this.mailbox = LockKeys.mailbox(keyPrefix, "check");
        this.check = Scripts.check(keyPrefix, mailbox);
        this.delayNanos = delayMillis * 1_000_000;
        this.known = known;
        this.nanoTime = nanoTime;
    }

    /** What tells the server that is trusted from all others; empty if it is not known. */
    public String runId() {
        String id = runId;
        return id == null ? "" : id;
    }

    /** Why it cannot be one of a quorum, or null. */
    @Nullable
    public String objection() {
        return objection;
    }

    /** Looks at the server before its first call, and learns its time; throws if it cannot be one of a quorum. */
    public void checkOnce(long timeoutNanos) {
        if (isToBeLookedAt()) {
            looking.lock();
            try {
                if (isToBeLookedAt()) {
                    ServerRequirements server = look(timeoutNanos);
                    for (String warning : server.warnings()) {
                        Loggers.CONNECTION.warn(warning);
                    }
                    // Another server than at the first look is met by its next vote.
                    if (runId == null || mayKnowAll(server)) {
                        trust(server);
                    }
                    object(server, timeoutNanos);
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
        return objection == null && runId != null;
    }

    /** Before its first call; and again now and then if something spoke against it. */
    private boolean isToBeLookedAt() {
        return objection == null ? runId == null : nanoTime.getAsLong() - lookedNanos > LOOK_AGAIN_NANOS;
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
        String warning = ServerRequirements.warningOfSubscribing(redis, mailbox, timeoutNanos);
        if (warning != null) {
            Loggers.CONNECTION.warn(warning);
        }
        return server;
    }

    /** Notes an answer of the trusted server, which had its time; of many in a second one. */
    public void answered(long micros) {
        if (micros - answeredMicros > 1_000_000) {
            answeredMicros = micros;
        }
    }

    /** Notes that the trusted server is a replica now: it has forgotten what its master does not know. */
    public void becameReplica() {
        looking.lock();
        try {
            trust(REPLICA);
        } finally {
            looking.unlock();
        }
    }

    /**
     * Whether the uptime of a server tells what it may have forgotten, since it is a restart of the one that is
     * trusted: it did not run when that one answered last. A replica is not asked for votes at all.
     */
    private boolean mayKnowAll(ServerRequirements server) {
        return server.isReplica() || (!server.wasPromoted() && !server.ranAt(answeredMicros));
    }

    private void trust(ServerRequirements server) {
        trust(server.isReplica() ? REPLICA : server.runId());
        answeredMicros = server.nowMicros();
    }

    private void trust(String id) {
        runId = id;
        newcomer = null;
    }

    private void object(ServerRequirements server, long timeoutNanos) {
        String why = server.objection();
        if (why == null && server.hasSlots()) {
            why = ServerRequirements.objectionToSlots(redis, keyPrefix, timeoutNanos);
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

    /**
     * Looks at the server that was met in place of the one that was trusted: a restarted one is trusted, since its
     * uptime tells what it may have forgotten; any other in time, unless there is an {@link #objection}.
     *
     * @return for how many more ms it is to give no vote; 0 if it is trusted now
     */
    public long meet(String id, long timeoutNanos) {
        looking.lock();
        try {
            Newcomer last = newcomer;
            if (id.equals(runId)) {
                return 0;
            }
            if (last == null || !last.runId.equals(id)) {
                ServerRequirements server = look(timeoutNanos);
                object(server, timeoutNanos);
                if (objection != null) {
                    return 0;
                }
                if (mayKnowAll(server)) {
                    trust(server);
                    return 0;
                }
                // Should the one that was trusted come back, it does not know the votes of this one.
                trust(REPLICA);
                last = new Newcomer(server.runId(), nanoTime.getAsLong());
                newcomer = last;
                Loggers.CONNECTION.warn(
                        "Redis at {} is another server than before, or has been promoted: it may not know the votes that"
                                + " were given, and is asked for no new ones for {} ms. An address of a quorum should"
                                + " always lead to the same master, and the masters should have no replicas.",
                        redis.address(),
                        delayNanos / 1_000_000);
            }
            long left = delayNanos - (nanoTime.getAsLong() - last.metNanos);
            if (left <= 0) {
                trust(last.runId);
            }
            return Math.max(0, (left + 999_999) / 1_000_000);
        } finally {
            looking.unlock();
        }
    }
}
