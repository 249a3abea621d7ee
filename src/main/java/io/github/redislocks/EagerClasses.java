package io.github.redislocks;

import com.github.benmanes.caffeine.cache.RemovalCause;
import java.lang.invoke.MethodHandles;
import java.util.List;

/**
 * The classes that a client needs later than it connects, and whose initialization may fail. A class that meets an
 * {@link OutOfMemoryError} then can never be used again (JLS 12.4.2): a heap that was full for a moment would leave a
 * process without locks until its end. So they are initialized when a client is made, which tells its maker.
 */
final class EagerClasses {

    private static final List<Class<?>> ALL = List.of(
            Sync.class,
            ThreadIds.class,
            Hold.class,
            LockLost.Reason.class,
            Attempt.Left.class,
            Gate.Left.class,
            Errand.Need.class,
            Sender.class,
            ConditionWait.Ending.class,
            RemovalCause.class);

    private EagerClasses() {}

    static void initialize() {
        try {
            for (Class<?> each : ALL) {
                MethodHandles.lookup().ensureInitialized(each);
            }
        } catch (IllegalAccessException e) {
            throw new AssertionError("All of these are accessible here", e);
        }
    }
}
