package io.github.redislocks.engine;

import io.github.redislocks.LockInspection;
import io.github.redislocks.LockListener;
import io.github.redislocks.LockLost;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.events.EventNotifier;
import io.github.redislocks.health.MonitoredRedis;
import io.github.redislocks.health.RedisAccess;
import io.github.redislocks.health.UnavailableMessages;
import io.github.redislocks.lease.Losses;
import io.github.redislocks.lease.Renewals;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.ServerTimes;
import io.github.redislocks.script.Scripts;
import io.github.redislocks.state.FailoverEpoch;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Holds;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Owners;
import io.github.redislocks.state.Settings;
import io.github.redislocks.waiting.Acquisitions;
import io.github.redislocks.waiting.Attempts;
import io.github.redislocks.waiting.Handoff;
import io.github.redislocks.waiting.Heartbeats;
import io.github.redislocks.waiting.LocalQueue;
import io.github.redislocks.waiting.Lookout;
import io.github.redislocks.waiting.Mailbox;
import io.github.redislocks.waiting.Settlements;
import io.github.redislocks.waiting.WaitingParts;
import io.github.redislocks.watchdog.Watchdog;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;

/**
 * One JVM's part in the protocol: its identity, what it holds, who waits, and the background work. Every lock of a
 * {@link RedisLocks} shares it.
 */
public final class LockClient {

    /** How often {@link #close} looks whether calls under way have ended. */
    private static final long CLOSE_TICK_NANOS = 2_000_000;

    public final String id;
    public final Settings settings;
    public final Clock clock;
    public final Redis redis;
    public final Holds holds = new Holds();
    public final LocalQueue localQueue;
    private final FailoverEpoch epoch = new FailoverEpoch();
    private final ServerTimes serverTimes;
    public final MonitoredRedis monitored;
    private final UnavailableMessages unavailable;
    public final Losses losses;
    public final Watchdog watchdog;
    public final Attempts attempts;
    public final Mailbox mailbox;
    private final Handoff handoff;
    public final Owners owners;
    public final Settlements settlements;
    private final LockEngine engine;
    private final Conditions conditions;
    private final LockQueries queries;
    private final Renewals renewals;
    private final FailoverGuard serverWatch;
    private final AtomicBoolean closing = new AtomicBoolean();
    /** Until when holds may last once the client closes. */
    private final AtomicLong drainEndNanos = new AtomicLong(Long.MAX_VALUE);

    private final CountDownLatch hasClosed = new CountDownLatch(1);

    public LockClient(String id, Settings settings, List<LockListener> listeners, Clock clock, Redis redis) {
        this(id, settings, listeners, clock, redis, Threads.DAEMONS);
    }

    /** With threads of its own. */
    public LockClient(
            String id, Settings settings, List<LockListener> listeners, Clock clock, Redis redis, Threads threads) {
        this.id = id;
        this.settings = settings;
        this.clock = clock;
        this.redis = redis;
        EventNotifier events = new EventNotifier(listeners, threads);
        this.owners = new Owners(id);
        this.localQueue = new LocalQueue();
        this.serverTimes = new ServerTimes(clock);
        this.monitored = new MonitoredRedis(settings, clock, redis, events);
        this.unavailable = new UnavailableMessages(settings, redis);
        this.losses = new Losses(clock, localQueue, events);
        this.watchdog = new Watchdog(clock, redis, monitored, settings.commandTimeoutNanos(), threads);
        this.attempts = new Attempts(clock, settings, epoch, watchdog);
        this.mailbox = new Mailbox(
                LockKeys.mailbox(settings.keyPrefix(), id),
                redis,
                clock,
                settings.commandTimeoutNanos(),
                attempts::get,
                attempts::hurry,
                this::hasten,
                attempts::hurry,
                threads);
        this.handoff = new Handoff(clock, settings, monitored, holds, localQueue, attempts, mailbox, watchdog, losses);
        this.settlements = new Settlements(clock, settings, epoch, monitored, holds, attempts, handoff, watchdog);
        RedisAccess access = new RedisAccess(clock, settings, epoch, serverTimes, monitored, unavailable);
        WaitingParts parts = new WaitingParts(attempts, localQueue, mailbox, handoff, settlements, losses, watchdog);
        Acquisitions acquisitions = new Acquisitions(access, parts);
        this.renewals = renewals(Renewals.LOSSES);
        this.queries = new LockQueries(id, clock, settings, monitored, unavailable, holds, attempts, losses);
        this.engine = new LockEngine(access, parts, redis, holds, owners, acquisitions, events);
        this.conditions = new Conditions(access, parts, holds);
        this.serverWatch =
                new FailoverGuard(id, settings, clock, redis, monitored, serverTimes, epoch, watchdog, attempts);
    }

    private void hasten(long attempt) {
        handoff.hasten(attempt);
    }

    /** Looks at the server, which may take a time to be there, and starts the background work. */
    public void start(Duration connectWithin) {
        serverWatch.start(connectWithin);
        watchdog.start(mailbox, List.of(renewals, heartbeats(), new Lookout(holds, attempts, losses)));
    }

