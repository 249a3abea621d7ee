package io.github.redislocks.multijvm;

import io.github.redislocks.LockLostException;
import io.github.redislocks.LockOptions;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisReentrantLock;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;

/** A process that connects, says so, and then does with locks whatever can be done. */
final class InitWorker {

    static final String CONNECTED = "connected";
    static final String DONE = "done";

    private InitWorker() {}

    public static void main(String[] args) throws Exception {
        try (RedisLocks locks = RedisLocks.connect(args[0])) {
            System.out.println(CONNECTED);
            RedisReentrantLock lock = locks.reentrantLock(args[1]);
            lock.lock();
            boolean unused = lock.tryLock();
            lock.unlock();
            Thread waiter = new Thread(() -> use(lock));
            waiter.start();
            giveUp(lock);
            lock.unlock();
            waiter.join();
            await(lock);
            lose(locks, lock);
            RedisReentrantLock fair = locks.fairLock(args[1] + "-fair");
            fair.lock();
            giveUp(fair);
            fair.unlock();
        }
        System.out.println(DONE);
    }

    private static void use(RedisReentrantLock lock) {
        lock.lock();
        lock.unlock();
    }

    private static void giveUp(RedisReentrantLock lock) throws InterruptedException {
        Thread late = new Thread(() -> {
            try {
                boolean unused = lock.tryLock(10, TimeUnit.MILLISECONDS);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        });
        late.start();
        late.join();
    }

    private static void await(RedisReentrantLock lock) throws InterruptedException {
        Condition condition = lock.newCondition();
        lock.lock();
        boolean unused = condition.await(10, TimeUnit.MILLISECONDS);
        condition.signalAll();
        lock.unlock();
    }

    private static void lose(RedisLocks locks, RedisReentrantLock lock) {
        lock.lock(Duration.ofSeconds(10));
        lock.forceUnlock();
        try {
            lock.unlock();
        } catch (LockLostException e) {
            System.out.println(e.reason() + " " + locks.inspect(lock.getName()) + LockOptions.DEFAULT_LEASE);
        }
    }
}
