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
import io.github.redislocks.concurrent.BackgroundLog;
import io.github.redislocks.concurrent.CallbackExecutor;
import io.github.redislocks.concurrent.Loggers;
import io.github.redislocks.concurrent.Shown;
import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.jfr.FlightRecording;
import io.github.redislocks.state.Held;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.LossSubject;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BiConsumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Notifies the user's listeners and handles. A thread of the application publishes the events of its own calls; threads
 * of {@link CallbackExecutor} publish all others, so that slow code of the user delays no renewal. Listeners have one
 * thread for losses and one for all other events. Callbacks of handles delay nothing else, not even each other: while
 * some of them block, further threads run the others.
 *
 * <p>All queues are bounded. A hold has at most one entry for its loss and one for the warning before it. The renewals
 * share one entry, which counts them. Locks that were given up have at most {@link #MAX_GIVEN_UP} entries. At most one
 * outage starts in ten seconds.
 */
public final class EventNotifier {

    /** How many events of locks that were given up may wait for a slow listener. */
    static final int MAX_GIVEN_UP = 100_000;
    /** The most callbacks of handles that may block at once; the next ones wait. */
    private static final int MAX_CALLBACKS = 1_000;

    /** All listeners, each of which is notified of losses. The last one writes recordings. */
    private final LockListener[] listeners;
    /** The listeners for all events other than losses. The last one writes recordings. */
    private final LockListener[] generalListeners;

    private final LockListener recording = FlightRecording.make();

    private final CallbackExecutor losses;
    private final CallbackExecutor events;
    private final CallbackExecutor handles;
    private final BackgroundLog log;
    /**
     * How many renewals have not been published yet; {@link #renewalTasks} counts the waiting tasks that publish them.
     */
    private final AtomicInteger renewals = new AtomicInteger();

    private final AtomicInteger renewalTasks = new AtomicInteger();
    private final AtomicInteger givenUpTasks = new AtomicInteger();
    private final AtomicLong givenUpDropped = new AtomicLong();

    public EventNotifier(List<LockListener> listeners) {
        this(listeners, Threads.DAEMONS);
    }

    public EventNotifier(List<LockListener> listeners, Threads threads) {
        this.listeners = withRecording(listeners);
        this.generalListeners = withRecording(listeners.stream()
                .filter(listener -> !(listener instanceof LossCallback))
                .toList());
        this.log = new BackgroundLog(threads);
        this.losses = new CallbackExecutor("lock listeners", 1, threads.factory("loss-listener"));
        this.events = new CallbackExecutor("lock listeners", 1, threads.factory("listener"));
        this.handles = new CallbackExecutor("lock handles", MAX_CALLBACKS, threads.factory("handles"));
    }

    private LockListener[] withRecording(List<LockListener> some) {
        List<LockListener> all = new ArrayList<>(some);
        all.add(recording);
        return all.toArray(new LockListener[0]);
    }

    /** Whether a listener wants more than losses, or a recording runs. If not, only losses need an event. */
    public boolean isHeard() {
        return generalListeners.length > 1 || FlightRecording.isOn(recording);
    }

    private static <E> void publish(LockListener[] listeners, E event, BiConsumer<LockListener, E> method) {
        for (LockListener listener : listeners) {
            Loggers.LOSS.guard(listener, event, method);
        }
    }

    private <E> void publish(E event, BiConsumer<LockListener, E> method) {
        publish(generalListeners, event, method);
    }

    /** The log for threads that must not wait. */
    public BackgroundLog log() {
        return log;
    }

    /**
     * Runs a task that may call users' code, such as a callback of {@code LockHandle.lost()}. A task that blocks does
     * not delay the next. The number of handles bounds the queue.
     */
    public void notifyHandle(Runnable task) {
        handles.add(task);
    }

    /** Publishes and logs a loss. If this method throws for want of memory, the caller may repeat the call. */
    public void lost(LockLost loss, LossSubject subject) {
        if (subject.isOfHandle()) {
            notifyHandle(() -> subject.tellHandle(loss));
        }
        publishLoss(loss, subject);
        // Log last, so that a repeated call does not log the loss twice.
        log.add(() -> Loggers.LOSS.warn(
                "The {} (token {}) of {} was lost: {}",
                subject.shown(loss),
                loss.token(),
                loss.owner(),
                loss.reason()));
    }

    private void publishLoss(LockLost loss, LossSubject subject) {
        if (listeners.length > 1 || FlightRecording.isOn(recording)) {
            losses.add(() -> {
                // If the acquisition is not published yet, the thread that publishes it adds the loss again.
                if ((generalListeners.length == 1 || subject.isAnnounced()) && subject.isToldFirst()) {
                    publish(listeners, loss, LockListener::lost);
                }
            });
        }
    }

    /** Publishes and logs that a hold will be lost soon, since its maxHold is nearly over. */
    public void expiring(Hold hold, long now) {
        long maxHoldMillis = hold.maxHoldMillis();
        Duration left = since(now, hold.endNanos());
        LockExpiring event = LockExpiring.of(hold.keys().name(), hold.token, hold.owner.description(), left);
        log.add(() -> Loggers.LOSS.warn(
                "The {} (token {}) of {} will be lost in {} ms, since its maxHold is {}: name a longer"
                        + " maxHold if the work takes that long; if it does not, see what keeps it",
                hold.keys().shown(),
                event.token(),
                event.owner(),
                left.toMillis(),
                Shown.of(Duration.ofMillis(maxHoldMillis))));
        if (isHeard()) {
            events.add(() -> publish(event, LockListener::expiring));
        }
    }

    /** Publishes that holds were renewed or confirmed. */
    public void renewed(int count) {
        if (!isHeard() || count == 0) {
            return;
        }
        renewals.addAndGet(count);
        if (renewalTasks.get() <= 0) {
            events.add(this::publishRenewals);
            // Count the task after it is queued, so that a failed allocation leaves no count without a task.
            renewalTasks.incrementAndGet();
        }
    }

    private void publishRenewals() {
        renewalTasks.decrementAndGet();
        int count = renewals.getAndSet(0);
        if (count > 0) {
            publish(LocksRenewed.of(count), LockListener::renewed);
        }
    }

    /** Publishes that the client has given up a lock that it kept. */
    public void givenUp(Supplier<LockGivenUp> made) {
        if (!isHeard()) {
            return;
        }
        if (givenUpTasks.get() >= MAX_GIVEN_UP) {
            givenUpDropped.incrementAndGet();
            return;
        }
        LockGivenUp event = made.get();
        events.add(() -> publishGivenUp(event));
        givenUpTasks.incrementAndGet();
    }

    private void publishGivenUp(LockGivenUp event) {
        givenUpTasks.decrementAndGet();
        long dropped = givenUpDropped.getAndSet(0);
        if (dropped > 0) {
            Loggers.LOSS.warn(
                    "The lock listeners were not notified of {} locks that this client has given up, since they were"
                            + " too slow",
                    dropped);
        }
        publish(event, LockListener::givenUp);
    }

    /** Publishes that a server does not answer. */
    public void outageBegan(Supplier<String> server, String failure, long lastedNanos) {
        outage(server, failure, lastedNanos, LockListener::outageBegan);
    }

    /** Publishes that a server answers again, or that another server has replaced it. */
    public void outageEnded(Supplier<String> server, String failure, long lastedNanos) {
        outage(server, failure, lastedNanos, LockListener::outageEnded);
    }

    private void outage(
            Supplier<String> server, String failure, long lastedNanos, BiConsumer<LockListener, RedisOutage> method) {
        if (isHeard()) {
            RedisOutage outage = RedisOutage.of(server.get(), failure, Duration.ofNanos(Math.max(0, lastedNanos)));
            events.add(() -> publish(outage, method));
        }
    }

    /**
     * Publishes, in the calling thread, that a call for a lock starts; returns the object that follows the call, or
     * null if no listener does.
     */
    public LockListener.@Nullable Acquiring begun(LockKeys keys) {
        return FollowedCall.start(generalListeners, keys.name());
    }

    /**
     * Publishes, in the calling thread, that a call has acquired a lock. Never throws: after an error the caller would
     * not know that it holds the lock.
     *
     * @param sinceNanos when the call started
     * @param call the result of {@link #begun}
     */
    public void acquired(LockKeys keys, Held hold, long sinceNanos, LockListener.@Nullable Acquiring call) {
        try {
            publishAcquired(keys, hold, sinceNanos, call);
        } catch (Throwable e) {
            Loggers.INTERNAL.error("The acquisition of a lock could not be published", e);
        }
    }

    private void publishAcquired(LockKeys keys, Held hold, long sinceNanos, LockListener.@Nullable Acquiring call) {
        try {
            Duration waited = since(sinceNanos, hold.acquiredNanos);
            LockAcquired event = LockAcquired.of(keys.name(), hold.token, waited, hold.previousLost, hold.isUnasked())
                    .withMode(keys.mode())
                    .withOwnerId(hold.owner.id);
            publish(event, LockListener::acquired);
            if (call != null) {
                call.acquired(event);
            }
        } finally {
            hold.announced();
            LockLost.Reason reason = hold.lossReason();
            if (reason != null) {
                // Publish the loss now: before the acquisition was published, no listener was notified of the loss.
                publishLoss(hold.loss(reason), hold);
            }
        }
    }

    /** Publishes, in the calling thread, that a call has not acquired a lock in {@code triedNanos}. */
    public void notAcquired(LockKeys keys, long triedNanos, LockNotAcquired.Outcome outcome) {
        if (isHeard()) {
            notAcquired(keys, triedNanos, outcome, begun(keys));
        }
    }

    /** Publishes, in the calling thread, that a call whose start was published has not acquired a lock. */
    public void notAcquired(
            LockKeys keys, long triedNanos, LockNotAcquired.Outcome outcome, LockListener.@Nullable Acquiring call) {
        if (!isHeard()) {
            return;
        }
        LockNotAcquired event =
                LockNotAcquired.of(keys.name(), since(0, triedNanos), outcome).withMode(keys.mode());
        publish(event, LockListener::notAcquired);
        if (call != null) {
            call.notAcquired(event);
        }
    }

    /** Publishes, in the calling thread, that the thread released a lock at the given time. */
    public void released(LockKeys keys, Held hold, long atNanos) {
        if (isHeard()) {
            Duration held = since(hold.acquiredNanos, atNanos);
            Duration left = Duration.ofMillis(hold.owner.keepsMillis()).minus(held);
            publish(
                    LockReleased.of(keys.name(), hold.token, held, left.isNegative() ? Duration.ZERO : left)
                            .withMode(keys.mode())
                            .withOwnerId(hold.owner.id),
                    LockListener::released);
        }
    }

    /** Publishes and logs, in the calling thread, that the thread has forced a lock open. */
    public void forced(LockKeys keys, long token, String clientId) {
        String thread = Threads.name(Thread.currentThread());
        Loggers.FORCED.info(
                "The lock \"{}\" was forced open by thread {} of client {}: its hold with token {} is no longer valid",
                Shown.of(keys.name()),
                Shown.of(thread),
                clientId,
                token);
        if (isHeard()) {
            publish(LockForced.of(keys.name(), token, "thread " + thread), LockListener::forced);
        }
    }

    private static Duration since(long fromNanos, long untilNanos) {
        return Duration.ofNanos(Math.max(0, untilNanos - fromNanos));
    }

    /** Starts the threads for which tasks wait, in case the system had no thread when the tasks were added. */
    public void startThreads() {
        handles.start();
        losses.start();
        events.start();
        log.start();
    }

    /** Waits until no event is to be published, at most for {@code limit}. Later events are published too. */
    public void awaitTold(Duration limit) {
        long end = System.nanoTime() + limit.toNanos();
        await("lock handles", handles, end);
        await("lock listeners", losses, end);
        await("lock listeners", events, end);
        log.await(limit);
    }

    private void await(String callbacks, CallbackExecutor executor, long end) {
        if (!executor.await(Duration.ofNanos(Math.max(0, end - System.nanoTime())))) {
            log.add(() ->
                    Loggers.LOSS.warn("One of the {} is still busy; it goes on while the client closes", callbacks));
        }
    }
}
