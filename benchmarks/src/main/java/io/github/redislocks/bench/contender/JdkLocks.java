package io.github.redislocks.bench.contender;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;

/** The lock of the JDK, for one JVM, without Redis. */
final class JdkLocks implements LockClient {

    private final Map<String, ReentrantLock> locks = new ConcurrentHashMap<>();

    @Override
    public Mutex mutex(String key) {
        return Mutex.of(locks.computeIfAbsent(key, name -> new ReentrantLock()));
    }

    @Override
    public void close() {
        locks.clear();
    }
}
