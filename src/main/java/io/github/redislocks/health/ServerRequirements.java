package io.github.redislocks.health;

import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.script.Inspections;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The properties of a server, which a client checks when it connects. So the client refuses a server that cannot grant
 * locks at the start, instead of failing at the first contention, and logs a warning about a server that is not safe. A
 * property that the server does not report counts as good.
 */
public final class ServerRequirements {

    /** The greatest error of the computed start of a server: the server reports its uptime in whole seconds. */
    private static final long START_ERROR_MICROS = 2_000_000;

    private static final int LEAST_MAJOR = 6;
    private static final int LEAST_MINOR = 2;
    private static final Pattern VERSION = Pattern.compile("(\\d{1,6})\\.(\\d{1,6}).*");

    private final String address;
    private final Reply answer;
    private final String version;
    private final String master;
    private final String policy;
    private final String command;
    private final String refusal;

    /** Reads the reply to {@link Inspections#check}. */
    public ServerRequirements(String address, Reply answer) {
        this.address = address;
        this.answer = answer;
        this.version = answer.text(0);
        this.master = answer.text(2);
        this.policy = answer.text(3);
        this.command = answer.text(4).toUpperCase(Locale.ROOT);
        this.refusal = answer.text(5);
    }

    /**
     * The version that the server reports, with the version of Valkey if there is one; "of an unknown version" if it
     * reports none.
     */
    public String version() {
        return version.isEmpty() ? "of an unknown version" : version;
    }

    /** The run id, which a server changes with each start; empty if the server reports none. */
    public String runId() {
        return answer.text(6);
    }

    /** Whether the server reports that a script may name only keys of one slot. */
    public boolean hasSlots() {
        return answer.text(7).equals("1");
    }

    /** Whether the failure is a cluster node's reply that the key is on another node. */
    public static boolean isElsewhere(@Nullable RedisException failure) {
        return failure instanceof RedisException.Refused
                && String.valueOf(failure.getMessage()).startsWith("MOVED");
    }

    /**
     * Why a server that enforces the slots of a cluster cannot grant all locks; null if the server has all slots, or is
     * a proxy that forwards calls.
     */
    public static @Nullable String objectionToSlots(Redis redis, String keyPrefix, long timeoutNanos) {
        for (Outcome outcome : redis.runAll(Inspections.checkSlots(keyPrefix), timeoutNanos)) {
            if (isElsewhere(outcome.failure())) {
                return tooSmall(redis.address());
            }
        }
        return null;
    }

    /** The objection to a server that is only one of the nodes of a cluster. */
    public static String tooSmall(String address) {
        return "Redis at " + address
                + " is one node of a cluster, and other nodes have most locks. Connect to the cluster:"
                + " redis-cluster://" + address + ", better with some more of its nodes.";
    }

    public boolean isReplica() {
        return answer.text(1).equals("slave") || refused().says("READONLY");
    }

    /** Whether the server reports that it has been a replica since it started. */
    public boolean wasPromoted() {
        return !answer.text(8).equals("-1");
    }

    /**
     * The earliest time, by the server's clock, at which the server may have started; its present time if it does not
     * report its start.
     */
    public long startedMicros() {
        String startedMicros = answer.text(9);
        return startedMicros.isEmpty() ? nowMicros() : Long.parseLong(startedMicros);
    }

    /** Whether the server, by its report, ran at {@code micros}, a time of its own clock. */
    public boolean ranAt(long micros) {
        return startedMicros() < micros - START_ERROR_MICROS;
    }

    /** The server's time in its reply. */
    public long nowMicros() {
        return answer.number(answer.values().size() - 1);
    }

    /** Warnings about a server that works, but is unsafe or slow. */
    public List<String> warnings() {
        List<String> warnings = new ArrayList<>();
        if (command.equals("PUBLISH")) {
            warnings.add("Redis at " + address + " does not let this user publish (" + refusal + "). Locks work, but"
                    + " a thread that waits for a lock of another client gets no message of its release, and notices it by"
                    + " its next heartbeat. Grant what docs/redis.md lists under \"Rights\".");
        }
        if (!policy.isEmpty() && !policy.equals("noeviction")) {
            warnings.add("Redis at " + address + " has maxmemory-policy " + policy + ": when its memory is full it may"
                    + " evict a held lock, and another client can then acquire it. Set maxmemory-policy noeviction, or give the"
                    + " locks a server of their own.");
        }
        return warnings;
    }

    /** Why this server cannot grant locks, or null. */
    @Nullable
    public String objection() {
        if (isTooOld()) {
            return "Redis at " + address + " has version " + version + ": " + LEAST_MAJOR + "." + LEAST_MINOR
                    + " or later is needed. Upgrade it.";
        }
        if (isReplica()) {
            return "Redis at " + address + " is a replica" + (master.isEmpty() ? "" : " of " + master)
                    + ", and a replica grants no locks. Connect to its master.";
        }
        if (!command.isEmpty() && !command.equals("PUBLISH") && !refused().passing()) {
            return "Redis at " + address + " does not let this user run " + command + " on the keys of locks ("
                    + refusal + "). Grant what docs/redis.md lists under \"Rights\", or check the key prefix.";
        }
        return null;
    }

    /** Tries to subscribe, since no script can test that; returns a warning, or null. */
    public static @Nullable String warningOfSubscribing(Redis redis, String channel, long timeoutNanos) {
        try {
            redis.subscribe(channel, timeoutNanos).close();
            return null;
        } catch (RedisException.Refused e) {
            return e.passing()
                    ? null
                    : "Redis does not let this user subscribe to " + channel + " (" + e.getMessage() + "). A free lock"
                            + " can be acquired, but a call that has to wait for another client's lock fails. Grant"
                            + " +subscribe and that channel, as docs/redis.md lists under \"Rights\".";
        } catch (RedisException later) {
            // No warning if the server does not answer now: the mailbox will subscribe when a thread waits.
            return null;
        }
    }

    /** Why the server cannot notify this client of deleted locks; null if it can. */
    public static @Nullable String objectionToWatching(Redis redis, String channel, long timeoutNanos) {
        try {
            redis.watch(channel, key -> {}, timeoutNanos).close();
            return null;
        } catch (RedisException.Refused e) {
            if (e.passing()) {
                throw e;
            }
            return "Redis at " + redis.address() + " does not notify this user of deleted locks, which"
                    + " watchDeletions(true) needs (" + e.getMessage() + "). Grant +client|id +client|tracking"
                    + " +client|caching and the channel __redis__:invalidate, or leave watchDeletions out.";
        }
    }

    private RedisException.Refused refused() {
        return new RedisException.Refused(refusal, null);
    }

    private boolean isTooOld() {
        Matcher matcher = VERSION.matcher(version);
        if (!matcher.matches()) {
            return false;
        }
        int major = Integer.parseInt(matcher.group(1));
        return major < LEAST_MAJOR || (major == LEAST_MAJOR && Integer.parseInt(matcher.group(2)) < LEAST_MINOR);
    }
}
