package io.github.redislocks.bench.contender;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/** The locks and the semaphore of the JDK, for one JVM, without Redis. */
final class JdkLocks implements LockClient {

    private final Map<String, ReentrantLock> locks = new ConcurrentHashMap<>();
    private final Map<String, ReadWriteLock> readWriteLocks = new ConcurrentHashMap<>();
    private final Map<String, Semaphore> semaphores = new ConcurrentHashMap<>();

    @Override
    public Mutex mutex(String key) {
        return Mutex.of(locks.computeIfAbsent(key, name -> new ReentrantLock()));
    }

    @Override
    public ReadWriteLock readWriteLock(String key) {
        return readWriteLocks.computeIfAbsent(key, name -> new ReentrantReadWriteLock());
    }

    @Override
    public Mutex permit(String key) {
        Semaphore semaphore = semaphores.computeIfAbsent(key, name -> new Semaphore(Permit.SIZE));
        return new Permit<>(
                () -> {
                    semaphore.acquire();
                    return semaphore;
                },
                Semaphore::release);
    }

    @Override
    public void close() {
        locks.clear();
        readWriteLocks.clear();
        semaphores.clear();
    }
}
