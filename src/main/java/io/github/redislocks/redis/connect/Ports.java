package io.github.redislocks.redis.connect;

import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.cluster.ClusterRedis;
import io.github.redislocks.redis.jedis.JedisRedis;
import io.github.redislocks.redis.jedis.QuickReader;
import io.github.redislocks.redis.jedis.Topology;
import io.github.redislocks.redis.sentinel.SentinelRedis;
import redis.clients.jedis.JedisClientConfig;

/** Opens the port to the servers of a topology. */
public final class Ports {

    private Ports() {}

    /**
     * Opens the port. A failure to connect is reported by the first call.
     *
     * @param timeoutNanos how long to wait for the reply to the question which server to use
     */
    public static Redis open(
            Topology topology, JedisClientConfig config, int maxConnections, long timeoutNanos, Threads threads) {
        if (topology instanceof Topology.Sentinel sentinel) {
            return new SentinelRedis(sentinel, config, maxConnections, timeoutNanos, threads).start();
        }
        if (topology instanceof Topology.Cluster cluster) {
            if (config.getDatabase() != 0) {
                throw new IllegalArgumentException(
                        "The database is " + config.getDatabase()
                                + ", and a cluster has only database 0: leave it out, and tell applications apart by keyPrefix.");
            }
            return new ClusterRedis(cluster, config, maxConnections, timeoutNanos, threads).start();
        }
        return new JedisRedis(((Topology.Single) topology).address(), config, maxConnections, threads);
    }

    /**
     * Opens the port to one server for the given number of callers, which use it on threads of their own, or begin
     * calls whose answers the reader reads.
     */
    public static Redis openMaster(Topology topology, JedisClientConfig config, int callers, QuickReader reader) {
        return JedisRedis.ofReader(((Topology.Single) topology).address(), config, callers, reader);
    }
}
