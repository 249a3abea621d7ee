package io.github.redislocks.multijvm;

import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisReentrantLock;
import java.util.ConcurrentModificationException;
import java.util.concurrent.locks.Condition;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.Transaction;
import redis.clients.jedis.args.ListDirection;

/**
 * The bounded buffer of the JDK's documentation of {@link Condition}, with its state in Redis, so that it is one buffer
 * for all JVMs, and one that bears it when any of them dies at any moment. Each thread has its own, for the connection.
 *
 * <p>What makes it bear that:
 *
 * <ul>
 *   <li>Every change is one transaction, in which the item moves and the books say so: what a producer has put so far,
 *       what a consumer has in its hands. So the state is never half changed, and who comes next need not ask
 *       {@link RedisReentrantLock#previousHolderLost()}.
 *   <li>Everybody waits in a loop, and looks again when woken. A holder that dies before it could signal wakes all.
 *   <li>The transaction watches the list that it was decided by. So a holder that stood still for longer than its lease
 *       changes nothing any more once the next one has, as with a fencing token.
 *   <li>Who is in doubt about what it has done, after a {@link io.github.redislocks.LockLostException} or in the place
 *       of one that died, reads the books.
 * </ul>
 */
final class BoundedBuffer {

    private final Jedis redis;
    private final RedisReentrantLock lock;
    private final Condition notFull;
    private final Condition notEmpty;
    private final int capacity;
    private final String items;
    private final String closed;
    private final String progress;
    private final String name;

    BoundedBuffer(RedisLocks locks, Jedis redis, String name, int capacity) {
        this.redis = redis;
        this.capacity = capacity;
        lock = locks.reentrantLock(name);
        notFull = lock.newCondition("notFull");
        notEmpty = lock.newCondition("notEmpty");
        items = name + ":items";
        closed = name + ":closed";
        progress = name + ":progress";
        this.name = name;
    }

    /** The list of what a consumer has taken and not finished. */
    static String handsKey(String buffer, String consumer) {
        return buffer + ":hands:" + consumer;
    }

    private String hands(String consumer) {
        return handsKey(name, consumer);
    }

    /** The number of the last item that a producer has put; 0 if there is none. */
    int lastPut(String producer) {
        String last = redis.hget(progress, producer);
        return last == null ? 0 : Integer.parseInt(last);
    }

    /** Puts the producer's item of this number, waiting as long as the buffer is full. */
    void put(String producer, int number) throws InterruptedException {
        lock.lockInterruptibly();
        try {
            while (watchedSize() >= capacity) {
                redis.unwatch();
                notFull.await();
            }
            change(transaction -> {
                transaction.rpush(items, producer + ':' + number);
                transaction.hset(progress, producer, Integer.toString(number));
            });
            notEmpty.signal();
        } finally {
            lock.unlock();
        }
    }

    /**
     * Takes the first item into the consumer's hands, waiting as long as the buffer is empty; false if it is and has
     * been closed.
     */
    boolean take(String consumer) throws InterruptedException {
        lock.lockInterruptibly();
        try {
            while (watchedSize() == 0) {
                redis.unwatch();
                if (redis.exists(closed)) {
                    return false;
                }
                notEmpty.await();
            }
            change(transaction -> transaction.lmove(items, hands(consumer), ListDirection.LEFT, ListDirection.RIGHT));
            notFull.signal();
            return true;
        } finally {
            lock.unlock();
        }
    }

    /** The item that a consumer took and has not finished, or null. */
    @Nullable
    String inHands(String consumer) {
        return redis.lindex(hands(consumer), 0);
    }

    /** Notes that a consumer has done its work with what it took. */
    void finish(String consumer) {
        redis.lpop(hands(consumer));
    }

    /** Says that nothing will be put any more. */
    void close() {
        lock.lock();
        try {
            redis.set(closed, "yes");
            notEmpty.signalAll();
        } finally {
            lock.unlock();
        }
    }

    private long watchedSize() {
        redis.watch(items);
        return redis.llen(items);
    }

    /**
     * Makes the change all at once, or not at all if the list has changed since it was read.
     *
     * @throws io.github.redislocks.LockLostException if that was by right: the lock is another's
     * @throws ConcurrentModificationException if it was a change of somebody who has no right to it any more
     */
    private void change(Consumer<Transaction> change) {
        try (Transaction transaction = redis.multi()) {
            change.accept(transaction);
            if (transaction.exec() == null) {
                lock.ensureHeld();
                throw new ConcurrentModificationException("Somebody changed the buffer who did not hold the lock");
            }
        }
    }
}
