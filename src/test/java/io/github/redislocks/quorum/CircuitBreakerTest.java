package io.github.redislocks.quorum;

import static org.awaitility.Awaitility.await;

import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.script.Inspections;
import io.github.redislocks.state.Settings;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A master that did not answer is asked again, even if an error came while the failure was noted. */
@Timeout(60)
class CircuitBreakerTest extends OneMaster {

    private final AtomicBoolean down = new AtomicBoolean();
    private final AtomicBoolean noMemory = new AtomicBoolean();
    private final AtomicInteger failures = new AtomicInteger();

    private static boolean isNoting() {
        return StackWalker.getInstance()
                .walk(frames -> frames.anyMatch(frame -> frame.getMethodName().equals("note")));
    }

    private Object answer(Method method, Object[] args) throws Throwable {
        if (method.getName().equals("address") && isNoting() && noMemory.getAndSet(false)) {
            throw new OutOfMemoryError("of the test");
        }
        if (method.getName().equals("publish") && down.get()) {
            failures.incrementAndGet();
            throw new RedisException.Unanswered("refused", false, null);
        }
        try {
            return method.invoke(master, args);
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }

    @Test
    void outOfMemory_whileAFailureIsNoted_excludesNoMasterPermanently() {
        Redis port = (Redis) Proxy.newProxyInstance(
                Redis.class.getClassLoader(),
                new Class<?>[] {Redis.class},
                (proxy, method, args) -> answer(method, args));
        RetryTimer timer = new RetryTimer(Threads.DAEMONS);
        QuorumNode own = new QuorumNode(
                0,
                new QuorumServer(port, "redis-locks:quorum", DELAY_MILLIS, DELAY_MILLIS, known, now::get),
                Settings.DEFAULTS,
                calls,
                timer,
                Threads.DAEMONS);
        try {
            down.set(true);
            own.publish("channel", "", SECOND, null);
            await().until(() -> failures.get() == 1);
            noMemory.set(true);
            // A message is sent once the pause before it is over.
            await().until(() -> {
                own.publish("channel", "", SECOND, null);
                return !noMemory.get();
            });
            down.set(false);
            await().until(() -> {
                long deadline = System.nanoTime() + SECOND;
                Poll poll = new MajorityPoll(1, Inspections.locked(keys), Set.of("FREE"), "FREE", Long.MAX_VALUE);
                own.ask(List.of(poll), deadline, false);
                return poll.await(deadline, LockSupport::parkNanos).outcome().reply() != null;
            });
        } finally {
            timer.close();
            own.shutDown(System.nanoTime() + SECOND);
            own.close(System.nanoTime() + SECOND);
        }
    }
}
