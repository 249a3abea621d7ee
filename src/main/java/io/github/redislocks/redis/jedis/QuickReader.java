package io.github.redislocks.redis.jedis;

import io.github.redislocks.concurrent.Loggers;
import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.concurrent.VirtualThreads;
import java.io.IOException;
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
 * Reads the answers of several servers, as long as there are {@link QuickConnection quick connections}: callers write
 * to each server themselves, and no thread has to wake up for each.
 *
 * <p>One thread reads at a time. A caller that waits alone reads by itself, so that no other thread has to wake up. A
 * thread of the reader reads where several wait, so that what they ask meanwhile is written together; where nobody has
 * waited for some time; and for callers on virtual threads, which a selector would pin to their carriers.
 */
public final class QuickReader {

    /** How late a time may be noticed that nothing has come in, and how soon a thread reads if no caller does. */
    private static final long TICK_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

    /** For how long a caller reads before it looks whether another thread has told it what it waits for. */
    private static final long GLANCE_NANOS = TimeUnit.MILLISECONDS.toNanos(2);

    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private final Threads threads;
    private final LongSupplier nanoTime;
    private final CopyOnWriteArrayList<QuickConnection> connections = new CopyOnWriteArrayList<>();
    private final ReentrantLock changing = new ReentrantLock();
    /** Null if there is no connection. */
    private volatile @Nullable Selector selector;

    /** The reader's own. */
    private volatile @Nullable Thread thread;
    /** Held by the thread that reads. */
    private final ReentrantLock reading = new ReentrantLock();
    /** How many callers wait. */
    private final AtomicInteger waiting = new AtomicInteger();
    /** Whether a caller has waited in this tick. */
    private volatile boolean callerWaited;
    /** Whether one has waited in this tick that could not read by itself. */
    private volatile boolean wanted;
    /** When the tick began; of the reader's own thread, as what follows. */
    private long tickNanos;
    /** Whether all callers read by themselves in the tick before. */
    private boolean spared;

    /** Starts no thread yet. */
    public QuickReader(Threads threads) {
        this(threads, System::nanoTime);
    }

    /** By a clock of which only how long connections have been idle is told. */
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
     * Reads from a connection from now on, until it is closed.
     *
     * @throws IOException if that is not possible; {@link OutOfMemoryError} if there is no thread
     */
    void add(QuickConnection connection) throws IOException {
        changing.lock();
        try {
            Selector running = selector == null ? start() : selector;
            selector = running;
            connections.add(connection);
            try {
                connection.register(running);
            } catch (Throwable e) {
                connections.remove(connection);
                throw e;
            }
            running.wakeup();
        } finally {
            changing.unlock();
        }
    }

    private Selector start() throws IOException {
        Selector opened = Selector.open();
        try {
            Thread made = threads.make("nodes", () -> run(opened));
            thread = made;
            made.start();
        } catch (Throwable e) {
            opened.close();
            throw e;
        }
        return opened;
    }

    private void run(Selector mine) {
        boolean ended = false;
        while (!ended) {
            try {
                ended = readInTurn(mine);
            } catch (Throwable e) {
                pauseAfter(e);
            }
            // Nobody relies on the flag of this thread, with which a selector would not wait.
            Thread.interrupted();
        }
    }

    /** Reads unless callers do; whether all has ended. */
    private boolean readInTurn(Selector mine) throws IOException {
        if (isSpared() || !reading.tryLock()) {
            LockSupport.parkNanos(this, TICK_NANOS);
            return false;
        }
        try {
            read(mine, TICK_NANOS);
            return connections.isEmpty() && end(mine);
        } finally {
            reading.unlock();
        }
    }

    /** Whether callers read by themselves. */
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
     * Has a caller that waits for answers read, or wait until it is unparked; at most for a time. May return before.
     */
    public void pause(long nanos) {
        callerWaited = true;
        boolean alone = waiting.getAndIncrement() == 0 && !VirtualThreads.isVirtual(Thread.currentThread());
        try {
            if (alone && selector != null && reading.tryLock()) {
                try {
                    Selector open = selector;
                    if (open != null) {
                        // Not for longer: another thread, too, may tell it what it waits for.
                        read(open, Math.min(nanos, GLANCE_NANOS));
                    }
                } finally {
                    reading.unlock();
                }
            } else {
                if (!alone) {
                    wanted = true;
                }
                wakeThread();
                LockSupport.parkNanos(this, nanos);
            }
        } catch (Throwable e) {
            pauseAfter(e);
        } finally {
            if (waiting.decrementAndGet() > 0) {
                wakeThread();
            }
        }
    }

    /** Has the reader's thread read, if nobody does. */
    private void wakeThread() {
        if (!reading.isLocked()) {
            LockSupport.unpark(thread);
        }
    }

    /** Reads what comes first within a time; by the one thread that reads. */
    private void read(Selector open, long nanos) throws IOException {
        // Rounded up: 0 would mean without end.
        open.select(QuickReader::read, TimeUnit.NANOSECONDS.toMillis(nanos - 1) + 1);
        lookAtTheTime();
    }

    private static void read(SelectionKey key) {
        if (key.attachment() instanceof QuickConnection connection) {
            connection.read();
        }
    }

    private static void pauseAfter(Throwable e) {
        try {
            Loggers.INTERNAL.error("The thread that reads what masters answer met an error and goes on", e);
        } catch (Throwable notEvenLogged) {
            // Nothing can be done but to go on.
        }
        LockSupport.parkNanos(PAUSE_NANOS);
    }

    private void lookAtTheTime() {
        long now = System.nanoTime();
        for (QuickConnection connection : connections) {
            if (!connection.isAlive(now)) {
                connections.remove(connection);
            }
        }
    }

    private boolean end(Selector mine) {
        changing.lock();
        try {
            if (!connections.isEmpty()) {
                return false;
            }
            selector = null;
        } finally {
            changing.unlock();
        }
        try {
            mine.close();
        } catch (Throwable e) {
            // From here on another thread reads.
            pauseAfter(e);
        }
        return true;
    }
}
