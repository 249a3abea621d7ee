package io.github.redislocks.micrometer;

import io.github.redislocks.LockAcquired;
import io.github.redislocks.LockEvent;
import io.github.redislocks.LockExpiring;
import io.github.redislocks.LockForced;
import io.github.redislocks.LockGivenUp;
import io.github.redislocks.LockListener;
import io.github.redislocks.LockLost;
import io.github.redislocks.LockNotAcquired;
import io.github.redislocks.LockReleased;
import io.github.redislocks.LocksRenewed;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisOutage;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import java.util.function.ToLongFunction;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The metrics of {@link RedisLocks} for Micrometer: a listener that records events of locks, and a binder that
 * registers the meters. Needs {@code micrometer-core}.
 *
 * <pre>{@code
 * LockMetrics metrics = new LockMetrics();
 * RedisLocks locks = RedisLocks.builder().uri(uri).listener(metrics).build();
 * metrics.watch(locks);
 * metrics.bindTo(registry); // Spring Boot does that with every bean that is a MeterBinder
 * }</pre>
 *
 * <p>The counters include events before {@link #bindTo}; only {@link #LOST}, {@link #LOCAL} and the timers do not. One
 * object may listen to several clients, and adds up their figures. Thread-safe.
 *
 * @since 0.1.0
 */
public final class LockMetrics implements LockListener, MeterBinder {

    /** Timer: the time of a call that acquires a lock; with the tag {@code outcome}. */
    public static final String WAIT = "redis.locks.wait";
    /** Timer: the time from an acquisition to the release. */
    public static final String HOLD = "redis.locks.hold";
    /** Counter: holds that ended without their owner's unlock; with the tag {@code reason}. */
    public static final String LOST = "redis.locks.lost";
    /** Counter: holds that have lasted for two thirds of their {@code maxHold}. */
    public static final String EXPIRING = "redis.locks.expiring";
    /** Counter: renewals that Redis has confirmed. */
    public static final String RENEWALS = "redis.locks.renewals";
    /** Counter: outages of a server that have begun. */
    public static final String OUTAGES = "redis.locks.outages";
    /** Timer: the time of outages that have ended. */
    public static final String OUTAGE = "redis.locks.outage";
    /** Counter: requests that calls sent again because an earlier request had failed. */
    public static final String RETRIES = "redis.locks.retries";
    /** Counter: locks that were forced open by this process. */
    public static final String FORCED = "redis.locks.forced";
    /** Gauge: locks that this process has released by {@code releaseAfter} and that are still unavailable. */
    public static final String KEPT = "redis.locks.kept";
    /** Counter: acquisitions that needed no request, because the client kept the lock by its residency. */
    public static final String LOCAL = "redis.locks.local";
    /** Gauge: locks that clients keep by their residency and that no thread holds. */
    public static final String RESIDENT = "redis.locks.resident";
    /** Counter: locks that were kept by a residency and were given up; with the tag {@code reason}. */
    public static final String GIVEN_UP = "redis.locks.given.up";
    /** Timer: the time from another client's first request for a kept lock until the lock was given up. */
    public static final String RECALL = "redis.locks.recall";
    /** Gauge: connections that are open to the servers that have the locks. */
    public static final String CONNECTIONS = "redis.locks.connections";
    /** Gauge: locks that the watched clients hold. */
    public static final String HELD = "redis.locks.held";
    /** Gauge: locks under which the watched clients read. */
    public static final String READ = "redis.locks.read";
    /** Gauge: permits that the watched clients have. */
    public static final String PERMITS = "redis.locks.permits";
    /** Gauge: calls of the watched clients that are acquiring a lock. */
    public static final String WAITING = "redis.locks.waiting";

    /** The tag for the outcome of a call: {@code acquired}, {@code busy}, {@code interrupted} or {@code failed}. */
    public static final String OUTCOME = "outcome";
    /**
     * The tag for the reason why a hold was lost, or why a lock was given up: the name of a {@link LockLost.Reason} or
     * of a {@link LockGivenUp.Reason} in lower case.
     */
    public static final String REASON = "reason";
    /**
     * The tag of {@link #WAIT}, {@link #HOLD}, {@link #LOST} and {@link #LOCAL} for what the event concerns: the name
     * of a {@link LockEvent.Mode} in lower case.
     */
    public static final String MODE = "mode";
    /** The tag for the lock. The function of {@link #LockMetrics(Function)} makes its value. */
    public static final String LOCK = "lock";

    private final @Nullable Function<String, String> tag;
    private final List<RegisteredMeters> registered = new CopyOnWriteArrayList<>();
    /** The registries to which the meters are bound. */
    private final Set<MeterRegistry> bound = Collections.newSetFromMap(new ConcurrentHashMap<>());

    private final CopyOnWriteArrayList<RedisLocks> watched = new CopyOnWriteArrayList<>();
    private final LongAdder renewals = new LongAdder();
    private final LongAdder outages = new LongAdder();
    private final LongAdder expiring = new LongAdder();
    private final LongAdder forced = new LongAdder();
    private final Map<LockGivenUp.Reason, LongAdder> givenUp = Stream.of(LockGivenUp.Reason.values())
            .collect(Collectors.toUnmodifiableMap(reason -> reason, reason -> new LongAdder()));
    private final KeptLocks kept = new KeptLocks(System::nanoTime);
    /**
     * The retries of closed clients, which are no longer watched. Changes together with the list of watched clients.
     */
    private final AtomicLong earlierRetries = new AtomicLong();

    private final ReentrantLock forgetting = new ReentrantLock();

    /** Makes metrics of all locks together, without a tag for the lock. */
    public LockMetrics() {
        this.tag = null;
    }

    /**
     * Makes metrics with a tag {@code lock}.
     *
     * @param tag returns the tag's value for a lock's name, such as {@code order} for {@code order:4711}. It must
     *     return few different values, because each value gets its own meters in each registry, for ever. It is called
     *     for each lock and unlock. If it throws or returns null, the error is logged, and the event is not counted.
     */
    public LockMetrics(Function<String, String> tag) {
        this.tag = Objects.requireNonNull(tag, "tag");
    }

    /**
     * Includes a client in the gauges until the client is closed, and counts its retries. The gauges show the client's
     * locks, waiting calls and connections. Watching the same client again has no effect.
     */
    public void watch(RedisLocks locks) {
        forgetClosed();
        boolean unused = watched.addIfAbsent(Objects.requireNonNull(locks, "locks"));
    }

    /** Registers the meters in a registry. Binding the same registry again has no effect. */
    @Override
    public void bindTo(MeterRegistry registry) {
        if (!bound.add(registry)) {
            return;
        }
        Gauge.builder(HELD, this, metrics -> metrics.sum(RedisLocks::countHeld))
                .description("Locks that are held here")
                .register(registry);
        Gauge.builder(READ, this, metrics -> metrics.sum(RedisLocks::countRead))
                .description("Locks under which threads or handles read here")
                .register(registry);
        Gauge.builder(PERMITS, this, metrics -> metrics.sum(RedisLocks::countPermits))
                .description("Permits that are held here")
                .register(registry);
        Gauge.builder(WAITING, this, metrics -> metrics.sum(RedisLocks::countWaitingCalls))
                .description("Calls that are acquiring a lock")
                .register(registry);
        Gauge.builder(KEPT, kept, KeptLocks::count)
                .description("Locks that were released here by releaseAfter and are still unavailable")
                .register(registry);
        Gauge.builder(RESIDENT, this, metrics -> metrics.sum(RedisLocks::countResident))
                .description("Locks that are kept here by residency and that no thread holds")
                .register(registry);
        Gauge.builder(CONNECTIONS, this, metrics -> metrics.sum(RedisLocks::countConnections))
                .description("Open connections to the servers that have the locks")
                .register(registry);
        FunctionCounter.builder(RETRIES, this, LockMetrics::retries)
                .description("Requests that calls sent again because an earlier request had failed")
                .register(registry);
        FunctionCounter.builder(FORCED, forced, LongAdder::sum)
                .description("Locks that were forced open here")
                .register(registry);
        FunctionCounter.builder(RENEWALS, renewals, LongAdder::sum)
                .description("Renewals of holds that Redis has confirmed")
                .register(registry);
        FunctionCounter.builder(OUTAGES, outages, LongAdder::sum)
                .description("Outages of a Redis server that have begun")
                .register(registry);
        FunctionCounter.builder(EXPIRING, expiring, LongAdder::sum)
                .description("Holds that have lasted for two thirds of their maxHold")
                .register(registry);
        givenUp.forEach((reason, count) -> FunctionCounter.builder(GIVEN_UP, count, LongAdder::sum)
                .description("Locks that were kept here by residency and were given up")
                .tag(REASON, reason.name().toLowerCase(Locale.ROOT))
                .register(registry));
        registered.add(new RegisteredMeters(registry, tag));
    }

    private double sum(ToLongFunction<RedisLocks> count) {
        forgetClosed();
        return watched.stream().mapToLong(count).sum();
    }

    /** The retries of all clients. The number never decreases, even while another thread removes a closed client. */
    private double retries() {
        forgetting.lock();
        try {
            // Call sum() first, since it moves the counts of closed clients into earlierRetries.
            double present = sum(RedisLocks::countRetries);
            return earlierRetries.get() + present;
        } finally {
            forgetting.unlock();
        }
    }

    private void forgetClosed() {
        forgetting.lock();
        try {
            List<RedisLocks> closed =
                    watched.stream().filter(RedisLocks::isClosed).toList();
            closed.forEach(locks -> earlierRetries.addAndGet(locks.countRetries()));
            watched.removeAll(closed);
        } finally {
            forgetting.unlock();
        }
    }

    @Override
    public void acquired(LockAcquired event) {
        // A pool of permits may have the name of a lock.
        if (event.mode() != LockEvent.Mode.PERMITS) {
            kept.remove(event.lockName());
        }
        for (RegisteredMeters meters : registered) {
            RegisteredMeters.OfMode ofMode = meters.of(event.lockName(), event.mode());
            ofMode.acquired.record(event.waited());
            if (event.isLocal()) {
                ofMode.local.increment();
            }
        }
    }

    @Override
    public void notAcquired(LockNotAcquired event) {
        for (RegisteredMeters meters : registered) {
            meters.of(event.lockName(), event.mode())
                    .notAcquired(event.outcome())
                    .record(event.waited());
        }
    }

    @Override
    public void released(LockReleased event) {
        if (!event.keptFor().isZero()) {
            kept.add(event.lockName(), event.keptFor());
        }
        for (RegisteredMeters meters : registered) {
            meters.of(event.lockName(), event.mode()).hold.record(event.held());
        }
    }

    @Override
    public void forced(LockForced event) {
        kept.remove(event.lockName());
        forced.increment();
    }

    @Override
    public void lost(LockLost event) {
        for (RegisteredMeters meters : registered) {
            meters.of(event.lockName(), event.mode()).lost(event.reason()).increment();
        }
    }

    @Override
    public void givenUp(LockGivenUp event) {
        Objects.requireNonNull(givenUp.get(event.reason())).increment();
        Duration sinceRecall = event.sinceRecall().orElse(null);
        if (sinceRecall != null) {
            for (RegisteredMeters meters : registered) {
                meters.of(event.lockName(), LockEvent.Mode.WRITE).recall.record(sinceRecall);
            }
        }
    }

    @Override
    public void expiring(LockExpiring event) {
        expiring.increment();
    }

    @Override
    public void renewed(LocksRenewed event) {
        renewals.add(event.count());
    }

    @Override
    public void outageBegan(RedisOutage event) {
        outages.increment();
    }

    @Override
    public void outageEnded(RedisOutage event) {
        for (RegisteredMeters meters : registered) {
            meters.outage.record(event.lasted());
        }
    }
}
