package io.github.redislocks;

import com.github.benmanes.caffeine.cache.RemovalCause;
import java.lang.invoke.MethodHandles;
import java.util.List;

/**
 * The classes that a client needs later than it connects, and whose initialization may fail. A class that meets an
 * {@link OutOfMemoryError} then can never be used again (JLS 12.4.2): a heap that was full for a moment would leave a
 * process without locks until its end. So they are initialized, and what they do is done once, when a client is made,
 * which tells its maker.
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
        initializeAll();
        drill();
    }

    /**
     * Does once what may first be wanted while memory is wanting. A lambda is linked when it is first come to, and of
     * one that could not be linked JDK 25 says so for ever.
     */
    private static void drill() {
        Keys keys = Keys.of("redis-locks", "drill");
        LocalOwner nobody = new LocalOwner("drill");
        Attempt[] attempts = new Attempt[3];
        Gate gate = new Gate(Clock.SYSTEM);
        for (int i = 0; i < attempts.length; i++) {
            attempts[i] = new Attempt(i, keys, nobody, new Attempt.Wish(1, false, false), Patience.endless());
            gate.enter(attempts[i]);
        }
        gate.heir(keys, 0);
        gate.inherit(0, attempts[1]);
        gate.succeeded(keys, 1);
        gate.leave(attempts[2]);
        gate.exit(keys, 1);
        Hold hold = new Hold(attempts[1], new Attempt.Grant(1, false, 1, 1, true), 1, Long.MAX_VALUE, null);
        Holds holds = new Holds();
        holds.put(hold);
        holds.put(hold);
        holds.remove(hold);
        Protocol.leave(attempts[1], false, null, false);
    }

    private static void initializeAll() {
        try {
            for (Class<?> each : ALL) {
                MethodHandles.lookup().ensureInitialized(each);
            }
        } catch (IllegalAccessException e) {
            throw new AssertionError("All of these are accessible here", e);
        }
    }
}
