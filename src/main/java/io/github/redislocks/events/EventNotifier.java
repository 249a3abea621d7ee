package io.github.redislocks.events;

import io.github.redislocks.LockAcquired;
import io.github.redislocks.LockExpiring;
import io.github.redislocks.LockForced;
import io.github.redislocks.LockGivenUp;
import io.github.redislocks.LockListener;
import io.github.redislocks.LockLost;
import io.github.redislocks.LockNotAcquired;
import io.github.redislocks.LockReleased;
import io.github.redislocks.LocksRenewed;
import io.github.redislocks.RedisOutage;
import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.concurrent.LateLog;
import io.github.redislocks.concurrent.Loggers;
import io.github.redislocks.concurrent.Shown;
import io.github.redislocks.concurrent.TellingThread;
import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.jfr.FlightRecording;
import io.github.redislocks.state.GivingUp;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.LocalHold;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.LossSubject;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Tells the user's listeners and handles what happens. A thread of the application tells what it does itself; threads
 * that come and go tell the rest, so that slow code of the user delays no renewal. Listeners have a thread for losses
 * and one for all else. What handles are told delays nothing else, since a further thread goes on while code of a
 * handle's user blocks. The queues are bounded: by the number of holds, which are lost once each and warned of once; by
 * one entry for renewals, which are counted while they wait; by a number of locks that were given up; and by the
 * outages, of which one is told in ten seconds.
 */
public final class EventNotifier {

    /** So many locks that were given up wait at most for a slow listener. */
    static final int MOST_GIVEN_UP = 100_000;
    /** While so many callbacks of handles block, those that follow wait. */
    private static final int MOST_CALLBACKS = 1_000;

    /** Those that are told of losses, which is all; the last is the one that writes recordings. */
    private final LockListener[] listeners;
    /** Those that are told of all else; the last is the same. */
    private final LockListener[] attentive;

    private final LockListener recording = FlightRecording.make();

    private final TellingThread lossesToListeners;
    private final TellingThread toListeners;
    private final TellingThread toHandles;
    private final List<TellingThread> all;
    private final LateLog log;
    /** How many renewals have not been told. */
    private final AtomicLong renewals = new AtomicLong();
    /** How many locks that were given up have not been told. */
    private final AtomicInteger givenUp = new AtomicInteger();
    /** How many of them will never be, since too many were not. */
    private final AtomicLong leftOut = new AtomicLong();

    public EventNotifier(List<LockListener> listeners) {
        this(listeners, Threads.DAEMONS);
    }

    public EventNotifier(List<LockListener> listeners, Threads threads) {
        this.listeners = withRecording(listeners);
        this.attentive = withRecording(listeners.stream()
                .filter(listener -> !(listener instanceof LossCallback))
                .toList());
        LateLog log = new LateLog(threads);
        this.log = log;
        this.lossesToListeners = new TellingThread("lock listeners", 1, threads.factory("loss-listener"), log);
        this.toListeners = new TellingThread("lock listeners", 1, threads.factory("listener"), log);
        this.toHandles = new TellingThread("lock handles", MOST_CALLBACKS, threads.factory("handles"), log);
        this.all = List.of(toHandles, lossesToListeners, toListeners);
    }

    private LockListener[] withRecording(List<LockListener> some) {
        List<LockListener> all = new ArrayList<>(some);
        all.add(recording);
        return all.toArray(new LockListener[0]);
    }

    /** Whether anybody listens for more than losses, or a recording runs; if not, no other event need be made. */
    public boolean isHeard() {
        return attentive.length > 1 || FlightRecording.isOn(recording);
    }

    /** Reports one event to each of these listeners. */
    private static void tell(LockListener[] listeners, Object event, Consumer<LockListener> telling) {
        for (LockListener listener : listeners) {
            try {
                telling.accept(listener);
            } catch (Throwable e) {
                Loggers.LOSS.error(
                        "The lock listener {} failed for {}",
                        listener.getClass().getName(),
                        event,
                        e);
            }
        }
    }

    private void tell(Object event, Consumer<LockListener> telling) {
        tell(attentive, event, telling);
    }

    private void later(Object event, Consumer<LockListener> telling) {
        toListeners.add(() -> tell(event, telling));
    }

    /** Logs what the threads that renew find. */
    public LateLog log() {
        return log;
    }

    /**
     * Runs what may run code of a handle's user, such as what depends on one of its stages; not behind another that
     * blocks. The bound of the queue is the number of handles.
     */
    public void tellHandle(Runnable task) {
        toHandles.add(() -> {
            try {
                task.run();
            } catch (Throwable e) {
                Loggers.INTERNAL.error("A lock handle could not be told", e);
            }
        });
    }

