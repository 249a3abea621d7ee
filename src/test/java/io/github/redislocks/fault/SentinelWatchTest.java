package io.github.redislocks.fault;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.LockLost;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.fixture.RedisServer;
import io.github.redislocks.fixture.SentinelServers;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import redis.clients.jedis.Jedis;

/** Holders learn at once that their lock was deleted, after Sentinels made another server the master. */
@Tag("once")
@Timeout(60)
@Tag("server")
class SentinelWatchTest extends WatchedServers {

    private SentinelServers servers;

    @BeforeEach
    void start() {
        servers = SentinelServers.startSmall();
    }

    @AfterEach
    void stop() {
        servers.close();
    }

    @Test
    void failoverByHand_keyDeletedOnTheNewMaster_isToldAtOnce() {
        RedisLocks locks = watching(servers.uri());
        CompletableFuture<LockLost> kept = held(locks, "kept");
        CompletableFuture<LockLost> news = held(locks, "item");
        RedisServer old = servers.master();
        awaitTracked(old, 2);
        awaitReplicated(old, "item");
        try (Jedis sentinel = servers.sentinels().get(0).client()) {
            sentinel.sentinelFailover(SentinelServers.MASTER);
        }
        RedisServer promoted = servers.awaitPromotion(old);
        awaitTracked(promoted, 2);
        delete(promoted, "item");
        isToldAtOnce(news);
        assertThat(kept).isNotDone();
    }

    @Test
    void masterDies_keyDeletedOnTheNewOne_isToldAtOnce() {
        CompletableFuture<LockLost> news = held(watching(servers.uri()), "item");
        RedisServer old = servers.master();
        awaitTracked(old, 1);
        awaitReplicated(old, "item");
        old.kill();
        RedisServer promoted = servers.awaitPromotion(old);
        awaitTracked(promoted, 1);
        delete(promoted, "item");
        isToldAtOnce(news);
    }
}
