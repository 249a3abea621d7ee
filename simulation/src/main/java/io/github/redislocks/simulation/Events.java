package io.github.redislocks.simulation;

import io.github.redislocks.LockAcquired;
import io.github.redislocks.LockListener;
import io.github.redislocks.LockLost;
import io.github.redislocks.LockReleased;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;

/** The listener of one client: each possession is acquired first, and then released or lost, once. */
final class Events implements LockListener {

    private enum State {
        ACQUIRED,
        RELEASED,
        LOST
    }

    private final World world;
    private final String client;
    private final Seeded random;
    private final boolean slow;
    private final boolean resident;
    private boolean awaits;
    private final Map<String, State> possessions = new LinkedHashMap<>();

    Events(World world, String client, Seeded random, boolean slow, boolean resident) {
        this.resident = resident;
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
        told(event.lockName() + "/" + event.token(), State.LOST);
        if (slow && random.oneIn(3)) {
            LockSupport.parkNanos(random.between(1_000_000, 50_000_000));
        }
    }

    private void told(String possession, State next) {
        State before = possessions.put(possession, next);
        // A hold that came back from a Condition has another token, and nobody hears that it begins.
        // A kept lock may be found to be deleted or forced after a thread has unlocked it, which is told then.
        boolean late = next == State.LOST && before == State.RELEASED && resident;
        boolean ends = late || before == State.ACQUIRED || before == null && awaits;
        boolean expected = next == State.ACQUIRED ? before == null : ends;
        if (!expected) {
            world.fail(client + " hears " + next + " of " + possession + " after " + before);
        }
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
