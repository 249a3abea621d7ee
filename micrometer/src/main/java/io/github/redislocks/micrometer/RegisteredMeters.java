package io.github.redislocks.micrometer;

import io.github.redislocks.LockEvent;
import io.github.redislocks.LockLost;
import io.github.redislocks.LockNotAcquired;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.Timer;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The timers and counters in one registry, made once for each value of the tag {@code lock} and each mode. */
final class RegisteredMeters {

    /** The meters for one value of the tag {@code lock} and one mode. */
    static final class OfMode {

        final Timer acquired;
        final Timer hold;
        final Counter local;
        final Timer recall;
        private final Map<LockNotAcquired.Outcome, Timer> notAcquired = new EnumMap<>(LockNotAcquired.Outcome.class);
        private final Map<LockLost.Reason, Counter> lost = new EnumMap<>(LockLost.Reason.class);

        private OfMode(MeterRegistry registry, Tags lock, LockEvent.Mode mode) {
            Tags tags = lock.and(LockMetrics.MODE, lowerCase(mode));
            acquired = wait(registry, tags, "acquired");
            hold = Timer.builder(LockMetrics.HOLD)
                    .description("Time from an acquisition to the release")
                    .tags(tags)
                    .register(registry);
            local = Counter.builder(LockMetrics.LOCAL)
                    .description("Acquisitions that needed no request, because of the residency")
                    .tags(tags)
                    .register(registry);
            recall = Timer.builder(LockMetrics.RECALL)
                    .description("Time from when another client asked for a kept lock until it was given up")
                    .tags(lock)
                    .register(registry);
            for (LockNotAcquired.Outcome outcome : LockNotAcquired.Outcome.values()) {
                notAcquired.put(outcome, wait(registry, tags, lowerCase(outcome)));
            }
            for (LockLost.Reason reason : LockLost.Reason.values()) {
                lost.put(
                        reason,
                        Counter.builder(LockMetrics.LOST)
                                .description("Holds that ended without their owner's unlock")
                                .tags(tags.and(LockMetrics.REASON, lowerCase(reason)))
                                .register(registry));
            }
        }

        private static Timer wait(MeterRegistry registry, Tags tags, String outcome) {
            return Timer.builder(LockMetrics.WAIT)
                    .description("Time of a call that acquires a lock")
                    .tags(tags.and(LockMetrics.OUTCOME, outcome))
                    .register(registry);
        }

        private static String lowerCase(Enum<?> value) {
            return value.name().toLowerCase(Locale.ROOT);
        }

        Timer notAcquired(LockNotAcquired.Outcome outcome) {
            return Objects.requireNonNull(notAcquired.get(outcome));
        }

        Counter lost(LockLost.Reason reason) {
            return Objects.requireNonNull(lost.get(reason));
        }
    }

    final Timer outage;
    private final MeterRegistry registry;
    private final Function<String, Map<LockEvent.Mode, OfMode>> find;
    private final ConcurrentMap<String, Map<LockEvent.Mode, OfMode>> byTag = new ConcurrentHashMap<>();

    RegisteredMeters(MeterRegistry registry, @Nullable Function<String, String> tag) {
        this.registry = registry;
        if (tag == null) {
            Map<LockEvent.Mode, OfMode> all = byMode(registry, Tags.empty());
            this.find = name -> all;
        } else {
            this.find = name -> tagged(tag.apply(name));
        }
        this.outage = Timer.builder(LockMetrics.OUTAGE)
                .description("Time of outages of a Redis server that have ended")
                .register(registry);
    }

    private static Map<LockEvent.Mode, OfMode> byMode(MeterRegistry registry, Tags lock) {
        Map<LockEvent.Mode, OfMode> meters = new EnumMap<>(LockEvent.Mode.class);
        for (LockEvent.Mode mode : LockEvent.Mode.values()) {
            meters.put(mode, new OfMode(registry, lock, mode));
        }
        return meters;
    }

    /** The meters of the lock with the given name. */
    OfMode of(String lockName, LockEvent.Mode mode) {
        return Objects.requireNonNull(find.apply(lockName).get(mode));
    }

    private Map<LockEvent.Mode, OfMode> tagged(String value) {
        Map<LockEvent.Mode, OfMode> known = byTag.get(value);
        return known != null
                ? known
                : byTag.computeIfAbsent(value, first -> byMode(registry, Tags.of(LockMetrics.LOCK, first)));
    }
}
