package io.github.redislocks.micrometer;

import io.github.redislocks.LockAcquired;
import io.github.redislocks.LockEvent;
import io.github.redislocks.LockListener;
import io.github.redislocks.LockLost;
import io.github.redislocks.LockLostException;
import io.github.redislocks.LockNotAcquired;
import io.github.redislocks.LockReleased;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationRegistry;
import java.util.Locale;
import java.util.Objects;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The observations of {@link io.github.redislocks.RedisLocks} for Micrometer: one of each acquisition, and one of each
 * hold. A tracer makes spans of them. Needs {@code micrometer-observation}.
 *
 * <pre>{@code
 * RedisLocks locks = RedisLocks.builder()
 *         .uri(uri)
 *         .listener(new LockObservations(observationRegistry))
 *         .build();
 * }</pre>
 *
 * <p>The parent of both observations is the current observation of the thread that acquires the lock. They never become
 * the current observation of a thread, because a hold may begin on one thread and end on another. So an observation of
 * work under a lock is a sibling of the hold's observation, not its child. Thread-safe.
 *
 * @since 0.1.0
 */
public final class LockObservations implements LockListener {

    /** The observation of a call that acquires a lock; with the key {@code outcome}. */
    public static final String ACQUISITION = "redis.locks.acquisition";
    /** The observation of a hold, from its acquisition to its release or its loss; with the key {@code outcome}. */
    public static final String POSSESSION = "redis.locks.possession";

    /**
     * The low-cardinality key for the outcome. For an acquisition: {@code acquired}, {@code busy}, {@code interrupted}
     * or {@code failed}. For a hold: {@code released}; the name of a {@link LockLost.Reason} in lower case if the hold
     * was lost; or {@code unknown} if the hold's thread waited in a Condition and returned without the lock.
     */
    public static final String OUTCOME = "outcome";
    /** The low-cardinality key for what is acquired: the name of a {@link LockEvent.Mode} in lower case. */
    public static final String MODE = "mode";
    /**
     * The low-cardinality key for the lock. The function of the constructor makes its value; without a function there
     * is no such key.
     */
    public static final String LOCK = "lock";
    /** The high-cardinality key for the lock's name. */
    public static final String LOCK_NAME = "lock.name";
    /** The high-cardinality key for the fencing token of a hold. */
    public static final String TOKEN = "lock.token";

    private static final String UNKNOWN = "unknown";

    private final ObservationRegistry registry;
    private final @Nullable Function<String, String> tag;
    private final ObservedHolds holds = new ObservedHolds();

    /** Makes observations without a low-cardinality key for the lock. */
    public LockObservations(ObservationRegistry registry) {
        this.registry = Objects.requireNonNull(registry, "registry");
        this.tag = null;
    }

    /**
     * Makes observations with the low-cardinality key {@code lock}.
     *
     * @param tag returns the key's value for a lock's name, such as {@code order} for {@code order:4711}. It must
     *     return few different values: where observations become metrics, each value gets its own meters, for ever.
     */
    public LockObservations(ObservationRegistry registry, Function<String, String> tag) {
        this.registry = Objects.requireNonNull(registry, "registry");
        this.tag = Objects.requireNonNull(tag, "tag");
    }

    @Override
    public @Nullable Acquiring acquiring(String lockName) {
        if (registry.isNoop()) {
            return null;
        }
        Observation parent = registry.getCurrentObservation();
        Observation call = made(ACQUISITION, "acquire lock", lockName, parent).start();
        return new Acquiring() {
            @Override
            public void acquired(LockAcquired event) {
                ended(call.lowCardinalityKeyValue(MODE, lowerCase(event.mode())), "acquired");
                Observation hold = made(POSSESSION, "hold lock", lockName, parent);
                if (!hold.isNoop()) {
                    hold.lowCardinalityKeyValue(MODE, lowerCase(event.mode()))
                            .highCardinalityKeyValue(TOKEN, Long.toString(event.token()));
                    Observation forgotten = holds.add(event, hold.start());
                    if (forgotten != null) {
                        ended(forgotten, UNKNOWN);
                    }
                }
            }

            @Override
            public void notAcquired(LockNotAcquired event) {
                ended(call.lowCardinalityKeyValue(MODE, lowerCase(event.mode())), lowerCase(event.outcome()));
            }
        };
    }

    private Observation made(String name, String title, String lockName, @Nullable Observation parent) {
        Observation made = Observation.createNotStarted(name, registry)
                .contextualName(title)
                .highCardinalityKeyValue(LOCK_NAME, lockName);
        if (parent != null) {
            // Set the parent explicitly: for an asynchronous acquisition this method runs on a thread on which the
            // parent is not the current observation.
            made.parentObservation(parent);
        }
        return tag == null ? made : made.lowCardinalityKeyValue(LOCK, tag.apply(lockName));
    }

    private static void ended(Observation observation, String outcome) {
        observation.lowCardinalityKeyValue(OUTCOME, outcome).stop();
    }

    @Override
    public void released(LockReleased event) {
        Observation hold = holds.remove(event.lockName(), event.mode(), event.ownerId(), event.token());
        if (hold != null) {
            ended(hold, "released");
        }
    }

    @Override
    public void lost(LockLost loss) {
        Observation hold = holds.remove(loss.lockName(), loss.mode(), loss.ownerId(), loss.token());
        if (hold != null) {
            ended(hold.error(new LockLostException(loss)), lowerCase(loss.reason()));
        }
    }

    private static String lowerCase(Enum<?> value) {
        return value.name().toLowerCase(Locale.ROOT);
    }
}
