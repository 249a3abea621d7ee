package io.github.redislocks.bench.contender;

import io.github.redislocks.LockOptions;
import io.github.redislocks.PermitHandle;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisLocksBuilder;
import io.github.redislocks.micrometer.LockMetrics;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReadWriteLock;

/** This library. */
final class Ours implements LockClient {

    /** The settings of the locks. */
    enum Kind {
        DEFAULT,
        FAIR,
        /** With local re-entry. */
        LOCAL_REENTRY,
        /** With notifications of deleted keys. */
        WATCHING,
        /** With a residency of 100 ms, so that the end of a residence is inside a round. */
        RESIDENT,
        /** On a quorum of masters that have just been started and have forgotten nothing. */
        QUORUM,
        /** With metrics of Micrometer. */
        METERED,
        /** The plain lock where others have a read-write lock. */
        MUTEX,
        /** The same, with a residency. */
        RESIDENT_MUTEX
    }

    private static final Set<Kind> RESIDENTS = EnumSet.of(Kind.RESIDENT, Kind.RESIDENT_MUTEX);
    private static final Set<Kind> MUTEXES = EnumSet.of(Kind.MUTEX, Kind.RESIDENT_MUTEX);
    private static final String KEY_PREFIX = "redis-locks";
    private static final Duration RESIDENCY = Duration.ofMillis(100);

    /** The time that a busy machine may need to start. It is not measured. */
    private static final Duration CONNECT = Duration.ofSeconds(20);

    private final LongAdder losses = new LongAdder();
    private final RedisLocks locks;
    private final Kind kind;

    Ours(Setting setting, Kind kind) {
        this.kind = kind;
        RedisLocksBuilder builder = RedisLocks.builder().keyPrefix(KEY_PREFIX);
        if (kind == Kind.QUORUM) {
            builder.quorum(setting.uris()).restartDelay(Duration.ZERO);
        } else {
            builder.uri(setting.uri());
        }
        if (setting.leaseMillis() > 0) {
            builder.lease(Duration.ofMillis(setting.leaseMillis()));
        }
        if (kind == Kind.METERED) {
            LockMetrics metrics = new LockMetrics();
            metrics.bindTo(new SimpleMeterRegistry());
            builder.listener(metrics);
        }
        locks = builder.localReentry(kind == Kind.LOCAL_REENTRY)
                .watchDeletions(kind == Kind.WATCHING)
                .residency(RESIDENTS.contains(kind) ? RESIDENCY : Duration.ZERO)
                .connectWithin(CONNECT)
                .onLockLost(loss -> losses.increment())
                .build();
    }

    @Override
    public Mutex mutex(String key) {
        return Mutex.of(
                kind == Kind.FAIR
                        ? locks.reentrantLock(key, LockOptions.defaults().fair(true))
                        : locks.reentrantLock(key));
    }

    @Override
    public Mutex mutex(List<String> keys) {
        return Mutex.of(locks.multiLock(List.of(keys.toArray(String[]::new))));
    }

    @Override
    public ReadWriteLock readWriteLock(String key) {
        if (MUTEXES.contains(kind)) {
            Lock one = locks.reentrantLock(key);
            return new OneLock(one, one);
        }
        return locks.readWriteLock(key);
    }

    /** A lock for reading and for writing. */
    private record OneLock(Lock readLock, Lock writeLock) implements ReadWriteLock {}

    @Override
    public Mutex permit(String key) {
        return new Permit<>(locks.permits(key, Permit.SIZE)::acquire, PermitHandle::close);
    }

    @Override
    public String redisKey(String key) {
        return KEY_PREFIX + ":{" + key + "}";
    }

    @Override
    public boolean holds(String key) {
        return locks.reentrantLock(key).isHeldByCurrentThread();
    }

    @Override
    public long losses() {
        return losses.sum();
    }

    @Override
    public String library() {
        return "io.github.redislocks.";
    }

    @Override
    public void close() {
        locks.close();
    }
}
