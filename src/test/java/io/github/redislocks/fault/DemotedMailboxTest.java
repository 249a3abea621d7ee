package io.github.redislocks.fault;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisReentrantLock;
import io.github.redislocks.fixture.FaultyProxy;
import io.github.redislocks.fixture.RedisServer;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.args.ClientType;
import redis.clients.jedis.params.ClientKillParams;

/** A mailbox that is still open at the server that was the master before. */
@Timeout(60)
class DemotedMailboxTest {

    private static Thread started(Runnable work) {
        Thread thread = new Thread(work);
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    @Test
    void subscriptionLeftAtADemotedServer_isNoProofOfAGrant() throws InterruptedException {
        try (RedisServer before = RedisServer.start();
                RedisServer promoted = RedisServer.start("--repl-diskless-sync-delay", "0");
                FaultyProxy address = FaultyProxy.to(before);
                Jedis one = before.client();
                RedisLocks x = RedisLocks.connect(address.uri())) {
            try (RedisLocks first = RedisLocks.connect("redis://" + before.address())) {
                RedisReentrantLock held = first.reentrantLock("other");
                held.lock();
                Thread waits = started(() -> {
                    x.reentrantLock("other").lock();
                    x.reentrantLock("other").unlock();
                });
                await().until(() -> first.inspect("other").queueLength() == 1);
                held.unlock();
                waits.join();
            }
            one.replicaof("127.0.0.1", promoted.port());
            address.retarget(promoted);
            await().until(() -> one.info("replication").contains("master_link_status:up"));
            // As "timeout" in its configuration does: it spares subscriptions.
            one.clientKill(new ClientKillParams().type(ClientType.NORMAL).skipMe(ClientKillParams.SkipMe.YES));
            try (RedisLocks y = RedisLocks.connect("redis://" + promoted.address());
                    RedisLocks z = RedisLocks.connect("redis://" + promoted.address())) {
                int doubles = 0;
                for (int i = 0; i < 5; i++) {
                    String name = "job" + i;
                    RedisReentrantLock held = y.reentrantLock(name);
                    held.lock();
                    AtomicInteger inside = new AtomicInteger();
                    AtomicInteger most = new AtomicInteger();
                    Thread a = user(x, name, inside, most);
                    await().until(() -> y.inspect(name).queueLength() == 1);
                    Thread b = user(z, name, inside, most);
                    await().until(() -> y.inspect(name).queueLength() == 2);
                    held.unlock();
                    a.join();
                    b.join();
                    doubles = Math.max(doubles, most.get());
                }
                assertThat(doubles).isEqualTo(1);
            }
        }
    }

    private static Thread user(RedisLocks locks, String name, AtomicInteger inside, AtomicInteger most) {
        return started(() -> {
            RedisReentrantLock lock = locks.reentrantLock(name);
            lock.lock();
            try {
                for (int i = 0; i < 30; i++) {
                    if (lock.isHeldByCurrentThread() && i == 0) {
                        most.accumulateAndGet(inside.incrementAndGet(), Math::max);
                    }
                    Thread.sleep(10);
                }
                inside.decrementAndGet();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            } finally {
                lock.unlock();
            }
        });
    }
}
