package io.github.redislocks;

import static io.github.redislocks.fixture.twin.Verbs.verb;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.fixture.ForwardingRedis;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.Settings;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.Condition;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A lock that is forced while the reply that grants it is under way, and that another client has then. */
class GrantUnderWayTest extends FakeTime {

    private final Slow slow = new Slow(server.another());
    private final RedisLocks client = RedisLocks.on(slow, Settings.DEFAULTS, List.of(), clock);
    private final RedisReentrantLock wanted =
            client.reentrantLock("job", LockOptions.defaults().fair(true));
    private final AtomicReference<LockHandle> taken = new AtomicReference<>();

    /** A server whose reply to one call comes after something else has happened. */
    private static final class Slow extends ForwardingRedis {

        private final AtomicReference<@Nullable Runnable> meanwhile = new AtomicReference<>();
        private volatile Predicate<Call> which = call -> false;

        Slow(Redis server) {
            super(server);
        }

        @Override
        public Reply run(Call call, long timeoutNanos) {
            Reply reply = super.run(call, timeoutNanos);
            Runnable happens = which.test(call) ? meanwhile.getAndSet(null) : null;
            if (happens != null) {
                happens.run();
            }
            return reply;
        }
    }

    @AfterEach
    void closeClient() {
        whileTimePasses(() -> true, client::close);
    }

    private void isForcedDuring(String verb) {
        clients.add(client);
        slow.which = verb(verb);
        slow.meanwhile.set(() -> {
            CompletableFuture<LockHandle> next = others.reentrantLock("job").acquireAsync();
            await().until(() -> server.zset(KEY + ":queue").size() == 1);
            other.forceUnlock();
            LockHandle handle = next.join();
            long token = handle.fencingToken();
            await().until(() -> inside(client).attempts().all().stream().anyMatch(attempt -> knows(attempt, token)));
            taken.set(handle);
        });
    }

    private static boolean knows(Attempt attempt, long token) {
        return attempt.position() != null && attempt.position().lastToken() == token;
    }

    /** The waiter has the lock after the other client, and then nobody has it. */
    private void isServedAfterwards(Thread waiter) throws InterruptedException {
        passUntil(() -> taken.get() != null);
        pass(100);
        assertThat(waiter.isAlive()).as("the lock is another's").isTrue();
        taken.get().close();
        waiter.join();
        othersHaveTheLock();
    }

    @Test
    void await_whoseGrantIsForcedWhileItIsUnderWay_waitsOn() throws InterruptedException {
        isForcedDuring("rejoin");
        Condition condition = wanted.newCondition();
        Thread waiter = new Thread(() -> {
            wanted.lock();
            try {
                assertThat(condition.await(50, TimeUnit.MILLISECONDS)).isFalse();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
            wanted.unlock();
        });
        waiter.start();
        isServedAfterwards(waiter);
    }
}
