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
 * The listener that writes events into the running recordings of Java Flight Recorder. While no recording runs,
 * {@link #isOn} is false and no event is created.
 */
public final class FlightRecording implements LockListener {

    /** An instance of each event, to check whether a recording wants the event. */
    private final LockWaitEvent wait = new LockWaitEvent();

    private final LockHoldEvent hold = new LockHoldEvent();
    private final LockLostEvent loss = new LockLostEvent();
    private final RenewalEvent renewal = new RenewalEvent();
    private final RedisOutageEvent outage = new RedisOutageEvent();

    private FlightRecording() {}

    /** Creates the listener; on a JVM without Flight Recorder, a listener that does nothing. */
    public static LockListener make() {
        try {
            return new FlightRecording();
        } catch (LinkageError noFlightRecorder) {
            return new LockListener() {};
        }
    }

    /** Whether a recording wants any of the events. */
    public static boolean isOn(LockListener made) {
        return made instanceof FlightRecording recording && recording.isWanted();
    }

    private boolean isWanted() {
        return wait.isEnabled() || hold.isEnabled() || loss.isEnabled() || renewal.isEnabled() || outage.isEnabled();
    }

    @Override
    public void acquired(LockAcquired event) {
        LockWaitEvent record = new LockWaitEvent();
        record.lock = event.lockName();
        record.mode = event.mode().name();
        record.outcome = "ACQUIRED";
        record.token = event.token();
        record.waited = nanos(event.waited());
        record.previousHolderLost = event.previousHolderLost();
        record.local = event.isLocal();
        record.commit();
    }

    @Override
    public void notAcquired(LockNotAcquired event) {
        LockWaitEvent record = new LockWaitEvent();
        record.lock = event.lockName();
        record.mode = event.mode().name();
        record.outcome = event.outcome().name();
        record.waited = nanos(event.waited());
        record.commit();
    }

    @Override
    public void released(LockReleased event) {
        LockHoldEvent record = new LockHoldEvent();
        record.lock = event.lockName();
        record.mode = event.mode().name();
        record.token = event.token();
        record.held = nanos(event.held());
        record.commit();
    }

    @Override
    public void lost(LockLost event) {
        LockLostEvent record = new LockLostEvent();
        record.lock = event.lockName();
        record.mode = event.mode().name();
        record.token = event.token();
        record.owner = event.owner();
        record.reason = event.reason().name();
        record.commit();
    }

    @Override
    public void renewed(LocksRenewed event) {
        RenewalEvent record = new RenewalEvent();
        record.count = event.count();
        record.commit();
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
        RedisOutageEvent record = new RedisOutageEvent();
        record.server = event.server();
        record.failure = event.failure();
        record.ended = ended;
        record.lasted = nanos(event.lasted());
        record.commit();
    }

    private static long nanos(Duration time) {
        try {
            return time.toNanos();
        } catch (ArithmeticException longerThanCenturies) {
            return Long.MAX_VALUE;
        }
    }
}
