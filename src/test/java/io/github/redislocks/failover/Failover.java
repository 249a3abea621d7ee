package io.github.redislocks.failover;

import static org.awaitility.Awaitility.await;

import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisReentrantLock;
import io.github.redislocks.fixture.FaultyProxy;
import io.github.redislocks.fixture.RedisServer;
import io.github.redislocks.fixture.SentinelServers;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import redis.clients.jedis.Jedis;

/**
 * A failover: a client takes the lock, the master dies, the replica becomes the master, and another client, which has
 * waited meanwhile, gets the lock there.
 *
 * @param isReplicated whether the replica receives all changes until the master dies, or none since before the lock
 * @param isBlind whether the holder's client receives no replies of the Sentinels once it has the lock, and so cannot
 *     learn of the failover
 */
record Failover(Protection protection, boolean isReplicated, boolean isBlind) {

    private static final String NAME = "job";
    private static final long SURVIVAL_MILLIS = 1_500;
    private static final int CLOSED_PORT = 1;

    /**
     * The result; times count from the master's death.
     *
     * @param of the failover
     * @param acquired whether the first client got the lock at all
     * @param lost the reason of its loss; empty if the client did not lose the lock
     * @param endNanos until when the first client held the lock
     * @param nextNanos when the second client got the lock
     */
    record Outcome(Failover of, boolean acquired, String lost, long endNanos, long nextNanos) {

        boolean isDouble() {
            return acquired && endNanos > nextNanos;
        }

        /** How long both clients held the lock. */
        long doubleNanos() {
            return endNanos - nextNanos;
        }
    }

    Outcome run() throws Exception {
        try (SentinelServers servers = SentinelServers.startSmall();
                FaultyProxy view = FaultyProxy.to(servers.sentinels().get(0).address());
                RedisLocks here =
                        protection.connect("redis-sentinel://" + view.address() + "/" + SentinelServers.MASTER);
                RedisLocks there = protection.connect(servers.uri())) {
            RedisServer old = servers.master();
            there.reentrantLock("other").runWithLock(() -> {});
            if (!isReplicated) {
                follow(servers.replicas().get(0), CLOSED_PORT);
            }
            Holder holder = new Holder(here.reentrantLock(NAME));
            holder.start();
            boolean acquired = holder.acquired();
            if (isBlind) {
                view.holdReplies();
            }
            FutureTask<Long> next = new FutureTask<>(() -> timeOfLocking(there.reentrantLock(NAME)));
            Thread rival = new Thread(next, "rival");
            rival.setDaemon(true);
            rival.start();
            if (acquired) {
                awaitQueued(old);
            }
            long died = System.nanoTime();
            old.kill();
            RedisServer promoted = servers.awaitPromotion(old);
            if (protection == Protection.ACKS) {
                // Otherwise no replica could confirm the next hold.
                awaitCalm(servers, promoted);
                old.restart();
                follow(old, promoted.port());
            }
            awaitEnd(holder, next);
            long nextNanos = next.get(60, TimeUnit.SECONDS);
            holder.join(10_000);
            return new Outcome(this, acquired, holder.lost(), holder.heldUntilNanos() - died, nextNanos - died);
        }
    }

    private static long timeOfLocking(RedisReentrantLock lock) {
        lock.lock();
        try {
            return System.nanoTime();
        } finally {
            lock.unlock();
        }
    }

    /** Makes a server the replica of another. With a closed port the server receives nothing any more. */
    private static void follow(RedisServer replica, int port) {
        try (Jedis jedis = replica.client()) {
            jedis.replicaof("127.0.0.1", port);
        }
    }

    private static void awaitQueued(RedisServer master) {
        try (Jedis jedis = master.client()) {
            await().pollInterval(Duration.ofMillis(5))
                    .until(() -> jedis.zcard("redis-locks:{" + NAME + "}:queue") == 1);
        }
    }

    /** Waits until Sentinel no longer takes the new master for dead, which would cause another failover. */
    private static void awaitCalm(SentinelServers servers, RedisServer promoted) {
        try (Jedis sentinel = servers.sentinels().get(0).client()) {
            await().pollInterval(Duration.ofMillis(20))
                    .during(Duration.ofSeconds(1))
                    .atMost(Duration.ofSeconds(20))
                    .until(() -> {
                        Map<String, String> master = sentinel.sentinelMaster(SentinelServers.MASTER);
                        return master.get("flags").equals("master")
                                && master.get("port").equals(Integer.toString(promoted.port()));
                    });
        }
    }

    /** A hold that the new master knows lasts until it is unlocked. */
    private void awaitEnd(Holder holder, FutureTask<Long> next) {
        long began = System.nanoTime();
        await().atMost(Duration.ofSeconds(60))
                .pollInterval(Duration.ofMillis(5))
                .until(() -> !holder.isAlive()
                        || next.isDone()
                        || (isReplicated && System.nanoTime() - began > SURVIVAL_MILLIS * 1_000_000));
        if (isReplicated && !isBlind) {
            holder.end();
        }
    }
}
