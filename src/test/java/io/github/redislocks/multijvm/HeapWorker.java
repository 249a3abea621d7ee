package io.github.redislocks.multijvm;

import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisReentrantLock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * A process whose threads have used a lock, and a Condition of it unless it is of a quorum, and go on while its heap is
 * filled again and again. When that is over, each of them has to come to its end.
 */
final class HeapWorker {

    private static final int THREADS = 4;
    private static final int ROUNDS_AFTERWARDS = 50;
    /** So many that the classes of what is used are there: one whose first use meets an error is never there. */
    private static final int ROUNDS_BEFORE = 200;

    private static volatile boolean scarce = true;
    private static final AtomicInteger errors = new AtomicInteger();
    private static final CountDownLatch before = new CountDownLatch(ROUNDS_BEFORE);

    private HeapWorker() {}

    public static void main(String[] args) throws InterruptedException {
        String[] uris = Arrays.copyOfRange(args, 2, args.length);
        boolean one = uris.length == 1;
        RedisLocks locks = one
                ? RedisLocks.connect(uris[0])
                : RedisLocks.builder().quorum(uris).restartDelay(Duration.ZERO).build();
        RedisReentrantLock lock = locks.reentrantLock(args[0]);
        Condition condition = one ? lock.newCondition("turn") : null;
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            boolean waits = i % 2 == 0;
            Thread thread = new Thread(() -> use(lock, condition, waits));
            thread.start();
            threads.add(thread);
        }
        before.await();
        for (int i = 0; i < Integer.parseInt(args[1]); i++) {
            fillTheHeap();
        }
        scarce = false;
        System.out.println("plenty after " + errors + " errors");
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println("done");
        locks.close();
        System.out.println("closed");
        long until = System.nanoTime() + TimeUnit.SECONDS.toNanos(15);
        Map<Thread, StackTraceElement[]> left = ownThreads();
        while (!left.isEmpty() && System.nanoTime() < until) {
            LockSupport.parkNanos(50_000_000);
            left = ownThreads();
        }
        left.forEach((thread, stack) -> System.out.println("still runs: " + thread + " " + Arrays.toString(stack)));
        System.out.println(left.isEmpty() ? "without threads" : "with threads");
    }

    private static Map<Thread, StackTraceElement[]> ownThreads() {
        Map<Thread, StackTraceElement[]> all = new HashMap<>(Thread.getAllStackTraces());
        all.keySet().removeIf(thread -> !thread.getName().startsWith("redis-locks-"));
        return all;
    }

    /** Takes all memory that there is, so that every other thread that wants some meets an error, and gives it back. */
    private static void fillTheHeap() {
        List<byte[]> hoard = new ArrayList<>(1_000_000);
        for (int bytes = 1 << 20; bytes >= 16; bytes /= 8) {
            try {
                while (true) {
                    hoard.add(new byte[bytes]);
                }
            } catch (OutOfMemoryError full) {
                // Smaller ones may still fit.
            }
        }
        long until = System.nanoTime() + 50_000_000;
        while (System.nanoTime() < until && !hoard.isEmpty()) {
            Thread.onSpinWait();
        }
        hoard.clear();
    }

    private static void use(RedisReentrantLock lock, @Nullable Condition condition, boolean waits) {
        int rounds = 0;
        while (rounds < ROUNDS_AFTERWARDS) {
            try {
                round(lock, condition, waits);
                before.countDown();
                rounds += scarce ? 0 : 1;
            } catch (InterruptedException e) {
                return;
            } catch (Throwable e) {
                errors.incrementAndGet();
                if (!scarce) {
                    // Nothing is wanting any more.
                    e.printStackTrace();
                    LockSupport.parkNanos(100_000_000);
                }
            }
        }
    }

    private static void round(RedisReentrantLock lock, @Nullable Condition condition, boolean waits)
            throws InterruptedException {
        lock.lock();
        try {
            if (condition == null) {
                Thread.onSpinWait();
            } else if (waits) {
                boolean unused = condition.await(20, TimeUnit.MILLISECONDS);
            } else {
                condition.signal();
            }
        } finally {
            lock.unlock();
        }
    }
}