    /** Reports and logs a loss. If it throws for want of memory, it may be said again. */
    public void lost(LockLost loss, LossSubject subject) {
        if (subject.isOfHandle()) {
            tellHandle(() -> subject.tellHandle(loss));
        }
        tellListeners(loss, subject);
        // Last: whoever reports the loss again, since this met an error, finds no line of it in the log.
        log.addOrThrow(() -> Loggers.LOSS.warn(
                "The lock \"{}\" (token {}) of {} was lost: {}",
                Shown.of(loss.lockName()),
                loss.token(),
                loss.owner(),
                loss.reason()));
    }

    private void tellListeners(LockLost loss, LossSubject subject) {
        if (listeners.length > 1 || FlightRecording.isOn(recording)) {
            lossesToListeners.add(() -> {
                // The thread that tells of the acquisition adds the loss again.
                if ((attentive.length == 1 || subject.isAnnounced()) && subject.isToldFirst()) {
                    tell(listeners, loss, listener -> listener.lost(loss));
                }
            });
        }
    }

    /** Reports and logs that a hold ends soon, since it may not last for ever; without memory it does not. */
    public void expiring(Hold hold, long now) {
        try {
            tellExpiring(hold, now);
        } catch (OutOfMemoryError e) {
            log.add(EventNotifier::noMemory);
        }
    }

    private void tellExpiring(Hold hold, long now) {
        long maxHoldMillis = hold.maxHoldMillis();
        Duration left = since(now, hold.endNanos());
        LockExpiring event = LockExpiring.of(hold.keys().name(), hold.token, hold.owner.description(), left);
        log.add(() -> Loggers.LOSS.warn(
                "The lock \"{}\" (token {}) of {} will be lost in {} ms, since its maxHold is {}: name a longer"
                        + " maxHold if the work takes that long; if it does not, see what keeps it",
                Shown.of(event.lockName()),
                event.token(),
                event.owner(),
                left.toMillis(),
                Shown.of(Duration.ofMillis(maxHoldMillis))));
        if (isHeard()) {
            later(event, listener -> listener.expiring(event));
        }
    }

    /** Reports that holds were renewed or confirmed. */
    public void renewed(int count) {
        if (!isHeard() || count == 0 || renewals.getAndAdd(count) > 0) {
            return;
        }
        try {
            toListeners.add(() -> {
                LocksRenewed event = LocksRenewed.of(renewals.getAndSet(0));
                tell(event, listener -> listener.renewed(event));
            });
        } catch (OutOfMemoryError e) {
            // These renewals are not reported; the next ones are.
            renewals.set(0);
        }
    }

    /** Reports that the client has given up a lock that it kept, at a time. Never throws. */
    public void givenUp(GivingUp told, long now) {
        if (!isHeard()) {
            return;
        }
        if (givenUp.incrementAndGet() > MOST_GIVEN_UP) {
            givenUp.decrementAndGet();
            leftOut.incrementAndGet();
            return;
        }
        try {
            LockGivenUp event = told.at(now);
            toListeners.add(() -> {
                givenUp.decrementAndGet();
                logLeftOut();
                tell(event, listener -> listener.givenUp(event));
            });
        } catch (Throwable e) {
            givenUp.decrementAndGet();
            log.add(EventNotifier::noMemory);
        }
    }

    private void logLeftOut() {
        long count = leftOut.getAndSet(0);
        if (count > 0) {
            Loggers.LOSS.warn(
                    "The lock listeners were not told of {} locks that this client has given up, since they were too"
                            + " slow",
                    count);
        }
    }

    /** Reports that a server does not answer. */
    public void outageBegan(Supplier<String> server, String failure, long lastedNanos) {
        outage(server, failure, lastedNanos, true);
    }

    /** Reports that a server answers again, or that another has taken its place. */
    public void outageEnded(Supplier<String> server, String failure, long lastedNanos) {
        outage(server, failure, lastedNanos, false);
    }

    private void outage(Supplier<String> server, String failure, long lastedNanos, boolean began) {
        if (!isHeard()) {
            return;
        }
        try {
            RedisOutage outage = RedisOutage.of(server.get(), failure, Duration.ofNanos(Math.max(0, lastedNanos)));
            later(outage, began ? listener -> listener.outageBegan(outage) : listener -> listener.outageEnded(outage));
        } catch (OutOfMemoryError e) {
            // The caller has the outage to deal with, and must not get this error as well.
            log.add(EventNotifier::noMemory);
        }
    }

    /**
     * Reports, in the calling thread, that it begins to acquire a lock; returns what is to be told of the end, or null.
     * Never throws.
     */
    public LockListener.@Nullable Acquiring begun(LockKeys keys) {
        return FollowedCall.begun(attentive, keys.name());
    }

