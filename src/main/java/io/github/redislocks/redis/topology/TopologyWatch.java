package io.github.redislocks.redis.topology;

import io.github.redislocks.concurrent.Bell;
import io.github.redislocks.concurrent.DutyLoop;
import io.github.redislocks.concurrent.Loggers;
import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.jedis.ConnectionPool;
import io.github.redislocks.redis.jedis.Endpoint;
import io.github.redislocks.redis.jedis.IoThreads;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisClientConfig;

/**
 * A thread that has the observers of a topology, Sentinels or cluster nodes, asked again and again. Worker threads ask,
 * one observer after the other. If a reply takes longer than a moment, the next observer is asked as well, so that a
 * hanging observer delays the others only by that moment. The subclass decides which observer is next, how to ask it,
 * and what the replies mean.
 *
 * @param <A> the type of a reply
 */
public abstract class TopologyWatch<A> implements AutoCloseable {

    /** The pause between two questions to an observer while the master does not answer. */
    protected static final long TROUBLED_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

    private static final long LEAST_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(5);
    private static final long LEAST_TIMEOUT_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** Held during the calls of all methods below that say "with the lock". */
    protected final ReentrantLock lock = new ReentrantLock();

    /** How long to wait for a reply. */
    protected final long questionNanos;

    private final JedisClientConfig config;
    private final long patienceNanos;
    private final IoThreads workers;
    private final DutyLoop loop;
    private final Bell news = new Bell();
    /** The observers; the one that was asked longest ago comes first. */
    private final Map<HostAndPort, Observer> observers = new LinkedHashMap<>(16, 0.75f, true);
    /** Used by the watch's thread only. */
    private long notBeforeNanos = System.nanoTime();

    private volatile boolean closed;

    /**
     * Makes a watch that does not ask yet.
     *
     * @param role the role in the names of the threads
     * @param timeoutNanos how long to wait for a reply
     * @param patienceNanos how long a reply may take before the next observer is asked
     */
    protected TopologyWatch(
            String role,
            Collection<HostAndPort> first,
            JedisClientConfig config,
            long timeoutNanos,
            long patienceNanos,
            Threads threads) {
        this.config = config;
        this.questionNanos = Math.max(LEAST_TIMEOUT_NANOS, timeoutNanos);
        this.patienceNanos = patienceNanos;
        this.workers = new IoThreads(threads, role);
        this.loop = new DutyLoop(threads, role, this::turn);
        for (HostAndPort address : first) {
            add(address);
        }
    }

    /** The observer to ask now, among those that are not being asked; or null. Called with the lock. */
    @Nullable
    protected abstract Observer next(List<Observer> free, long now);

    /** How long none of the observers that are not being asked is due; 0 to go on at once. Called with the lock. */
    protected abstract long pauseNanos(List<Observer> free, long now);

    /** Asks an observer; throws if there is no reply. Called by a worker, without the lock. */
    protected abstract A ask(Observer observer);

    /** Uses a reply; if this throws, there counts as no reply. Called with the lock. */
    protected abstract void heard(Observer from, A answer, long now);

    /** Notes that an observer did not reply. Called with the lock. */
    protected abstract void unheard(Observer from, long now);

    /** What a user can do about an error message of an observer, if known; or null. */
    @Nullable
    protected abstract String remedy(Observer from, String message);

    /** Logs that an observer gives no usable replies. */
    protected abstract void warn(String trouble);

    /** Starts to ask. */
    public final void start() {
        loop.start();
    }

    protected final void wake() {
        loop.wake();
    }

    protected final boolean isClosed() {
        return closed;
    }

    /** All observers. Called with the lock. */
    protected final Collection<Observer> observers() {
        return observers.values();
    }

    /** Waits until a condition is true, evaluated after each reply, or until a deadline. An interrupt is kept. */
    protected final void await(long deadline, BooleanSupplier condition) {
        news.await(deadline, condition);
    }

    /** Whether every observer has failed to reply, or the watch is closed. */
    public final boolean isHopeless() {
        lock.lock();
        try {
            for (Observer observer : observers.values()) {
                if (observer.trouble() == null) {
                    return closed;
                }
            }
            return true;
        } finally {
            lock.unlock();
        }
    }

    /**
     * Why nothing is known. The cause is a refusal if every observer has refused.
     *
     * @param closing the message if the watch is closed
     * @param silence the text for an observer that has not failed
     */
    protected final RedisException.Unanswered troubles(
            String closing, String unknown, Function<Observer, String> silence) {
        lock.lock();
        try {
            if (closed) {
                return new RedisException.Unanswered(closing, false, null);
            }
            String each = observers.values().stream()
                    .map(observer -> observer.trouble() == null ? silence.apply(observer) : observer.trouble())
                    .collect(Collectors.joining("; "));
            return new RedisException.Unanswered(unknown + ": " + each, false, refusal());
        } finally {
            lock.unlock();
        }
    }

