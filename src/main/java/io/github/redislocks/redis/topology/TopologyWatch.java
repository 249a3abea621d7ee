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
 * The thread that has the observers of a topology asked, again and again. It asks none itself: workers do, one observer
 * after the other. While an answer is long in coming the next is asked as well, so that one that hangs delays the
 * others by that moment only. A kind of topology says whom to ask next, how, and what the answers mean.
 *
 * @param <A> what an observer answers
 */
public abstract class TopologyWatch<A> implements AutoCloseable {

    /** Between two questions to an observer while the master does not answer. */
    protected static final long TROUBLED_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

    private static final long LEAST_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(5);
    private static final long LEAST_TIMEOUT_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** Held while any of the methods below is called that say so. */
    protected final ReentrantLock lock = new ReentrantLock();

    /** How long an answer is waited for. */
    protected final long questionNanos;

    private final JedisClientConfig config;
    private final long patienceNanos;
    private final IoThreads workers;
    private final DutyLoop loop;
    private final Bell news = new Bell();
    /** Who was asked longest ago comes first. */
    private final Map<HostAndPort, Observer> observers = new LinkedHashMap<>(16, 0.75f, true);
    /** Of the thread. */
    private long notBeforeNanos = System.nanoTime();

    private volatile boolean closed;

    /**
     * One that does not ask yet.
     *
     * @param role of the threads, for their names
     * @param timeoutNanos how long an answer is worth waiting for
     * @param patienceNanos how long one may take before the next observer is asked
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

    /** Whom to ask now, of those that are not being asked, or null. With the lock. */
    @Nullable
    protected abstract Observer next(List<Observer> free, long now);

    /** How long nobody has to be asked, of those that are not being asked; 0 to go on at once. With the lock. */
    protected abstract long pauseNanos(List<Observer> free, long now);

    /** Asks; throws if there is no answer. By a worker, without the lock. */
    protected abstract A ask(Observer observer);

    /** Weighs an answer; if it throws, that counts as none. With the lock. */
    protected abstract void heard(Observer from, A answer, long now);

    /** Goes on without the answer of one. With the lock. */
    protected abstract void unheard(Observer from, long now);

    /** What a user can do about a message of one, if that is known. */
    @Nullable
    protected abstract String remedy(Observer from, String message);

    /** Logs that one does not help. */
    protected abstract void warn(String trouble);

    /** Begins to ask. */
    public final void start() {
        loop.start();
    }

    protected final void wake() {
        loop.wake();
    }

    protected final boolean isClosed() {
        return closed;
    }

    /** With the lock. */
    protected final Collection<Observer> observers() {
        return observers.values();
    }

    /** Waits until something is so, at most until a time; looks whenever there is an answer. An interrupt is kept. */
    protected final void await(long deadline, BooleanSupplier condition) {
        news.await(deadline, condition);
    }

    /** Whether every observer has failed to answer. */
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
     * Why nothing is known. The cause is a refusal if refusals are all that the observers answer.
     *
     * @param closing what to say once it is closed
     * @param silence what to say of one that has not failed
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
     * The refusal of the first, if every observer has refused to say anything, each for a reason that does not pass.
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

    /** Goes on with these observers only. With the lock. */
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

    /** Bounds the questions, however many calls want news. */
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

    /** Has a worker ask, and waits a moment for the answer; what comes later is heard as well. */
    private void have(Observer observer) {
        boolean begun = false;
        try {
            workers.execute(() -> question(observer));
            begun = true;
        } catch (RejectedExecutionException noWorker) {
            // It is closing, or no thread could be started.
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

    /** A worker's part. */
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

    /** Whether it is still one of them. */
    private boolean toTheEnd(Observer asked) {
        // Of a map in the order of access: makes nothing, so nothing is lost without memory.
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
