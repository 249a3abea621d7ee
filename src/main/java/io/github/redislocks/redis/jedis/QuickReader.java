package io.github.redislocks.redis.jedis;

import io.github.redislocks.concurrent.Loggers;
import io.github.redislocks.concurrent.Threads;
import java.io.IOException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * One thread that reads the answers of several servers, as long as there are {@link QuickConnection quick connections}:
 * callers write to each server themselves, and no thread has to wake up for each.
 */
public final class QuickReader {

    /** How late a time may be noticed that nothing has come in. */
    private static final long TICK_MILLIS = 10;

    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private final Threads threads;
    private final LongSupplier nanoTime;
    private final CopyOnWriteArrayList<QuickConnection> connections = new CopyOnWriteArrayList<>();
    private final ReentrantLock changing = new ReentrantLock();
    /** Of the thread that runs. */
    private @Nullable Selector selector;

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
            threads.make("nodes", () -> run(opened)).start();
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
                mine.select(QuickReader::read, TICK_MILLIS);
            } catch (Throwable e) {
                pauseAfter(e);
            }
            // Nobody relies on the flag of this thread, with which a selector would not wait.
            Thread.interrupted();
            try {
                ended = lookAtTheTime() && end(mine);
            } catch (Throwable e) {
                pauseAfter(e);
            }
        }
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
        Thread.interrupted();
        LockSupport.parkNanos(PAUSE_NANOS);
    }

    /** Whether no connection is left. */
    private boolean lookAtTheTime() {
        long now = System.nanoTime();
        for (QuickConnection connection : connections) {
            if (!connection.isAlive(now)) {
                connections.remove(connection);
            }
        }
        return connections.isEmpty();
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
