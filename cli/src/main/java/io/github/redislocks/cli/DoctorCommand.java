package io.github.redislocks.cli;

import io.github.redislocks.LockUnavailableException;
import io.github.redislocks.Permits;
import io.github.redislocks.PermitsInspection;
import io.github.redislocks.RedisLocks;
import java.io.PrintWriter;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisException;

/** Checks whether a server is suitable for locks. */
@Command(
        name = "doctor",
        mixinStandardHelpOptions = true,
        description = {
            "Checks a server: version, role, memory policy, persistence, replicas, clock, latency, and whether this user"
                    + " may lock and unlock, and use read-write locks and permits. Says what to change. Takes and releases"
                    + " a lock of its own name.",
            "The exit code is 1 if locks are not safe on this server, otherwise 0."
        })
final class DoctorCommand implements Callable<Integer> {

    private static final Pattern VERSION = Pattern.compile("(\\d{1,4})\\.(\\d{1,4})");
    private static final int PINGS = 200;
    private static final double SLOW_MILLIS = 5;
    private static final Duration CLOCK_OFF = Duration.ofSeconds(2);

    @Spec
    private CommandSpec spec;

    @Mixin
    private Server server;

    final Table table = new Table("CHECK", "RESULT", "FOUND", "WHAT TO DO");
    private boolean failed;

    @Override
    public Integer call() {
        PrintWriter out = spec.commandLine().getOut();
        try (Jedis jedis = server.single()) {
            jedis.ping();
            if (info(jedis)) {
                clock(jedis);
                latency(jedis);
            }
        } catch (JedisException e) {
            fail("answers", e.getMessage(), "check the URL, the password and the network");
        }
        locks();
        out.println(table);
        out.flush();
        return failed ? ExitCodes.PROBLEM : ExitCodes.OK;
    }

    /** Checks INFO. Returns false if INFO shows that the server cannot have locks. */
    boolean info(Jedis jedis) {
        String text;
        try {
            text = jedis.info();
        } catch (JedisDataException e) {
            fail("info", e.getMessage(), "look with a user that may, as version, memory and the like are not known");
            return true;
        }
        Map<String, String> info = parsed(text);
        version(info);
        String mode = info.getOrDefault("redis_mode", "standalone");
        if (mode.equals("sentinel")) {
            fail("role", "a Sentinel", "name the master that it watches");
            return false;
        }
        role(info, mode.equals("cluster"));
        memory(info);
        persistence(info);
        return true;
    }

    private static Map<String, String> parsed(String text) {
        Map<String, String> info = new HashMap<>();
        text.lines().forEach(line -> {
            int colon = line.indexOf(':');
            if (colon > 0) {
                info.put(line.substring(0, colon), line.substring(colon + 1).strip());
            }
        });
        return info;
    }

    private void version(Map<String, String> info) {
        String valkey = info.get("valkey_version");
        String version = info.getOrDefault("redis_version", "0");
        String found = valkey == null ? "Redis " + version : "Valkey " + valkey;
        Matcher parts = VERSION.matcher(version);
        if (!parts.lookingAt()) {
            warn("version", found, "see that it does what Redis 6.2 does");
            return;
        }
        int major = Integer.parseInt(parts.group(1));
        if (major > 6 || (major == 6 && Integer.parseInt(parts.group(2)) >= 2)) {
            ok("version", found);
        } else {
            fail("version", found, "use Redis 6.2 or later, or Valkey");
        }
    }

    private void role(Map<String, String> info, boolean inCluster) {
        boolean master = "master".equals(info.get("role"));
        String replicas = info.getOrDefault("connected_slaves", "0");
        if (!master) {
            fail("role", "a replica", "name the master");
        } else if (inCluster) {
            warn("role", "a master of a cluster", "name redis-cluster://, and give doctor each master");
        } else if (replicas.equals("0")) {
            warn("role", "a master without replicas", "its failure stops all locking until it is back");
        } else {
            warn(
                    "role",
                    "a master with " + replicas + " replicas",
                    "a failover may forget holds: set failoverGrace, or replicaAcks(" + replicas + ")");
        }
    }

    private void memory(Map<String, String> info) {
        String policy = info.getOrDefault("maxmemory_policy", "unknown");
        boolean bounded = !info.getOrDefault("maxmemory", "0").equals("0");
        if (policy.equals("noeviction")) {
            ok("memory", bounded ? "noeviction" : "noeviction, no limit");
        } else {
            fail(
                    "memory",
                    policy + (bounded ? "" : ", no limit yet"),
                    "set maxmemory-policy noeviction: an evicted key is a lost lock");
        }
    }

    private void persistence(Map<String, String> info) {
        if ("1".equals(info.get("aof_enabled"))) {
            ok("persistence", "append-only file; holds survive a restart up to appendfsync");
        } else {
            warn(
                    "persistence",
                    "no append-only file",
                    "a restart forgets holds: set appendonly yes, or let it start later than the longest lease");
        }
    }

    private void clock(Jedis jedis) {
        List<String> time;
        try {
            time = jedis.time();
        } catch (JedisDataException e) {
            fail("clock", e.getMessage(), "grant TIME, which the scripts ask");
            return;
        }
        Instant there = Instant.ofEpochSecond(Long.parseLong(time.get(0)), Long.parseLong(time.get(1)) * 1_000);
        Duration off = Duration.between(Instant.now(), there).abs();
        String found = Times.show(off) + " from the clock here";
        if (off.compareTo(CLOCK_OFF) < 0) {
            ok("clock", found);
        } else {
            warn("clock", found, "locks do not need it right, tokens do: keep it by NTP");
        }
    }

    private void latency(Jedis jedis) {
        double[] millis = new double[PINGS];
        for (int i = 0; i < PINGS; i++) {
            long began = System.nanoTime();
            jedis.ping();
            millis[i] = (System.nanoTime() - began) / 1e6;
        }
        Arrays.sort(millis);
        String found = String.format(
                Locale.ROOT,
                "p50 %.2f ms, p99 %.2f ms, longest %.2f ms of %d",
                millis[PINGS / 2],
                millis[PINGS * 99 / 100],
                millis[PINGS - 1],
                PINGS);
        if (millis[PINGS / 2] < SLOW_MILLIS) {
            ok("latency", found);
        } else {
            warn("latency", found, "each lock and each unlock takes that long: move closer, or hold locks longer");
        }
    }

    private void locks() {
        try (RedisLocks locks = server.open()) {
            String name = "redis-locks:doctor:" + UUID.randomUUID();
            locks.reentrantLock(name).runWithLock(() -> {});
            ok("rights", "locked and unlocked \"" + name + "\"");
            moreRights(locks.permits(name, 1));
        } catch (LockUnavailableException | IllegalArgumentException e) {
            fail("rights", "cannot lock", e.getMessage());
        }
    }

    /** Checks the right that read-write locks and permits need, and other locks do not. */
    private void moreRights(Permits pool) {
        try {
            PermitsInspection unused = pool.inspect();
            ok("more rights", "may use read-write locks and permits");
        } catch (LockUnavailableException e) {
            InspectCommand.throwUnlessRefused(e);
            warn(
                    "more rights",
                    "may use neither read-write locks nor permits",
                    "grant +hgetall if a program uses them");
        }
    }

    private void ok(String check, String found) {
        table.add(check, "ok", found, "");
    }

    private void warn(String check, String found, String remedy) {
        table.add(check, "NOTE", found, remedy);
    }

    private void fail(String check, String found, String remedy) {
        failed = true;
        table.add(check, "FAILED", found, remedy);
    }
}
