package io.github.redislocks.simulation;

import io.github.redislocks.LockAcquired;
import io.github.redislocks.LockListener;
import io.github.redislocks.LockLost;
import io.github.redislocks.LockReleased;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;

/** The listener of one client: each possession is acquired first, and then released or lost, once. */
final class Events implements LockListener {

    /** The last event of a possession. */
    enum State {
        ACQUIRED,
        RELEASED,
        LOST
    }

    private final World world;
    private final String client;
    private final Seeded random;
    private final boolean slow;
    private final boolean resident;
    private final Predicate<String> mayLose;
    private final BooleanSupplier mayRepeatTokens;
    private boolean awaits;
    private final Map<String, State> possessions = new LinkedHashMap<>();

    /**
     * Makes a listener.
     *
     * @param mayLose of which locks Redis may lose a hold
     * @param mayRepeatTokens whether a token, and so the name of a possession, may be given out again
     */
    Events(
            World world,
            String client,
            Seeded random,
            boolean slow,
            boolean resident,
            Predicate<String> mayLose,
            BooleanSupplier mayRepeatTokens) {
        this.resident = resident;
        this.mayLose = mayLose;
        this.mayRepeatTokens = mayRepeatTokens;
        this.world = world;
        this.client = client;
        this.random = random;
        this.slow = slow;
    }

    @Override
    public void acquired(LockAcquired event) {
        told(event.lockName() + "/" + event.token(), State.ACQUIRED);
    }

    @Override
    public void released(LockReleased event) {
        told(event.lockName() + "/" + event.token(), State.RELEASED);
    }

    @Override
    public void lost(LockLost event) {
        world.event("%s hears that %s was lost: %s", client, event.lockName(), event.reason());
        boolean caused = event.reason() != LockLost.Reason.TAKEN && event.reason() != LockLost.Reason.UNCONFIRMED;
        if (!caused && !mayLose.test(event.lockName())) {
            world.fail(client + " hears that " + event.lockName() + " was lost without a cause: " + event.reason());
        }
        told(event.lockName() + "/" + event.token(), State.LOST);
        if (slow && random.oneIn(3)) {
            LockSupport.parkNanos(random.between(1_000_000, 50_000_000));
        }
    }

    private void told(String possession, State next) {
        State before = possessions.put(possession, next);
        // A hold that came back from a Condition has another token, and nobody hears that it begins.
        boolean ends = mayHearLate(before, next) || before == State.ACQUIRED || before == null && awaits;
        boolean begins = before == null || before != State.ACQUIRED && mayRepeatTokens.getAsBoolean();
        boolean expected = next == State.ACQUIRED ? begins : ends;
        if (!expected) {
            world.fail(client + " hears " + next + " of " + possession + " after " + before);
        }
    }

    /**
     * Whether a listener may hear this after that: a kept lock may be found to be lost after a thread has unlocked it.
     */
    boolean mayHearLate(State before, State next) {
        return resident && before == State.RELEASED && next == State.LOST;
    }

    /** The last event of a possession; null if there was none. */
    State endOf(String name, long token) {
        return possessions.get(name + "/" + token);
    }

    /** From now on some possessions begin, or end, in a Condition, which no listener hears. */
    void awaits() {
        awaits = true;
    }

    /** All that began has to have ended, once the client is closed. */
    void checkEnded() {
        possessions.forEach((possession, state) -> {
            if (state == State.ACQUIRED && !awaits) {
                world.fail(client + " hears no end of " + possession);
            }
        });
    }
}