    /**
     * Reports, in the calling thread, that it has acquired a lock that it has wanted since the given time, by a call
     * whose beginning was told. Never throws.
     */
    public void acquired(LockKeys keys, Hold hold, long sinceNanos, LockListener.@Nullable Acquiring call) {
        try {
            boolean isLocal = hold instanceof LocalHold local && !local.hasAsked();
            Duration waited = since(sinceNanos, hold.acquiredNanos);
            LockAcquired event = LockAcquired.of(keys.name(), hold.token, waited, hold.previousLost, isLocal);
            tell(event, listener -> listener.acquired(event));
            if (call != null) {
                FollowedCall.tellEnd(call, event);
            }
        } catch (Throwable e) {
            untold(e);
        }
        announced(hold);
    }

    /** Tells of a loss that waited until the acquisition was told. */
    private void announced(Hold hold) {
        hold.announced();
        LockLost.Reason reason = hold.lossReason();
        if (reason != null) {
            try {
                tellListeners(hold.loss(reason), hold);
            } catch (Throwable e) {
                untold(e);
            }
        }
    }

    /**
     * Reports, in the calling thread, that it has given up acquiring a lock that it has wanted since the given time, 0
     * if it has not begun. Never throws.
     */
    public void notAcquired(LockKeys keys, Clock clock, long sinceNanos, LockNotAcquired.Outcome outcome) {
        if (isHeard()) {
            notAcquired(keys, clock, sinceNanos, outcome, begun(keys));
        }
    }

    /** As above, of a call whose beginning was told. */
    public void notAcquired(
            LockKeys keys,
            Clock clock,
            long sinceNanos,
            LockNotAcquired.Outcome outcome,
            LockListener.@Nullable Acquiring call) {
        if (!isHeard()) {
            return;
        }
        try {
            Duration tried = sinceNanos == 0 ? Duration.ZERO : since(sinceNanos, clock.nanoTime());
            LockNotAcquired event = LockNotAcquired.of(keys.name(), tried, outcome);
            tell(event, listener -> listener.notAcquired(event));
            if (call != null) {
                FollowedCall.tellEnd(call, event);
            }
        } catch (Throwable e) {
            untold(e);
        }
    }

    /** Reports, in the calling thread, that it released a lock at the given time. Never throws. */
    public void released(LockKeys keys, Hold hold, long atNanos) {
        if (!isHeard()) {
            return;
        }
        try {
            Duration held = since(hold.acquiredNanos, atNanos);
            Duration left = Duration.ofMillis(hold.owner.keepsMillis()).minus(held);
            LockReleased event =
                    LockReleased.of(keys.name(), hold.token, held, left.isNegative() ? Duration.ZERO : left);
            tell(event, listener -> listener.released(event));
        } catch (Throwable e) {
            untold(e);
        }
    }

    /** Reports and logs, in the calling thread, that it has forced a lock open. */
    public void forced(LockKeys keys, long token, String clientId) {
        String thread = Threads.name(Thread.currentThread());
        Loggers.FORCED.info(
                "The lock \"{}\" was forced open by thread {} of client {}: its hold with token {} counts no more",
                Shown.of(keys.name()),
                Shown.of(thread),
                clientId,
                token);
        if (!isHeard()) {
            return;
        }
        try {
            LockForced event = LockForced.of(keys.name(), token, "thread " + thread);
            tell(event, listener -> listener.forced(event));
        } catch (Throwable e) {
            untold(e);
        }
    }

    private static Duration since(long fromNanos, long untilNanos) {
        return Duration.ofNanos(Math.max(0, untilNanos - fromNanos));
    }

    private static void noMemory() {
        Loggers.INTERNAL.error("There was no memory to tell the lock listeners of an outage or of the end of a hold");
    }

    /** Logs that listeners could not be told, which must not undo what the call has done. */
    private static void untold(Throwable e) {
        Loggers.INTERNAL.error("The lock listeners could not be told", e);
    }

    /** Starts the threads that have something to tell; to be said again if the system had no thread to give. */
    public void startThreads() {
        for (int i = 0; i < all.size(); i++) {
            all.get(i).start();
        }
        log.start();
    }

    /**
     * Lets what has happened so far be told, for a time. What the watchdog finds lost while the client closes is told
     * as well.
     */
    public void awaitTold(Duration limit) {
        long end = System.nanoTime() + limit.toNanos();
        for (TellingThread each : all) {
            each.await(Duration.ofNanos(Math.max(0, end - System.nanoTime())));
        }
        log.await(limit);
    }
}
