package io.github.redislocks.redis.topology;

import io.github.redislocks.concurrent.Bell;
import io.github.redislocks.concurrent.DutyLoop;
import io.github.redislocks.concurrent.IoThreads;
import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.redis.Address;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Servers;
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

/**
 * A thread that makes workers ask the observers of a topology again and again, one observer after the other. An
 * observer is a Sentinel or a cluster node. If a reply takes longer than a short time, the next observer is asked as
 * well, so that an observer that hangs delays the others only by that time. The subclass decides which observer is
 * next, how to ask it, and what the replies mean.
 *
 * @param <A> the type of a reply
 */
public abstract class TopologyWatch<A> implements AutoCloseable {

    /** The pause between two questions to the same observer while a master does not answer. */
    protected static final long TROUBLED_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

    private static final long LEAST_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(5);
    private static final long LEAST_TIMEOUT_NANOS = TimeUnit.SECONDS.toNanos(1);
    /**
     * After the first reply, the watch waits for the other observers before it makes its first choice: for a command
     * timeout divided by this.
     */
    private static final int PATIENCE = 4;

    /** Held during the calls of all methods whose comment says "with the lock". */
    protected final ReentrantLock lock = new ReentrantLock();

    /** How long to wait for a reply. */
    private final long questionNanos;

    private final Servers servers;
    private final long patienceNanos;
    private final long firstChoiceNanos;
    private final IoThreads workers;
    private final DutyLoop loop;
    private final Bell news = new Bell();
    /** The observers in the order of their last questions, the oldest first. */
    private final Map<Address, Observer<A>> observers = new LinkedHashMap<>(16, 0.75f, true);
    /** When the first choice may be made without further replies; 0 before the first reply. Guarded by the lock. */
    private long chooseAtNanos;
    /** When the next question may start, at the earliest. Used by the watch's thread only. */
    private long notBeforeNanos = System.nanoTime();

    private volatile boolean closed;

    /**
     * Makes a watch. It asks nobody before {@link #start}.
     *
     * @param role the role in the names of the threads
     * @param timeoutNanos how long to wait for a reply
     * @param patienceNanos how long a reply may take before the next observer is asked as well
     */
    protected TopologyWatch(
            String role,
            Collection<Address> first,
            Servers servers,
            long timeoutNanos,
            long patienceNanos,
            Threads threads) {
        this.servers = servers;
        this.questionNanos = Math.max(LEAST_TIMEOUT_NANOS, timeoutNanos);
        this.patienceNanos = patienceNanos;
        this.firstChoiceNanos = timeoutNanos / PATIENCE;
        this.workers = new IoThreads(threads, role);
        this.loop = new DutyLoop(threads, role, this::askNext);
        for (Address address : first) {
            add(address);
        }
    }

    /**
     * Chooses the observer to ask now, or null. Called with the lock.
     *
     * @param free the observers that no question is under way to
     */
    @Nullable
    protected abstract Observer<A> next(List<Observer<A>> free, long now);

    /** How long to wait until one of the free observers is due; 0 if one is due. Called with the lock. */
    protected abstract long pauseNanos(List<Observer<A>> free, long now);

    /** Asks an observer; throws if there is no reply. Called by a worker, without the lock. */
    protected abstract A ask(Observer<A> observer);

    /**
     * Uses a reply. If this throws, the reply counts as missing. Called with the lock.
     *
     * @return null if the reply agrees with the topology that the client uses, otherwise a warning that it does not;
     *     the watch logs the warning if the replies differ for some time
     */
    @Nullable
    protected abstract String use(Observer<A> from, A answer, long now);

    /** Notes that an observer did not reply. Called with the lock. */
    protected abstract void noReply(Observer<A> from, long now);

    /** The advice for the user on an error message of an observer, or null. */
    @Nullable
    protected abstract String remedy(Observer<A> from, String message);

    /** Logs that an observer gives no usable reply. */
    protected abstract void warn(String trouble);

    /** Sends commands to an observer together, and returns the replies. */
    protected final List<Object> question(Observer<A> observer, String what, List<List<String>> commands) {
        return observer.server.ask(what, commands, questionNanos);
    }

    /** Starts to ask the observers. */
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
    protected final Collection<Observer<A>> observers() {
        return observers.values();
    }

    /** Whether the time to wait for further replies before the first choice is over. Called with the lock. */
    protected final boolean mayChoose(long now) {
        return (chooseAtNanos != 0 && now - chooseAtNanos >= 0)
                || observers.values().stream().noneMatch(each -> each.answer() == null && each.trouble() == null);
    }

    /**
     * Waits until a condition is true, until {@code deadline} at most. The condition is evaluated after each reply. An
     * interrupt does not end the wait; its flag is set again.
     */
    protected final void await(long deadline, BooleanSupplier condition) {
        news.await(deadline, condition);
    }

    /** Whether every observer has failed to reply, or the watch is closed. */
    public final boolean isHopeless() {
        lock.lock();
        try {
            return closed || observers.values().stream().allMatch(observer -> observer.trouble() != null);
        } finally {
            lock.unlock();
        }
    }

