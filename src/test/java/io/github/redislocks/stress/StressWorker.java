package io.github.redislocks.stress;

import static io.github.redislocks.FixedLease.fixed;

import io.github.redislocks.LockLost;
import io.github.redislocks.LockLostException;
import io.github.redislocks.LockOptions;
import io.github.redislocks.LockUnavailableException;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisReentrantLock;
import io.github.redislocks.redis.Script;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.Condition;
import redis.clients.jedis.Jedis;

/**
 * A process with two clients, whose threads do whatever one may do with a lock, at random. It says what must not be, by
 * lines that {@link StressTest} reads:
 *
 * <pre>
 * INSIDE name mine theirs  somebody else was inside, with the token theirs
 * OLD name mine theirs     a token was not greater than one before
 * LOST reason name token uri  a hold of the client of that way was lost
 * ORPHAN name token        the hold before was lost, and perhaps nobody's
 * CLOSED                   a client was closed
 * SLOW name ms             an acquisition took longer than any fault
 * STUCK thread             a thread did not end
 * ERROR text               whatever else was thrown
 * </pre>
 */
final class StressWorker {

    private static final int THREADS = 3;
    private static final List<String> NAMES = List.of("plain-0", "plain-1", "fair-0");
    private static final long SLOW_NANOS = TimeUnit.SECONDS.toNanos(20);
    private static final Script ENTER = Script.load(StressWorker.class, "enter");
    private static final Script EXIT = Script.load(StressWorker.class, "exit");

    private static volatile boolean stopped;
    private static final AtomicLong acquisitions = new AtomicLong();
    private static final AtomicLong unavailable = new AtomicLong();

    private final String uri;
    private final String books;
    private final Random seeds;
    private final List<Thread> threads = new ArrayList<>();
    private volatile RedisLocks locks;

    private StressWorker(String uri, String books, long seed) {
        this.uri = uri;
        this.books = books;
        this.seeds = new Random(seed);
        this.locks = connected();
    }

    /**
     * Arguments: a server for the books, which nobody harms, a seed, how often a client is closed in s or 0, then the
     * way of each client to the server of the locks.
     */
    public static void main(String[] args) throws InterruptedException, IOException {
        Random random = new Random(Long.parseLong(args[1]));
        long closeSeconds = Long.parseLong(args[2]);
        List<StressWorker> clients = new ArrayList<>();
        for (int i = 3; i < args.length; i++) {
            StressWorker client = new StressWorker(args[i], args[0], random.nextLong());
            clients.add(client);
            client.start();
        }
        System.out.println("started");
        Thread meddler = new Thread(() -> meddle(clients, random, closeSeconds));
        meddler.start();
        // Until the test says a line, or has gone.
        int unused = System.in.read();
        stopped = true;
        meddler.join();
        for (StressWorker client : clients) {
            client.end();
        }
        System.out.println("done " + acquisitions + " " + unavailable);
    }

    private RedisLocks connected() {
        while (true) {
            try {
                return RedisLocks.builder()
                        .uri(uri)
                        .commandTimeout(Duration.ofMillis(1_500))
                        .onLockLost(this::told)
                        .build();
            } catch (LockUnavailableException e) {
                unavailable.incrementAndGet();
            }
        }
    }

    private void told(LockLost loss) {
        System.out.println("LOST " + loss.reason() + " " + loss.lockName() + " " + loss.token() + " " + uri);
    }

    private void start() {
        for (int i = 0; i < THREADS; i++) {
            long seed = seeds.nextLong();
            Thread thread = new Thread(() -> work(new Random(seed)), "worker-" + i);
            threads.add(thread);
            thread.start();
        }
    }

    private void end() throws InterruptedException {
        for (Thread thread : threads) {
            thread.join(60_000);
            if (thread.isAlive()) {
                System.out.println("STUCK " + List.of(thread.getStackTrace()));
            }
        }
        locks.close();
    }

