package io.github.redislocks.multijvm;

import static io.github.redislocks.FixedLease.fixed;

import io.github.redislocks.LockLostException;
import io.github.redislocks.LockOptions;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisReentrantLock;
import io.github.redislocks.state.Settings;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;

/**
 * A process that connects, to a quorum if it is given several servers, and then does with locks whatever can be done.
 */
final class InitWorker {

    static final String DONE = "done";

    private InitWorker() {}

    public static void main(String[] args) throws Exception {
        String[] uris = Arrays.copyOfRange(args, 1, args.length);
        boolean one = uris.length == 1;
        try (RedisLocks locks = one
                ? RedisLocks.connect(uris[0])
                : RedisLocks.builder().quorum(uris).restartDelay(Duration.ZERO).build()) {
            RedisReentrantLock lock = locks.reentrantLock(args[0]);
            lock.lock();
            boolean unused = lock.tryLock();
            lock.unlock();
            Thread waiter = new Thread(() -> use(lock));
            waiter.start();
            giveUp(lock);
            lock.unlock();
            waiter.join();
            if (one) {
                await(lock);
                giveUpInLine(locks.reentrantLock(
                        args[0] + "-fair", LockOptions.defaults().fair(true)));
            }
            lose(locks, lock);
        }
        System.out.println(DONE);
    }

    private static void giveUpInLine(RedisReentrantLock fair) throws InterruptedException {
        fair.lock();
        giveUp(fair);
        fair.unlock();
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
        Thread signaller = new Thread(() -> signal(lock, condition));
        signaller.start();
        condition.await();
        condition.signalAll();
        lock.unlock();
    }

    private static void signal(RedisReentrantLock lock, Condition condition) {
        lock.lock();
        condition.signal();
        lock.unlock();
    }

    private static void lose(RedisLocks locks, RedisReentrantLock lock) {
        fixed(lock, Duration.ofSeconds(10)).lock();
        lock.forceUnlock();
        try {
            lock.unlock();
        } catch (LockLostException e) {
            System.out.println(e.reason() + " " + locks.inspect(lock.getName()) + Settings.DEFAULT_LEASE);
        }
    }
}
