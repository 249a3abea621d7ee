package io.github.redislocks;

import io.github.redislocks.client.LockClient;
import io.github.redislocks.engine.RedisCondition;
import io.github.redislocks.engine.Sync;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.testkit.twin.InMemoryRedis;
import java.util.List;

/** Two threads wait in a Condition, and the first leaves while one of them is signalled; on the twin. */
final class Signalling {

    static final String LOST = "signal lost";
    static final String TWICE = "signalled twice";
    static final String SIGNALLED = "signalled";
    static final String LEFT = "left";

    private static final InMemoryRedis SERVER = OnTwin.Still.SERVER;
    private static final int TURNS = 1_000;

    /** Waits in a Condition in one of its ways; whether it was signalled. */
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

    /** The client of the waiter that leaves; the other waiter and the signaller are of another client. */
    Signalling(LockClient leaving) {
        this.leaving = leaving;
        this.first = leaving.lock(name, false);
        this.second = OnTwin.Hand.THERE.lock(name, false);
    }

    /** A Redis that says to who leaves a Condition that it was not signalled, whether it was or not. */
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

    /** Of the first waiter: waits in this way, and says what became of it. */
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
     * Of the first waiter, after its wait: takes its interrupt, which has come or will come. Whether the flag is set.
     */
    boolean takeInterrupt() {
        while (!interrupted) {
            Thread.yield();
        }
        return Thread.interrupted();
    }

    /** Of the signaller: locks when both wait. */
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

    /** Of the signaller: gives the first waiter time to decide, for a broken one. */
    void dawdle() {
        for (int i = 0; i < TURNS && !gone; i++) {
            Thread.yield();
        }
    }

    /** Of the signaller. */
    void unlock() {
        second.unlock();
    }

    /** When all but the second waiter have gone: ends it, and says where the one signal went. */
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