    /** Interrupts threads, and closes a client now and then. */
    private static void meddle(List<StressWorker> clients, Random random, long closeSeconds) {
        long began = System.nanoTime();
        long closed = 0;
        while (!stopped) {
            try {
                Thread.sleep(random.nextInt(400));
            } catch (InterruptedException e) {
                return;
            }
            StressWorker client = clients.get(random.nextInt(clients.size()));
            client.threads.get(random.nextInt(THREADS)).interrupt();
            long seconds = TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - began);
            if (closeSeconds > 0 && seconds / closeSeconds > closed) {
                closed++;
                System.out.println("CLOSED");
                client.locks.close();
                client.locks = client.connected();
                System.out.println("CLOSED");
            }
        }
    }

    private void work(Random random) {
        try (Jedis jedis = new Jedis(java.net.URI.create(books))) {
            while (!stopped) {
                String name = NAMES.get(random.nextInt(NAMES.size()));
                try {
                    RedisLocks now = locks;
                    new Turn(
                                    jedis,
                                    name,
                                    name.startsWith("fair")
                                            ? now.reentrantLock(
                                                    name, LockOptions.defaults().fair(true))
                                            : now.reentrantLock(name),
                                    random)
                            .take();
                } catch (InterruptedException | LockUnavailableException e) {
                    unavailable.incrementAndGet();
                } catch (LockLostException e) {
                    // The listener says it.
                } catch (IllegalStateException e) {
                    if (!String.valueOf(e.getMessage()).contains("closed")) {
                        System.out.println("ERROR " + e);
                    }
                } catch (RuntimeException e) {
                    System.out.println("ERROR " + e);
                }
            }
        }
    }

    /** An action with a lock. */
    private record Turn(Jedis jedis, String name, RedisReentrantLock lock, Random random) {

        void take() throws InterruptedException {
            long began = System.nanoTime();
            int what = random.nextInt(100);
            if (what < 5) {
                lock.isLocked();
                lock.hasQueuedThreads();
            } else if (acquired(what)) {
                long took = System.nanoTime() - began;
                if (took > SLOW_NANOS) {
                    System.out.println("SLOW " + name + " " + took / 1_000_000);
                }
                try {
                    inside(what);
                } finally {
                    while (lock.getHoldCount() > 0) {
                        lock.unlock();
                    }
                }
            }
        }

        private boolean acquired(int what) throws InterruptedException {
            if (what < 40) {
                lock.lock();
                return true;
            }
            if (what < 55) {
                lock.lockInterruptibly();
                return true;
            }
            if (what < 65) {
                return lock.tryLock();
            }
            if (what < 70) {
                return fixed(lock, Duration.ofSeconds(10)).tryLock(Duration.ofMillis(random.nextInt(300)));
            }
            return lock.tryLock(random.nextInt(300), TimeUnit.MILLISECONDS);
        }

        private void inside(int what) throws InterruptedException {
            acquisitions.incrementAndGet();
            if (lock.previousHolderLost()) {
                System.out.println("ORPHAN " + name + " " + lock.fencingToken());
            }
            guarded(() -> Thread.sleep(random.nextInt(4)));
            if (what % 10 == 0) {
                lock.lock();
                guarded(() -> {});
                lock.unlock();
            } else if (what % 10 < 4) {
                Condition condition = lock.newCondition("turn");
                if (what % 10 == 1) {
                    boolean unused = condition.await(random.nextInt(300), TimeUnit.MILLISECONDS);
                    guarded(() -> {});
                } else if (what % 10 == 2) {
                    condition.signal();
                } else {
                    condition.signalAll();
                }
            }
        }

        private interface Work {
            void run() throws InterruptedException;
        }

        private void guarded(Work work) throws InterruptedException {
            String token = Long.toString(lock.fencingToken());
            List<String> keys = List.of("inside:" + name, "last:" + name);
            List<?> before = (List<?>) jedis.eval(ENTER.source(), keys, List.of(token));
            String theirs = (String) before.get(0);
            String last = (String) before.get(1);
            if (!theirs.isEmpty()) {
                System.out.println("INSIDE " + name + " " + token + " " + theirs);
            }
            if (!last.isEmpty() && Long.parseLong(last) > Long.parseLong(token)) {
                System.out.println("OLD " + name + " " + token + " " + last);
            }
            try {
                work.run();
            } finally {
                jedis.eval(EXIT.source(), keys, List.of(token));
            }
        }
    }
}