    /** Renewals that remember so many losses. */
    public Renewals renewals(int remembered) {
        return new Renewals(clock, settings, monitored, epoch, holds, losses, handoff, remembered);
    }

    public Heartbeats heartbeats() {
        return new Heartbeats(clock, monitored, serverTimes, epoch, attempts, handoff, unavailable);
    }

    /** One lock, as one lock object uses it. */
    public LockEngine.Sync lock(String name, boolean fair) {
        return lock(name, fair, settings);
    }

    /** One lock, as one lock object uses it, with settings of its own. */
    public LockEngine.Sync lock(String name, boolean fair, Settings own) {
        attempts.checkOpen();
        if (fair) {
            engine.checkLines("fair locks");
        }
        renewals.isInUse(own.leaseMillis());
        return engine.lock(LockKeys.of(settings.keyPrefix(), name), fair, own);
    }

    /** A Condition of a lock, by its id. */
    public RedisCondition condition(LockEngine.Sync sync, String id) {
        return new RedisCondition(conditions, clock, sync, id);
    }

    /** What can be asked of a lock, and done to it, by threads that need not hold it. */
    public LockQueries queries() {
        return queries;
    }

    /** Shows who holds the lock of a name, and who waits for it. */
    public LockInspection inspect(String name) {
        attempts.checkOpen();
        return queries.inspect(LockKeys.of(settings.keyPrefix(), name));
    }

    /** How many names Redis remembers the last token of. */
    public long countLastTokens() {
        attempts.checkOpen();
        return new TokenCount(clock, settings, redis, unavailable, attempts).count();
    }

    /** Whether calls are under way, or commands of calls that have gone and that Redis would answer. */
    private boolean isBusy() {
        return !attempts.isEmpty() || isReleasing() || watchdog.hasCommands();
    }

    private boolean isReleasing() {
        for (Hold hold : holds.all()) {
            if (hold.isReleasing()) {
                return true;
            }
        }
        return false;
    }

    /** Gives calls under way time to end, unless the closing thread is interrupted. */
    private void awaitCalls(long deadline) {
        while (isBusy()
                && clock.nanoTime() < deadline
                && !Thread.currentThread().isInterrupted()) {
            clock.park(this, CLOSE_TICK_NANOS);
        }
    }

    /** Whether {@link #close} has begun. */
    public boolean isClosed() {
        return closing.get();
    }

    /** Ends everything at once. */
    public void close() {
        close(0);
    }

    /**
     * Ends everything, in this order: new work, waiters, calls under way, holds, threads, connections. Lets holds last
     * for a time before. A second call returns when the first has done that, unless its thread is interrupted, and the
     * shorter of the two times counts.
     */
    public void close(long drainNanos) {
        long now = clock.nanoTime();
        long end = now + drainNanos;
        shortenDrain(end < now ? Long.MAX_VALUE : end);
        if (!closing.compareAndSet(false, true)) {
            awaitClosed();
            return;
        }
        try {
            drain();
            attempts.close();
            endCalls();
        } finally {
            try {
                mailbox.close();
                watchdog.close();
                monitored.close();
                redis.close();
                Threads.join(watchdog.threads(), mailbox.reader(), settings.commandTimeout());
            } finally {
                hasClosed.countDown();
            }
        }
    }

    /** No lambda: what meets an error when it is first linked may fail for ever. */
    private void shortenDrain(long end) {
        long before = drainEndNanos.get();
        while (end < before && !drainEndNanos.compareAndSet(before, end)) {
            before = drainEndNanos.get();
        }
    }

    /** Lets threads go on with what they hold, unless the closing thread is interrupted. */
    private void drain() {
        attempts.drain();
        while (clock.nanoTime() < drainEndNanos.get()
                && (hasHolds() || !attempts.isEmpty())
                && !Thread.currentThread().isInterrupted()) {
            clock.park(this, CLOSE_TICK_NANOS);
        }
    }

    private boolean hasHolds() {
        for (Hold hold : holds.all()) {
            if (hold.isOpen() || hold.isReleasing()) {
                return true;
            }
        }
        return false;
    }

    private void awaitClosed() {
        try {
            hasClosed.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void endCalls() {
        long deadline = clock.nanoTime() + 2 * settings.commandTimeoutNanos();
        awaitCalls(deadline);
        List<Call> leaves = new ArrayList<>();
        for (Hold hold : holds.all()) {
            if (losses.lose(hold, LockLost.Reason.CLOSED)) {
                leaves.add(Scripts.leave(hold.keys(), hold.owner.id, hold.attempt, true, null, false));
            }
        }
        // An unlock may have begun before its hold could be declared lost; from here on none can.
        awaitCalls(deadline);
        losses.awaitTold(settings.commandTimeout());
        if (!leaves.isEmpty()) {
            redis.runAll(leaves, settings.commandTimeoutNanos());
        }
    }

    @Override
    public String toString() {
        int held = 0;
        for (Hold hold : holds.all()) {
            if (hold.isOpen()) {
                held++;
            }
        }
        return "RedisLocks " + id + " at " + redis.address() + '[' + held + " held, "
                + attempts.all().size() + " waiting" + (closing.get() ? ", closed" : "") + ']';
    }
}
