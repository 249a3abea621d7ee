package io.github.redislocks.readwrite;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.github.redislocks.RedisReentrantReadWriteLock;
import io.github.redislocks.fixture.Processes;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.Lock;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.Parameter;

/** A read-write lock by two clients, and threads that hold it. */
@Timeout(60)
abstract class ReadWriteTest {

    @Parameter
    Topology topology;

    final String name = "readwrite:" + UUID.randomUUID();
    private final List<Thread> threads = new ArrayList<>();
    Topology.Clients clients;
    /** The lock as one client sees it, and as the other does. */
    RedisReentrantReadWriteLock lock;

    RedisReentrantReadWriteLock remote;

    @BeforeEach
    void open() throws InterruptedException {
        assumeTrue(topology == Topology.IN_MEMORY || Processes.ALLOWED, "needs processes");
        clients = topology.open();
        lock = clients.here.readWriteLock(name);
        remote = clients.there.readWriteLock(name);
        subscribe(lock, remote);
        subscribe(remote, lock);
    }

    /**
     * Lets a client wait once. From then on it has its subscription, and a thread that waits parks only with its place.
     */
    private void subscribe(RedisReentrantReadWriteLock one, RedisReentrantReadWriteLock other)
            throws InterruptedException {
        Holder writer = writing(other);
        Holder reader = waitingReader(one);
        writer.end();
        reader.awaitHas();
        reader.end();
    }

    @AfterEach
    void close() {
        threads.forEach(Thread::interrupt);
        if (clients != null) {
            clients.close();
        }
    }

    /** A thread that does one thing. */
    final class Actor<T> {

        private final FutureTask<T> task;
        final Thread thread;

        Actor(Callable<T> action) {
            task = new FutureTask<>(action);
            thread = new Thread(task);
            thread.setDaemon(true);
            threads.add(thread);
            thread.start();
        }

        boolean isDone() {
            return task.isDone();
        }

        T result() throws InterruptedException {
            try {
                return task.get(20, TimeUnit.SECONDS);
            } catch (ExecutionException e) {
                throw new AssertionError("The thread threw " + e.getCause(), e.getCause());
            } catch (TimeoutException e) {
                AssertionError hangs = new AssertionError("The thread hangs");
                hangs.setStackTrace(thread.getStackTrace());
                throw hangs;
            }
        }
    }

    <T> T elsewhere(Callable<T> action) throws InterruptedException {
        return new Actor<>(action).result();
    }

    /** A thread that locks once, and unlocks when told. */
    final class Holder {

        private final CountDownLatch has = new CountDownLatch(1);
        private final CountDownLatch go = new CountDownLatch(1);
        final Actor<Void> actor;

        Holder(Lock one) {
            actor = new Actor<>(() -> {
                one.lock();
                try {
                    has.countDown();
                    go.await();
                } finally {
                    one.unlock();
                }
                return null;
            });
        }

        boolean has() {
            return has.getCount() == 0;
        }

        Holder awaitHas() throws InterruptedException {
            assertThat(has.await(20, TimeUnit.SECONDS)).as("holds").isTrue();
            return this;
        }

        void end() throws InterruptedException {
            go.countDown();
            actor.result();
        }
    }

    /** A thread that reads by now. */
    Holder reading(RedisReentrantReadWriteLock one) throws InterruptedException {
        return new Holder(one.readLock()).awaitHas();
    }

    /** A thread that writes by now. */
    Holder writing(RedisReentrantReadWriteLock one) throws InterruptedException {
        return new Holder(one.writeLock()).awaitHas();
    }

    /** A thread that has to wait to read, and has its place. */
    Holder waitingReader(RedisReentrantReadWriteLock one) {
        Holder holder = new Holder(one.readLock());
        awaitParked(one, holder.actor.thread);
        return holder;
    }

    /** A thread that has to wait to write, and has its place. */
    Holder waitingWriter(RedisReentrantReadWriteLock one) {
        Holder holder = new Holder(one.writeLock());
        awaitParked(one, holder.actor.thread);
        return holder;
    }

    static void awaitParked(RedisReentrantReadWriteLock one, Thread thread) {
        awaitThat().until(() -> isQueued(one, thread) && isParked(thread));
    }

    /** Waits until a client has heard that a writer waits, and lets no new reader in. */
    void awaitKeptOut(RedisReentrantReadWriteLock one) {
        awaitThat().until(() -> {
            Actor<Boolean> reader = new Actor<>(() -> {
                boolean in = one.readLock().tryLock();
                if (in) {
                    one.readLock().unlock();
                }
                return in;
            });
            return !reader.result();
        });
    }

    static boolean isQueued(RedisReentrantReadWriteLock one, Thread thread) {
        return one.getQueuedReaderThreads().contains(thread)
                || one.getQueuedWriterThreads().contains(thread);
    }

    private static boolean isParked(Thread thread) {
        return thread.getState() == Thread.State.WAITING || thread.getState() == Thread.State.TIMED_WAITING;
    }

    static ConditionFactory awaitThat() {
        return await().pollInSameThread()
                .pollDelay(Duration.ZERO)
                .pollInterval(Duration.ofMillis(1))
                .atMost(Duration.ofSeconds(20));
    }

    /** Nobody holds the lock or waits for it: a writer of either client comes in at once. */
    void assertFree() throws InterruptedException {
        for (RedisReentrantReadWriteLock one : List.of(lock, remote)) {
            assertThat(one.getReadLockCount()).as("reads").isZero();
            assertThat(one.hasQueuedThreads()).as("has queued threads").isFalse();
            assertThat(elsewhere(() -> {
                        if (one.writeLock().tryLock(5, TimeUnit.SECONDS)) {
                            one.writeLock().unlock();
                            return true;
                        }
                        return false;
                    }))
                    .as("free")
                    .isTrue();
        }
    }
}
