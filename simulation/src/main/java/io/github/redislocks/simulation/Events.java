package io.github.redislocks.simulation;

import io.github.redislocks.LockAcquired;
import io.github.redislocks.LockExpiring;
import io.github.redislocks.LockListener;
import io.github.redislocks.LockLost;
import io.github.redislocks.LockNotAcquired;
import io.github.redislocks.LockReleased;
import io.github.redislocks.RedisOutage;
import java.util.EnumMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Predicate;

/** The listener of one client. Checks that each possession is acquired once, and then released or lost once. */
final class Events implements LockListener {

    /** The last event of a possession. */
    enum State {
        ACQUIRED,
        RELEASED,
        LOST
    }

    private final World world;
    private final int number;
    private final String client;
    private final Seeded random;
    private final boolean slow;
    private final boolean resident;
    private final boolean quorum;
    private final boolean shared;
    private final Predicate<String> mayLose;
    private final Predicate<String> mayRepeatTokens;
    private boolean awaits;
    private long drainsUntil;
    private int acquiring;
    private int outages;
    private final Set<String> expiring = new HashSet<>();
    private final Map<String, State> possessions = new LinkedHashMap<>();
    /** In a schedule with readers, how many events of each state there were of each lock and token. */
    private final Map<String, Map<State, Integer>> counts = new LinkedHashMap<>();

    /**
     * Makes a listener.
     *
     * @param shared whether some callers read, so that several possessions have one token
     * @param mayLose whether Redis may lose a hold of a lock
     * @param mayRepeatTokens whether a token of a lock, and so the name of a possession, may be given twice
     */
    Events(
            World world,
            int number,
            Seeded random,
            boolean slow,
            boolean resident,
            boolean quorum,
            boolean shared,
            Predicate<String> mayLose,
            Predicate<String> mayRepeatTokens) {
        this.resident = resident;
        this.quorum = quorum;
        this.shared = shared;
        this.mayLose = mayLose;
        this.mayRepeatTokens = mayRepeatTokens;
        this.world = world;
        this.number = number;
        this.client = "c" + number;
        this.random = random;
        this.slow = slow;
    }

    /**
     * Notes that the client refuses calls from now on, and that holders may go on until the given time of the client's
     * clock.
     */
    void drainsUntil(long nanos) {
        drainsUntil = nanos;
    }

    @Override
    public Acquiring acquiring(String lockName) {
        acquiring++;
        return new Acquiring() {
            private boolean ended;

            @Override
            public void acquired(LockAcquired event) {
                ends();
            }

            @Override
            public void notAcquired(LockNotAcquired event) {
                ends();
            }

            private void ends() {
                acquiring--;
                if (ended) {
                    world.fail(client + " hears twice how a call for " + lockName + " ends");
                }
                ended = true;
            }
        };
    }

    @Override
    public void expiring(LockExpiring event) {
        String possession = event.lockName() + "/" + event.token();
        if (!expiring.add(possession)) {
            world.fail(client + " hears twice that " + possession + " will be held too long");
        }
        slowly();
    }

    @Override
    public void outageBegan(RedisOutage outage) {
        if (++outages > 1 && !quorum) {
            world.fail(client + " hears of a second outage in the midst of the first");
        }
        slowly();
    }

    @Override
    public void outageEnded(RedisOutage outage) {
        if (--outages < 0) {
            world.fail(client + " hears of the end of an outage that never began");
        }
        slowly();
    }

    @Override
    public void acquired(LockAcquired event) {
        told(event.lockName(), event.token(), State.ACQUIRED);
    }

    @Override
    public void released(LockReleased event) {
        told(event.lockName(), event.token(), State.RELEASED);
    }

    @Override
    public void lost(LockLost event) {
        world.event("%s hears that %s was lost: %s", client, event.lockName(), event.reason());
        boolean caused = event.reason() != LockLost.Reason.TAKEN && event.reason() != LockLost.Reason.UNCONFIRMED;
        if (!caused && !mayLose.test(event.lockName())) {
            world.fail(client + " hears that " + event.lockName() + " was lost without a cause: " + event.reason());
        }
        if (event.reason() == LockLost.Reason.CLOSED && world.now(number) < drainsUntil) {
            world.fail(client + " ends a hold of " + event.lockName() + " before the time of its close");
        }
        told(event.lockName(), event.token(), State.LOST);
        slowly();
    }

    /** Makes the thread of the listeners slow in some schedules. */
    private void slowly() {
        if (slow && random.oneIn(3)) {
            LockSupport.parkNanos(random.between(1_000_000, 50_000_000));
        }
    }

    private void told(String name, long token, State next) {
        String possession = name + "/" + token;
        if (shared) {
            counts.computeIfAbsent(possession, key -> new EnumMap<>(State.class))
                    .merge(next, 1, Integer::sum);
            if (!resident && !awaits && next != State.ACQUIRED && open(possession) < 0) {
                world.fail(client + " hears " + next + " of " + possession + " too often");
            }
            return;
        }
        State before = possessions.put(possession, next);
        // A hold after a wait in a Condition has another token, and no event reports its beginning.
        boolean ends = mayHearLate(before, next) || before == State.ACQUIRED || before == null && awaits;
        boolean begins = before == null || before != State.ACQUIRED && mayRepeatTokens.test(name);
        boolean expected = next == State.ACQUIRED ? begins : ends;
        if (!expected) {
            world.fail(client + " hears " + next + " of " + possession + " after " + before);
        }
    }

    /**
     * Whether the event {@code next} may follow {@code before}: a kept lock may be found to be lost after a thread has
     * unlocked it.
     */
    boolean mayHearLate(State before, State next) {
        return resident && before == State.RELEASED && next == State.LOST;
    }

    /** How many possessions with a lock and token have begun and not ended. */
    private int open(String possession) {
        Map<State, Integer> told = counts.get(possession);
        return told.getOrDefault(State.ACQUIRED, 0)
                - told.getOrDefault(State.RELEASED, 0)
                - told.getOrDefault(State.LOST, 0);
    }

    /** How many events of a state there were of a lock and token. */
    int count(String name, long token, State state) {
        return counts.getOrDefault(name + "/" + token, Map.of()).getOrDefault(state, 0);
    }

    /** The last event of a possession; null if there was none. */
    State endOf(String name, long token) {
        return possessions.get(name + "/" + token);
    }

    /** Notes that, from now on, some possessions begin or end in a Condition, without an event. */
    void awaits() {
        awaits = true;
    }

    /** Checks that all possessions have ended. Call when the client is closed. */
    void checkEnded() {
        for (String possession : counts.keySet()) {
            if (open(possession) > 0 && !awaits) {
                world.fail(client + " hears no end of " + possession);
            }
        }
        possessions.forEach((possession, state) -> {
            if (state == State.ACQUIRED && !awaits) {
                world.fail(client + " hears no end of " + possession);
            }
        });
        if (acquiring != 0) {
            world.fail(client + " hears of " + acquiring + " calls not how they end");
        }
    }
}