    /**
     * The refusal of the first observer, if every observer has refused for a reason that does not pass by itself; or
     * null.
     */
    private RedisException.@Nullable Refused refusal() {
        RedisException.Refused first = null;
        for (Observer observer : observers.values()) {
            if (!(observer.thrown() instanceof RedisException.Refused refused) || refused.passing()) {
                return null;
            }
            first = first == null ? refused : first;
        }
        return first;
    }

    /** Keeps or adds exactly these observers. Called with the lock. */
    protected final void keep(Set<HostAndPort> wanted) {
        for (HostAndPort known : List.copyOf(observers.keySet())) {
            if (!wanted.contains(known)) {
                Observer gone = observers.remove(known);
                if (gone != null) {
                    gone.connection.close();
                }
            }
        }
        for (HostAndPort address : wanted) {
            if (!observers.containsKey(address)) {
                add(address);
            }
        }
    }

    private void add(HostAndPort address) {
        Endpoint endpoint = new Endpoint(address.toString(), workers);
        observers.put(address, new Observer(address, endpoint, new ConnectionPool(address, config, 1)));
    }

    private void turn() {
        breathe();
        Observer observer = begin();
        if (observer != null) {
            have(observer);
        }
        long pause = pause();
        if (pause > 0 && !closed) {
            LockSupport.parkNanos(this, pause);
        }
    }

    /** Limits the rate of questions, however many calls wait for replies. */
    private void breathe() {
        long now = System.nanoTime();
        while (now - notBeforeNanos < 0) {
            LockSupport.parkNanos(this, notBeforeNanos - now);
            now = System.nanoTime();
        }
        notBeforeNanos = now + LEAST_PAUSE_NANOS;
    }

    private @Nullable Observer begin() {
        lock.lock();
        try {
            Observer next = next(free(), System.nanoTime());
            if (next != null) {
                next.begin();
            }
            return next;
        } finally {
            lock.unlock();
        }
    }

    private long pause() {
        lock.lock();
        try {
            return pauseNanos(free(), System.nanoTime());
        } finally {
            lock.unlock();
        }
    }

    private List<Observer> free() {
        List<Observer> free = new ArrayList<>(observers.size());
        for (Observer observer : observers.values()) {
            if (!observer.isAsked()) {
                free.add(observer);
            }
        }
        return free;
    }

    /** Has a worker ask, and waits a moment for the reply; a later reply is used as well. */
    private void have(Observer observer) {
        boolean begun = false;
        try {
            workers.execute(() -> question(observer));
            begun = true;
        } catch (RejectedExecutionException noWorker) {
            // The watch is closing, or no thread could be started.
        } finally {
            if (!begun) {
                try {
                    failed(observer, null);
                } finally {
                    observer.end();
                }
            }
        }
        long deadline = System.nanoTime() + patienceNanos;
        while (observer.isAsked() && !closed && deadline - System.nanoTime() > 0) {
            LockSupport.parkNanos(this, deadline - System.nanoTime());
        }
    }

    /** Asks one observer and uses the reply, in a worker's thread. */
    private void question(Observer observer) {
        RuntimeException thrown = null;
        boolean heard = false;
        try {
            answered(observer, ask(observer));
            heard = true;
        } catch (RuntimeException e) {
            thrown = e;
        } catch (Throwable e) {
            Loggers.INTERNAL.error("A question to {} met an error", observer.address, e);
        } finally {
            try {
                if (!heard) {
                    failed(observer, thrown);
                }
            } finally {
                observer.end();
                loop.wake();
            }
        }
    }

    private void answered(Observer from, A answer) {
        lock.lock();
        try {
            long now = System.nanoTime();
            from.answered(now);
            toTheEnd(from);
            heard(from, answer, now);
            news.ring();
        } finally {
            lock.unlock();
        }
    }

    private void failed(Observer from, @Nullable RuntimeException thrown) {
        String trouble = thrown == null ? from.address + " could not be asked" : String.valueOf(thrown.getMessage());
        String remedy = remedy(from, trouble);
        lock.lock();
        try {
            long now = System.nanoTime();
            String told = remedy == null ? trouble : remedy;
            from.failed(told, remedy == null ? thrown : new RedisException.Refused(remedy, thrown), now);
            boolean known = toTheEnd(from);
            unheard(from, now);
            news.ring();
            if (known && !closed && from.isToBeTold(now)) {
                warn(told);
            }
        } finally {
            lock.unlock();
        }
    }

    /** Moves an observer to the end of the order; false if it is not one of the observers any more. */
    private boolean toTheEnd(Observer asked) {
        // get() on a map in access order moves the entry and allocates nothing, so it cannot fail for want of memory.
        Observer known = observers.containsKey(asked.address) ? observers.get(asked.address) : null;
        return known == asked;
    }

    @Override
    public final void close() {
        List<Observer> all;
        lock.lock();
        try {
            closed = true;
            news.ring();
            all = List.copyOf(observers.values());
        } finally {
            lock.unlock();
        }
        for (Observer observer : all) {
            observer.connection.close();
        }
        loop.close();
        workers.close();
    }
}
