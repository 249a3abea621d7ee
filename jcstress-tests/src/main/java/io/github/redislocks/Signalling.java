package io.github.redislocks;

import io.github.redislocks.client.LockClient;
import io.github.redislocks.engine.RedisCondition;
import io.github.redislocks.engine.Sync;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.testkit.twin.InMemoryRedis;
import java.util.List;

/** Two threads wait in a Condition, and the first one leaves while one of them is signalled; on the in-memory twin. */
final class Signalling {

    static final String LOST = "signal lost";
    static final String TWICE = "signalled twice";
    static final String SIGNALLED = "signalled";
    static final String LEFT = "left";

    private static final InMemoryRedis SERVER = OnTwin.Still.SERVER;
    private static final int TURNS = 1_000;

    /** A way to wait in a Condition. Returns whether the thread was signalled. */
    @FunctionalInterface
    interface Way {
        boolean await(RedisCondition condition) throws InterruptedException;
    }

    private final String name = OnTwin.name();
    private final LockClient leaving;
    private final Sync first;
    private final Sync second;
    private volatile Thread thread;
    private volatile boolean interrupted;
    private volatile boolean gone;
    private volatile Aside.Task other;

    /**
     * Makes the Condition.
     *
     * @param leaving the client of the waiter that leaves; the other waiter and the signaller are of another client
     */
    Signalling(LockClient leaving) {
        this.leaving = leaving;
        this.first = leaving.lock(name, false);
        this.second = OnTwin.Hand.THERE.lock(name, false);
    }

    /** A Redis that always tells a thread that leaves a Condition that the thread was not signalled. */
    static Redis forgetful(Redis honest) {
        return new Tampered(honest, (redis, call, timeout) -> {
            Reply reply = redis.run(call, timeout);
            return call.script().name().equals("rejoin") && reply.is("SIGNALLED")
                    ? new Reply("QUEUED", List.of(0L, -1L, reply.number(0)))
                    : reply;
        });
    }

    private static RedisCondition condition(LockClient client, Sync sync) {
        return client.condition(sync, LockKeys.condition("c"));
    }

    /** Called by the first waiter: waits in the given way, and returns the outcome. */
    String await(Way way) {
        thread = Thread.currentThread();
        first.lock();
        other = Aside.start(this::awaitSignal);
        boolean signalled;
        try {
            signalled = way.await(condition(leaving, first));
        } catch (InterruptedException e) {
            signalled = false;
        }
        gone = true;
        first.unlock();
        return signalled ? SIGNALLED : LEFT;
    }

    private void awaitSignal() {
        second.lock();
        condition(OnTwin.Hand.THERE, second).awaitUninterruptibly();
        second.unlock();
    }

    /**
     * Called by the first waiter after its wait: waits for the interrupt. Returns whether the interrupt flag is set.
     */
    boolean takeInterrupt() {
        while (!interrupted) {
            Thread.yield();
        }
        return Thread.interrupted();
    }

    /** Called by the signaller: locks when both waiters wait. */
    void lock() {
        while (SERVER.zset(conditions()).size() < 2) {
            Thread.yield();
        }
        second.lock();
    }

    /** Of the signaller. */
    void signal() {
        condition(OnTwin.Hand.THERE, second).signal();
    }

    /** Of the signaller. */
    void interrupt() {
        thread.interrupt();
        interrupted = true;
    }

    /** Called by the signaller: gives the first waiter of a broken test time to decide. */
    void dawdle() {
        for (int i = 0; i < TURNS && !gone; i++) {
            Thread.yield();
        }
    }

    /** Of the signaller. */
    void unlock() {
        second.unlock();
    }

    /** Called when only the second waiter is left: ends it, and returns which thread got the signal. */
    String words(String story) {
        boolean otherSignalled = SERVER.zset(conditions()).isEmpty();
        if (!otherSignalled) {
            second.lock();
            signal();
            second.unlock();
        }
        other.join();
        OnTwin.Still.forget(name);
        if (story.equals(SIGNALLED)) {
            return otherSignalled ? TWICE : SIGNALLED;
        }
        return story.equals(LEFT) && !otherSignalled ? LOST : story;
    }

    private String conditions() {
        return first.keys().all().get(4);
    }
}