    /**
     * Makes the exception for a call that finds no server. The message lists the last failure of each observer. The
     * cause is a refusal if every observer has refused.
     *
     * @param closing the message if the watch is closed
     * @param silence makes the text for an observer that has neither failed nor given a usable reply
     */
    protected final RedisException.Unanswered troubles(
            String closing, String unknown, Function<Observer<A>, String> silence) {
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

    /** If every observer has refused for a permanent reason, the refusal of the first observer; otherwise null. */
    private RedisException.@Nullable Refused refusal() {
        RedisException.Refused first = null;
        for (Observer<A> observer : observers.values()) {
            if (!(observer.thrown() instanceof RedisException.Refused refused) || refused.passing()) {
                return null;
            }
            first = first == null ? refused : first;
        }
        return first;
    }

    /** Makes these the observers: adds new ones and removes the others. Called with the lock. */
    protected final void keep(Set<Address> wanted) {
        observers.values().removeIf(known -> {
            boolean gone = !wanted.contains(known.address);
            if (gone) {
                known.server.close();
            }
            return gone;
        });
        wanted.stream().filter(address -> !observers.containsKey(address)).forEach(this::add);
    }

    private void add(Address address) {
        observers.put(address, new Observer<>(address, servers.at(address)));
    }

    private void askNext() {
        limitRate();
        Observer<A> observer = takeNext();
        if (observer != null) {
            askAndWait(observer);
        }
        long pause = pause();
        if (pause > 0 && !closed) {
            LockSupport.parkNanos(this, pause);
        }
    }

    /** Waits so that the rate of questions is limited, however many calls wait for replies. */
    private void limitRate() {
        long now = System.nanoTime();
        while (now - notBeforeNanos < 0) {
            LockSupport.parkNanos(this, notBeforeNanos - now);
            now = System.nanoTime();
        }
        notBeforeNanos = now + LEAST_PAUSE_NANOS;
    }

    private @Nullable Observer<A> takeNext() {
        lock.lock();
        try {
            Observer<A> next = next(free(), System.nanoTime());
            if (next != null) {
                next.startQuestion();
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

    private List<Observer<A>> free() {
        return observers.values().stream()
                .filter(observer -> !observer.isAsked())
                .toList();
    }

    /** Makes a worker ask an observer, and waits a short time for the reply. A later reply is used as well. */
    private void askAndWait(Observer<A> observer) {
        boolean started = false;
        try {
            workers.execute(() -> askNow(observer));
            started = true;
        } catch (RejectedExecutionException e) {
            // The watch is closing, or no thread could be started.
            failed(observer, null);
        } finally {
            if (!started) {
                observer.endQuestion();
            }
        }
        long deadline = System.nanoTime() + patienceNanos;
        while (observer.isAsked() && !closed && deadline - System.nanoTime() > 0) {
            LockSupport.parkNanos(this, deadline - System.nanoTime());
        }
    }

    /** Asks an observer and uses the reply. Runs on a worker's thread. */
    private void askNow(Observer<A> observer) {
        try {
            answered(observer, ask(observer));
        } catch (RuntimeException e) {
            failed(observer, e);
        } finally {
            observer.endQuestion();
            loop.wake();
        }
    }

    private void answered(Observer<A> from, A answer) {
        lock.lock();
        try {
            long now = System.nanoTime();
            from.answered(answer, now);
            chooseAtNanos = chooseAtNanos == 0 ? now + firstChoiceNanos : chooseAtNanos;
            moveToEnd(from);
            String dissent = use(from, answer, now);
            if (from.isDissent(dissent != null, now) && dissent != null) {
                warn(dissent);
            }
            news.ring();
        } finally {
            lock.unlock();
        }
    }

    private void failed(Observer<A> from, @Nullable RuntimeException thrown) {
        String trouble = thrown == null ? from.address + " could not be asked" : String.valueOf(thrown.getMessage());
        String remedy = remedy(from, trouble);
        lock.lock();
        try {
            long now = System.nanoTime();
            String logged = remedy == null ? trouble : remedy;
            from.failed(logged, remedy == null ? thrown : new RedisException.Refused(remedy, thrown), now);
            boolean known = moveToEnd(from);
            noReply(from, now);
            news.ring();
            if (known && !closed && from.isWarningDue(now)) {
                warn(logged);
            }
        } finally {
            lock.unlock();
        }
    }

    /** Moves an observer to the end of the order. Returns false if it was removed from the observers. */
    private boolean moveToEnd(Observer<A> asked) {
        // The map is in access order, so get() moves the entry to the end.
        return observers.get(asked.address) == asked;
    }

    @Override
    public final void close() {
        lock.lock();
        try {
            closed = true;
            news.ring();
            observers.values().forEach(observer -> observer.server.close());
        } finally {
            lock.unlock();
        }
        loop.close();
        workers.close();
    }
}
