package io.github.redislocks.redis.jedis;

import io.github.redislocks.concurrent.StackSpace;
import io.github.redislocks.concurrent.VirtualThreads;
import io.github.redislocks.redis.Causes;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisException;

/**
 * A request whose answer must come by a deadline.
 *
 * <pre>
 * take a permit of the pool                                waits until the deadline
 * if a connection is idle, and the thread may block on it
 *     ask on it, here                                      its reads end at the deadline
 *     if it has idled for long, test first whether it answers
 * else, or if it was stale
 *     let a worker connect and ask, and wait for it        given up at the deadline
 *     if it is the thread's only work, connect and ask here
 * </pre>
 *
 * <p>When the caller gives up a worker that has sent the request, it closes the worker's connection. A worker that has
 * not sent the request yet goes on connecting, but does not send the request: the connection is kept for the next call.
 * Otherwise no call might ever have enough time to connect to a distant server.
 */
public abstract class TimedRequest<T> {

    /**
     * How long after the deadline the caller waits for the worker's own report of the timeout, since the worker knows
     * best what happened.
     */
    private static final long GRACE_NANOS = TimeUnit.MILLISECONDS.toNanos(3);

    /**
     * The least time that must be left for testing a connection. The test gets half of the time that is left: enough
     * for a round trip to a distant server.
     */
    private static final long TIME_TO_ASK_NANOS = TimeUnit.MILLISECONDS.toNanos(800);

    private final Endpoint endpoint;
    private final ConnectionPool pool;
    private final long timeoutNanos;
    private final long deadline;
    private final AtomicReference<Stage> stage = new AtomicReference<>(Stage.UNSENT);
    /** The connection that is being made or used. */
    private volatile @Nullable PooledConnection current;

    private boolean resent;
    /** Whether the caller has to give the permit back. */
    private boolean hasPermit;

    private enum Stage {
        UNSENT,
        SENT,
        ANSWERED,
        ABANDONED
    }

    public TimedRequest(Endpoint endpoint, ConnectionPool pool, long timeoutNanos) {
        this.endpoint = endpoint;
        this.pool = pool;
        this.timeoutNanos = timeoutNanos;
        this.deadline = System.nanoTime() + timeoutNanos;
    }

    /** Sends the request and reads the answer. Called again on a fresh connection if the first connection was stale. */
    public abstract T on(PooledConnection link);

    /** The name of the request in messages. */
    public abstract String what();

    /** Gives a sound connection back to the pool. */
    public void release(PooledConnection sound) {
        pool.giveBack(sound);
    }

    /** Whether an earlier copy of the request was sent. */
    public final boolean resent() {
        return resent;
    }

    /** The time until the deadline; 0 or less once it has passed. */
    public final long leftNanos() {
        return deadline - System.nanoTime();
    }

    /**
     * Performs the request.
     *
     * @param here whether the calling thread may block on a socket
     */
    public final T perform(boolean here) {
        // Check the stack before taking a permit: after a StackOverflowError the thread could not give the permit back.
        StackSpace.ensure();
        if (!pool.enter(deadline)) {
            throw endpoint.noneFree(what(), pool.bound(), timeoutNanos);
        }
        hasPermit = true;
        try {
            if (pool.isClosed()) {
                throw endpoint.closed(false);
            }
            boolean mayBlock = here && !VirtualThreads.isVirtual(Thread.currentThread());
            T answer = mayBlock ? onIdle() : null;
            if (answer == null && mayBlock && endpoint.callersConnect()) {
                answer = onFresh();
            }
            return answer != null ? answer : elsewhere();
        } catch (JedisDataException e) {
            // If a provider supplies credentials, refused ones may be valid later: such a failure counts as a failed
            // connection.
            throw Endpoint.isOfCredentials(e) && pool.hasChangingCredentials()
                    ? endpoint.failed(e, unfinished(stage.get() != Stage.UNSENT))
                    : endpoint.refused(e, what(), resent);
        } catch (JedisException e) {
            boolean sent = stage.get() != Stage.UNSENT;
            throw pool.isClosed() ? endpoint.closed(sent) : endpoint.failed(e, unfinished(sent));
        } finally {
            if (hasPermit) {
                pool.leave();
            }
        }
    }

    private T elsewhere() {
        FutureTask<T> answer = new FutureTask<>(this::work);
        AtomicBoolean started = new AtomicBoolean();
        try {
            execute(() -> {
                if (started.compareAndSet(false, true)) {
                    answer.run();
                }
            });
            return await(answer);
        } finally {
            // A worker that has started gives the permit back itself. A worker that has not started will not start any
            // more, so this thread gives the permit back.
            hasPermit = started.compareAndSet(false, true);
        }
    }

