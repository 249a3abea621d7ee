package io.github.redislocks.jfr;

import io.github.redislocks.LockAcquired;
import io.github.redislocks.LockListener;
import io.github.redislocks.LockLost;
import io.github.redislocks.LockNotAcquired;
import io.github.redislocks.LockReleased;
import io.github.redislocks.LocksRenewed;
import io.github.redislocks.RedisOutage;
import java.time.Duration;

/**
 * The listener that writes what happens into the recordings of Java Flight Recorder that are running. While none is,
 * nothing is made: {@link #isOn} is false.
 */
public final class FlightRecording implements LockListener {

    /** Instances that are asked whether events of their kind are recorded. */
    private final LockWaitEvent wait = new LockWaitEvent();

    private final LockHoldEvent hold = new LockHoldEvent();
    private final LockLostEvent loss = new LockLostEvent();
    private final RenewalEvent renewal = new RenewalEvent();
    private final RedisOutageEvent outage = new RedisOutageEvent();

    private FlightRecording() {}

    /** A listener that is told of all; it is on only where the JVM has Flight Recorder and a recording runs. */
    public static LockListener make() {
        try {
            return new FlightRecording();
        } catch (LinkageError noFlightRecorder) {
            return new LockListener() {};
        }
    }

    /** Whether a recording runs that wants any of the events. */
    public static boolean isOn(LockListener made) {
        return made instanceof FlightRecording recording && recording.isWanted();
    }

    private boolean isWanted() {
        return wait.isEnabled() || hold.isEnabled() || loss.isEnabled() || renewal.isEnabled() || outage.isEnabled();
    }

    @Override
    public void acquired(LockAcquired event) {
        LockWaitEvent told = new LockWaitEvent();
        told.lock = event.lockName();
        told.outcome = "ACQUIRED";
        told.token = event.token();
        told.waited = nanos(event.waited());
        told.previousHolderLost = event.previousHolderLost();
        told.local = event.isLocal();
        told.commit();
    }

    @Override
    public void notAcquired(LockNotAcquired event) {
        LockWaitEvent told = new LockWaitEvent();
        told.lock = event.lockName();
        told.outcome = event.outcome().name();
        told.waited = nanos(event.waited());
        told.commit();
    }

    @Override
    public void released(LockReleased event) {
        LockHoldEvent told = new LockHoldEvent();
        told.lock = event.lockName();
        told.token = event.token();
        told.held = nanos(event.held());
        told.commit();
    }

    @Override
    public void lost(LockLost event) {
        LockLostEvent told = new LockLostEvent();
        told.lock = event.lockName();
        told.token = event.token();
        told.owner = event.owner();
        told.reason = event.reason().name();
        told.commit();
    }

    @Override
    public void renewed(LocksRenewed event) {
        RenewalEvent told = new RenewalEvent();
        told.count = event.count();
        told.commit();
    }

    @Override
    public void outageBegan(RedisOutage event) {
        outage(event, false);
    }

    @Override
    public void outageEnded(RedisOutage event) {
        outage(event, true);
    }

    private static void outage(RedisOutage event, boolean ended) {
        RedisOutageEvent told = new RedisOutageEvent();
        told.server = event.server();
        told.failure = event.failure();
        told.ended = ended;
        told.lasted = nanos(event.lasted());
        told.commit();
    }

    private static long nanos(Duration time) {
        try {
            return time.toNanos();
        } catch (ArithmeticException longerThanCenturies) {
            return Long.MAX_VALUE;
        }
    }
}
