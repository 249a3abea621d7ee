package io.github.redislocks.concurrent;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Logs on a thread of its own what is found by threads that must not wait, such as those that renew: an appender that
 * writes to a full pipe, or to a host that is away, may take as long as it likes.
 */
public final class LateLog {

    /** So many entries wait at most: a logger that hangs must not fill the memory. */
    private static final int MOST = 100_000;

    private final int most;
    private final TellingThread thread;
    /** How many entries have not begun. */
    private final AtomicInteger waiting = new AtomicInteger();

    private final AtomicLong leftOut = new AtomicLong();

    public LateLog(Threads threads) {
        this(threads, MOST);
    }

    LateLog(Threads threads, int most) {
        this.most = most;
        this.thread = new TellingThread(threads.factory("log"));
    }

    /** Has an entry logged after those before it. Never throws: without memory it is left out. */
    public void add(Runnable entry) {
        try {
            addOrThrow(entry);
        } catch (Throwable notEvenLogged) {
            // As in Log.
        }
    }

    /** As above; throws if there was no memory for it, and may be said again then. */
    public void addOrThrow(Runnable entry) {
        if (waiting.get() >= most) {
            leftOut.incrementAndGet();
            return;
        }
        thread.queue(new Entry(entry));
        waiting.incrementAndGet();
        try {
            thread.start();
        } catch (Throwable notStarted) {
            // It waits: the next that starts the thread has it logged.
        }
    }

    private final class Entry implements Runnable {

        private final Runnable entry;

        Entry(Runnable entry) {
            this.entry = entry;
        }

        @Override
        public void run() {
            waiting.decrementAndGet();
            try {
                entry.run();
                long missing = leftOut.getAndSet(0);
                if (missing > 0) {
                    Loggers.LOSS.warn("The logger took too long: {} entries were left out", missing);
                }
            } catch (Throwable notEvenLogged) {
                // As above.
            }
        }
    }

    /** Starts the thread if something is to be logged; to be said again if the system had no thread to give. */
    public void start() {
        thread.start();
    }

    /** Lets what was added so far be logged, for a time. Says nothing if that is too short: nobody could read it. */
    public void await(Duration limit) {
        boolean unused = thread.isTold(limit);
    }
}