    private void execute(Runnable work) {
        try {
            endpoint.workers().execute(work);
        } catch (RejectedExecutionException e) {
            boolean sent = stage.get() != Stage.UNSENT;
            throw e.getCause() == null ? endpoint.closed(sent) : endpoint.noThread(what(), sent, e.getCause());
        }
    }

    /** Does the worker's part of the request. */
    private T work() {
        try {
            T answer = resent ? null : onIdle();
            return answer != null ? answer : onFresh();
        } finally {
            pool.leave();
        }
    }

    /**
     * Asks on an idle connection. Returns null if there is none or if it was stale. If it was stale, also closes all
     * connections that have been idle for as long.
     */
    private @Nullable T onIdle() {
        PooledConnection idle = pool.takeIdle();
        if (idle == null || (isToBeAsked(idle) && !answers(idle))) {
            return null;
        }
        try {
            return talk(idle);
        } catch (JedisConnectionException e) {
            pool.dropAsOldAs(idle);
            if (Causes.isTimeout(e) || pool.isClosed()) {
                throw e;
            }
            resent = true;
            return null;
        }
    }

    /**
     * Whether to test a connection before use. A connection that was idle for long is tested if there is time for a
     * test; after half a minute it is always tested.
     */
    private boolean isToBeAsked(PooledConnection idle) {
        return pool.hasIdled(idle, ConnectionPool.KEPT_NANOS)
                || (pool.hasIdled(idle, ConnectionPool.AGED_NANOS) && leftNanos() >= TIME_TO_ASK_NANOS);
    }

    /**
     * Tests whether a connection that was idle for long still leads to the server. The test gets half of the time that
     * is left. If the test fails, the other half is left to connect and ask.
     */
    private boolean answers(PooledConnection aged) {
        current = aged;
        boolean answered = false;
        try {
            aged.arm(deadline - leftNanos() / 2);
            aged.ask(Commands.ping());
            answered = true;
        } catch (JedisDataException e) {
            answered = true; // An error reply is an answer.
        } catch (JedisConnectionException e) {
            if (pool.isClosed()) {
                throw e;
            }
        } finally {
            if (!answered) {
                aged.cut();
                pool.dropAsOldAs(aged);
            }
        }
        return answered;
    }

    private T onFresh() {
        PooledConnection link = pool.newConnection(deadline);
        current = link;
        if (stage.get() == Stage.ABANDONED) {
            throw new CancellationException();
        }
        pool.connect(link);
        if (leftNanos() <= 0) {
            // Keep the connection for the next call: connecting to a distant server may take longer than any single
            // call may take.
            pool.giveBack(link);
            throw endpoint.timedOut(unfinished(stage.get() != Stage.UNSENT));
        }
        return talk(link);
    }

    private T talk(PooledConnection link) {
        current = link;
        if (stage.get() != Stage.SENT && !stage.compareAndSet(Stage.UNSENT, Stage.SENT)) {
            pool.giveBack(link);
            throw new CancellationException();
        }
        boolean sound = false;
        try {
            link.arm(deadline);
            T answer = on(link);
            sound = true;
            return answer;
        } catch (JedisDataException e) {
            sound = true; // An error is an answer.
            throw e;
        } finally {
            if (sound && stage.compareAndSet(Stage.SENT, Stage.ANSWERED)) {
                release(link);
            } else {
                link.cut();
            }
        }
    }

    private T await(FutureTask<T> answer) {
        boolean interrupted = false;
        long until = deadline + GRACE_NANOS;
        try {
            while (true) {
                try {
                    return answer.get(until - System.nanoTime(), TimeUnit.NANOSECONDS);
                } catch (InterruptedException e) {
                    interrupted = true;
                } catch (TimeoutException e) {
                    abandon();
                    if (until != deadline + GRACE_NANOS) {
                        // The worker is silent although its connection was closed: it may have had no memory for a
                        // report.
                        throw endpoint.timedOut(unfinished(true));
                    }
                    until += timeoutNanos;
                } catch (ExecutionException e) {
                    throw unwrapped(e);
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** Gives the worker up, unless it has just finished. */
    private void abandon() {
        boolean unsent = stage.compareAndSet(Stage.UNSENT, Stage.ABANDONED);
        if (unsent || stage.compareAndSet(Stage.SENT, Stage.ABANDONED)) {
            PooledConnection link = current;
            if (link != null && !unsent) {
                link.cut();
            }
            throw endpoint.timedOut(unfinished(!unsent));
        }
    }

    /** The data of this request for the message of its failure. */
    private Endpoint.Unfinished unfinished(boolean sent) {
        PooledConnection last = current;
        return new Endpoint.Unfinished(what(), sent, last != null && last.wantsTls(), timeoutNanos);
    }

    private static RuntimeException unwrapped(ExecutionException e) {
        if (e.getCause() instanceof Error error) {
            throw error;
        }
        return e.getCause() instanceof RuntimeException cause ? cause : new IllegalStateException(e.getCause());
    }
}
