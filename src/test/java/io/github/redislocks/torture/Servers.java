package io.github.redislocks.torture;

import io.github.redislocks.fixture.FaultyProxy;
import io.github.redislocks.fixture.RedisServer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Jedis;

/** The server of the locks, with what the faults of a round need besides: files, a proxy in front, a replica. */
final class Servers implements AutoCloseable {

    private static final long SYNC_NANOS = TimeUnit.SECONDS.toNanos(20);

    private final List<RedisServer> servers = new ArrayList<>();
    private final FaultyProxy proxy;
    private final @Nullable RedisServer idle;

    @SuppressWarnings("NullAway") // Tests are not checked for nulls.
    Servers(List<Fault> faults) {
        List<String> settings = new ArrayList<>(List.of("--enable-debug-command", "yes"));
        if (faults.contains(Fault.RESTART_WITH_DATA)) {
            settings.addAll(List.of("--appendonly", "yes", "--appendfsync", "always"));
        }
        idle = faults.contains(Fault.RESTART_WITH_DATA) ? RedisServer.start(settings.toArray(String[]::new)) : null;
        servers.add(RedisServer.start(settings.toArray(String[]::new)));
        if (faults.contains(Fault.PROMOTE_CURRENT) || faults.contains(Fault.PROMOTE_LAGGING)) {
            servers.add(RedisServer.start(settings.toArray(String[]::new)));
            follow();
        }
        proxy = faults.stream().anyMatch(fault -> fault.isProxied) ? FaultyProxy.to(current()) : null;
    }

    /** Another server that writes to the same disk, for nobody: where it is slow, so is the disk. Or null. */
    @Nullable
    RedisServer idle() {
        return idle;
    }

    /** Where the workers go. */
    String uri() {
        return proxy == null ? current().uri() : proxy.uri();
    }

    FaultyProxy proxy() {
        return proxy;
    }

    /** The master. */
    RedisServer current() {
        return servers.get(0);
    }

    /** Makes the replica stop to follow, so that from here on it lags. */
    void lag() {
        awaitSynced(false);
        try (Jedis replica = servers.get(1).client()) {
            replica.replicaofNoOne();
        }
    }

    /** Leads everybody to the replica: to what it knows now, or if it does not lag, to all that the master knew. */
    void switchOver(boolean lagging) {
        if (!lagging) {
            awaitSynced(false);
        }
        proxy.refuse();
        proxy.cut();
        if (!lagging) {
            awaitSynced(true);
        }
        servers.add(servers.remove(0));
        try (Jedis promoted = current().client()) {
            promoted.replicaofNoOne();
        }
        proxy.retarget(current());
        proxy.admit();
        follow();
    }

    private void follow() {
        try (Jedis replica = servers.get(1).client()) {
            replica.replicaof("127.0.0.1", current().port());
        }
    }

    /** Waits until the replica follows; wholly, if nobody writes any more. */
    private void awaitSynced(boolean wholly) {
        long deadline = System.nanoTime() + SYNC_NANOS;
        try (Jedis master = current().client();
                Jedis replica = servers.get(1).client()) {
            while (true) {
                String at = "\nmaster_repl_offset:" + field(master.info("replication"), "master_repl_offset:");
                String info = replica.info("replication");
                if (info.contains("master_link_status:up")
                        && (!wholly || at.equals("\nmaster_repl_offset:" + field(info, "slave_repl_offset:")))) {
                    return;
                }
                if (System.nanoTime() > deadline) {
                    throw new IllegalStateException("The replica does not follow: " + info);
                }
                LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(2));
            }
        }
    }

    private static String field(String info, String name) {
        int begin = info.indexOf("\n" + name) + 1 + name.length();
        return info.substring(begin, info.indexOf('\r', begin));
    }

    @Override
    public void close() {
        if (proxy != null) {
            proxy.close();
        }
        servers.forEach(RedisServer::close);
        if (idle != null) {
            idle.close();
        }
    }
}
