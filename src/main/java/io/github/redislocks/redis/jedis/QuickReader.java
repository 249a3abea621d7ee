package io.github.redislocks.redis.jedis;

import io.github.redislocks.concurrent.DutyLoop;
import io.github.redislocks.concurrent.Loggers;
import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.concurrent.VirtualThreads;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Reads the answers on the {@link QuickConnection quick connections} to several servers. Callers write to each server
 * by themselves, and one thread reads all answers, so no server needs a thread that wakes up.
 *
 * <p>One thread reads at a time. A caller that waits alone reads by itself, so that no other thread has to wake up. The
 * reader has a thread, which reads in three cases: while several callers wait, so that their next calls are written
 * together; while no caller has waited for some time; and for callers on virtual threads, which a selector would pin to
 * their carriers.
 */
public final class QuickReader {

    /**
     * The length of a tick: the most by which the reader notices an overdue answer too late, and the time after which
     * the reader's thread reads if no caller does.
     */
    private static final long TICK_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

    /** How long a caller reads before it checks whether another thread has completed its call. */
    private static final long GLANCE_NANOS = TimeUnit.MILLISECONDS.toNanos(2);

    /** The pause of a caller after reading has failed. */
    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private final Threads threads;
    private final LongSupplier nanoTime;
    private final CopyOnWriteArrayList<QuickConnection> connections = new CopyOnWriteArrayList<>();
    private final ReentrantLock changing = new ReentrantLock();
    /** The selector of all connections; null if there is no connection. Changed only while both locks are held. */
    private volatile @Nullable Selector selector;

    /** The reader's thread; null if there is no connection. */
    private volatile @Nullable DutyLoop loop;
    /** Held by the thread that reads. */
    private final ReentrantLock reading = new ReentrantLock();
    /** The number of callers that wait. */
    private final AtomicInteger waiting = new AtomicInteger();
    /** Whether a caller has waited during this tick. */
    private volatile boolean callerWaited;
    /** Whether a caller that could not read by itself has waited during this tick. */
    private volatile boolean wanted;
    /** When the tick started. This field and the next are used by the reader's thread only. */
    private long tickNanos;
    /**
     * Whether callers waited during the last tick and all of them could read by themselves, so that the reader's thread
     * had no work.
     */
    private boolean spared;

    /** Makes a reader. Its thread starts with the first connection. */
    public QuickReader(Threads threads) {
        this(threads, System::nanoTime);
    }

    /** Makes a reader with a clock for the idle times of connections. */
    public QuickReader(Threads threads, LongSupplier nanoTime) {
        this.threads = threads;
        this.nanoTime = nanoTime;
    }

    Threads threads() {
        return threads;
    }

    LongSupplier nanoTime() {
        return nanoTime;
    }

    /**
     * Starts to read a connection, until it is closed.
     *
     * @throws IOException if the connection cannot be read; an {@link OutOfMemoryError} is thrown if no thread can be
     *     started
     */
    void add(QuickConnection connection) throws IOException {
        changing.lock();
        try {
            Selector open = selector == null ? Selector.open() : selector;
            selector = open;
            if (loop == null) {
                DutyLoop made = new DutyLoop(threads, "nodes", this::readUnlessSpared);
                made.start();
                loop = made;
            }
            connection.register(open);
            connections.add(connection);
            open.wakeup();
        } finally {
            changing.unlock();
        }
    }

    /** Reads on the reader's thread, unless callers read by themselves. */
    private void readUnlessSpared() {
        // Clear the interrupt flag: with the flag set, a selector does not wait. Nobody relies on the flag of this
        // thread.
        Thread.interrupted();
        if (isSpared() || !reading.tryLock()) {
            LockSupport.parkNanos(this, TICK_NANOS);
            return;
        }
        try {
            read(TICK_NANOS);
            closeIfIdle();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } finally {
            reading.unlock();
        }
    }

    /** Whether the reader's thread need not read: callers read by themselves, or nobody waits. */
    private boolean isSpared() {
        long now = System.nanoTime();
        if (now - tickNanos >= TICK_NANOS) {
            tickNanos = now;
            spared = callerWaited && !wanted;
            callerWaited = false;
            wanted = false;
        }
        return spared && !wanted && waiting.get() == 0;
    }

    /**
     * Called by a thread that waits for answers. The thread reads, or waits until it is unparked, for {@code nanos} at
     * most. May return earlier.
     */
    public void pause(long nanos) {
        callerWaited = true;
        boolean alone = waiting.getAndIncrement() == 0;
        try {
            boolean mayRead = alone && !VirtualThreads.isVirtual(Thread.currentThread());
            if (mayRead && selector != null && reading.tryLock()) {
                try {
                    // Read only for a short time, since another thread may complete the caller's call meanwhile.
                    read(Math.min(nanos, GLANCE_NANOS));
                } finally {
                    reading.unlock();
                }
            } else {
                if (!mayRead) {
                    wanted = true;
                }
                wakeThread();
                LockSupport.parkNanos(this, nanos);
            }
        } catch (IOException | RuntimeException e) {
            Loggers.INTERNAL.error("A caller that read the answers of masters met an error", e);
            LockSupport.parkNanos(this, Math.min(nanos, PAUSE_NANOS));
        } finally {
            if (waiting.decrementAndGet() > 0) {
                wakeThread();
            }
        }
    }

    /** Wakes the reader's thread, unless some thread is reading. */
    private void wakeThread() {
        DutyLoop running = loop;
        if (running != null && !reading.isLocked()) {
            running.wake();
        }
    }

    /** Waits for the first answers, for {@code nanos} at most, and reads them. Called with the lock. */
    private void read(long nanos) throws IOException {
        Selector open = selector;
        if (open != null) {
            // Round up: 0 would mean no time limit.
            open.select(QuickReader::read, TimeUnit.NANOSECONDS.toMillis(nanos - 1) + 1);
            dropOverdue();
        }
    }

    private static void read(SelectionKey key) {
        if (key.attachment() instanceof QuickConnection connection) {
            connection.read();
        }
    }

    private void dropOverdue() {
        long now = System.nanoTime();
        for (QuickConnection connection : connections) {
            if (!connection.isAlive(now)) {
                connections.remove(connection);
            }
        }
    }

    /** Ends the reader's thread if no connection is left. Called by that thread, with the lock. */
    private void closeIfIdle() throws IOException {
        if (!connections.isEmpty()) {
            return;
        }
        changing.lock();
        try {
            Selector open = selector;
            DutyLoop running = loop;
            if (connections.isEmpty() && open != null && running != null) {
                selector = null;
                loop = null;
                running.close();
                open.close();
            }
        } finally {
            changing.unlock();
        }
    }
}
