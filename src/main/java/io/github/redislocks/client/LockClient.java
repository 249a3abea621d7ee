package io.github.redislocks.client;

import io.github.redislocks.LockInspection;
import io.github.redislocks.LockListener;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.concurrent.BackgroundLog;
import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.concurrent.Loggers;
import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.engine.AsyncAcquisitions;
import io.github.redislocks.engine.Conditions;
import io.github.redislocks.engine.LockEngine;
import io.github.redislocks.engine.RedisCondition;
import io.github.redislocks.engine.Sync;
import io.github.redislocks.events.EventNotifier;
import io.github.redislocks.health.MonitoredRedis;
import io.github.redislocks.health.RedisAccess;
import io.github.redislocks.health.UnavailableMessages;
import io.github.redislocks.inspection.LockList;
import io.github.redislocks.inspection.TokenCount;
import io.github.redislocks.lease.Losses;
import io.github.redislocks.lease.Renewals;
import io.github.redislocks.lease.SlowHolds;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.ServerTimes;
import io.github.redislocks.residency.Residences;
import io.github.redislocks.several.SeveralLocks;
import io.github.redislocks.several.Together;
import io.github.redislocks.shared.ShareLock;
import io.github.redislocks.shared.Shares;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.FailoverEpoch;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Holds;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Owners;
import io.github.redislocks.state.PermitPool;
import io.github.redislocks.state.Settings;
import io.github.redislocks.waiting.Acquisitions;
import io.github.redislocks.waiting.Attempts;
import io.github.redislocks.waiting.Handoff;
import io.github.redislocks.waiting.Heartbeats;
import io.github.redislocks.waiting.LocalQueue;
import io.github.redislocks.waiting.Lookout;
import io.github.redislocks.waiting.Mailbox;
import io.github.redislocks.waiting.Messages;
import io.github.redislocks.waiting.Settlements;
import io.github.redislocks.waiting.SlowWaits;
import io.github.redislocks.waiting.WaitingParts;
import io.github.redislocks.waiting.Wanted;
import io.github.redislocks.watchdog.Task;
import io.github.redislocks.watchdog.Watchdog;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.concurrent.Executor;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The parts of one client: its identity, holds, waiters and background work. All locks of a {@link RedisLocks} share
 * these parts. This class makes the parts, wires them together and closes them.
 */
public final class LockClient {

    public final String id;
    public final Settings settings;
    public final Clock clock;
    public final Redis redis;
    public final Holds holds = new Holds();
    public final LocalQueue localQueue;
    final FailoverEpoch epoch = new FailoverEpoch();
    final ServerTimes serverTimes;
    public final MonitoredRedis monitored;
    private final RedisAccess access;
    public final Losses losses;
    public final Watchdog watchdog;
    public final Attempts attempts;
    public final Mailbox mailbox;
    final Handoff handoff;
    final Residences residences;
    public final Shares shares;
    private final Wanted wanted;
    private final EventNotifier events;
    public final Owners owners;
    final Settlements settlements;
    final Acquisitions acquisitions;
    public final AsyncAcquisitions async;
    public final Renewals renewals;
    final LockEngine engine;
    private final Together together;
    private final Conditions conditions;
    private final LockQueries queries;
    private final FailoverGuard failoverGuard;
    private final BackgroundLog log;
    private final Closing closing;

    /** Makes a client. */
    public LockClient(
            String id, Settings settings, List<LockListener> listeners, Clock clock, Redis redis, Threads threads) {
        this.id = id;
        this.settings = settings;
        this.clock = clock;
        this.redis = redis;
        this.events = new EventNotifier(listeners, threads);
        this.log = events.log();
        this.owners = new Owners(id);
        this.localQueue = new LocalQueue();
        this.serverTimes = new ServerTimes(clock);
        this.monitored = new MonitoredRedis(settings, clock, redis, events);
        UnavailableMessages unavailable = new UnavailableMessages(settings, redis);
        this.watchdog = new Watchdog(clock, redis, monitored, settings.commandTimeoutNanos(), threads);
        this.losses = new Losses(clock, localQueue, events, watchdog::wakeNow);
        this.attempts = new Attempts(clock, settings, epoch, watchdog);
        Mailbox.Source source = new Mailbox.Source(
                LockKeys.mailbox(settings.keyPrefix(), id), redis, clock, settings.commandTimeoutNanos());
        this.mailbox = new Mailbox(source, new Received(), settings.watchDeletions() ? this::changed : null, threads);
        this.access = new RedisAccess(clock, settings, redis, epoch, serverTimes, monitored, unavailable);
        this.handoff = new Handoff(access, holds, localQueue, attempts, mailbox, watchdog, losses);
        this.settlements = new Settlements(access, holds, attempts, handoff, watchdog);
        WaitingParts parts =
                new WaitingParts(holds, attempts, localQueue, mailbox, handoff, settlements, losses, watchdog);
        this.residences = new Residences(access, parts, owners, events);
        this.shares = new Shares(access, parts, owners, events);
        this.wanted = new WantedLocks(residences, shares);
        this.acquisitions = new Acquisitions(access, parts, wanted);
        this.async = new AsyncAcquisitions(access, events, threads);
        this.renewals = renewals(Renewals.LOSSES);
        this.queries = new LockQueries(id, access, parts, residences);
        this.together = new Together(access, parts);
        this.closing = new Closing(access, parts, async, residences, shares, log);
        this.engine = new LockEngine(access, parts, owners, acquisitions, events);
        this.conditions = new Conditions(access, parts);
        this.failoverGuard = new FailoverGuard(id, access, watchdog, attempts);
    }

    /**
     * Passes messages of the mailbox to the parts of the client. Some parts are made after the mailbox, so the mailbox
     * cannot refer to them itself.
     */
    private final class Received implements Messages {

        @Override
        public @Nullable Attempt attempt(long number) {
            return attempts.get(number);
        }

        /**
         * Makes the client ask Redis about holds of handles and about waiters: messages to them may have been lost
         * while the mailbox was not open.
         */
        @Override
        public void opened(boolean again) {
            if (again) {
                attempts.hurry();
            } else {
                attempts.hurryShares();
            }
            // With watchDeletions, each new subscription already makes the client ask Redis about all holds.
            if (!settings.watchDeletions() && renewals.askForHandles()) {
                watchdog.wakeAt(0);
            }
        }

        @Override
        public void grantedToNobody(long attempt) {
            handoff.hasten(attempt);
        }

        @Override
        public void doubted(Attempt attempt) {
            attempts.hurry(attempt);
        }

        @Override
        public void forced(long attempt, long token) {
            if (renewals.askAtOnce(attempt, token)) {
                watchdog.wakeAt(0);
            }
        }

        @Override
        public Wanted wanted() {
            return wanted;
        }
    }

    /**
     * Called when another client has changed the key of a held lock. {@code key} is null if any key may have changed.
     */
    private void changed(@Nullable String key) {
        watchdog.wakeAt(renewals.doubt(key));
    }

    /**
     * Subscribes to the client's mailbox, unless that was done already, so that the client learns at once when a hold
     * is ended by {@code forceUnlock}. Does not wait.
     */
    public void listen() {
        if (!mailbox.isOpen() && !isClosed()) {
            try {
                mailbox.want();
            } catch (RedisException e) {
                // Ignored: no thread could be started. Without the mailbox, the client learns of a loss by the next
                // renewal.
                Loggers.LOSS.debug("The mailbox was not opened: {}", e.getMessage());
            }
        }
    }

    /** The executor for users' code that depends on the stages of handles. */
    public Executor handleTeller() {
        return events::notifyHandle;
    }

    /**
     * Checks the server and starts the background work. Waits for a server that is not available yet, for
     * {@code connectWithin} at most.
     *
     * @param goOn whether to start even if the server is still not available after that time
     */
    public void start(Duration connectWithin, boolean goOn) {
        boolean connected = failoverGuard.start(connectWithin, goOn);
        watchdog.start(mailbox, tasks());
        if (!connected) {
            failoverGuard.lookLater();
        }
        if (settings.watchDeletions()) {
            listen();
        }
    }

    private List<Task> tasks() {
        List<Task> tasks = new ArrayList<>(
                List.of(renewals, heartbeats(), new Lookout(holds, attempts, losses), residences, shares));
        if (settings.slowWaitNanos() > 0) {
            tasks.add(new SlowWaits(clock, attempts, settings.slowWaitNanos(), SlowWaits.MOST, log));
        }
        if (settings.slowHoldNanos() > 0) {
            tasks.add(new SlowHolds(holds, settings.slowHoldNanos(), log));
        }
        return tasks;
    }

    /** Makes the renewals, which remember the given number of losses. */
    public Renewals renewals(int remembered) {
        return new Renewals(access, holds, losses, handoff, remembered);
    }

    public Heartbeats heartbeats() {
        return new Heartbeats(access, attempts, handoff);
    }

    /** Makes the {@link Sync} of one lock object, with the client's settings. */
    public Sync lock(String name, boolean fair) {
        return lock(name, fair, settings);
    }

    /** Makes the {@link Sync} of one lock object, with settings of its own. */
    public Sync lock(String name, boolean fair, Settings own) {
        attempts.checkOpen();
        if (fair) {
            engine.checkLines("fair locks");
        }
        if (own.residencyNanos() > 0) {
            engine.checkLines("residency");
            listen();
        }
        renewals.isInUse(own.leaseMillis());
        if (own.maxHoldMillis() > 0) {
            // The client cuts a lease that is longer than maxHold to maxHold, so leases of that length are in use, too.
            renewals.isInUse(own.maxHoldMillis());
        }
        return residences.lock(engine, LockKeys.of(settings.keyPrefix(), name), fair, own);
    }

    /** Makes the read lock that belongs to a write lock. */
    public ShareLock readLock(Sync writer, Settings own) {
        attempts.checkOpen();
        engine.checkLines("read-write locks");
        listen();
        renewals.isInUse(own.leaseMillis());
        return new ShareLock(engine, writer, own, shares);
    }

    /** Makes the {@link SeveralLocks} of a multi-lock: each lock once, in the order of the names. */
    public SeveralLocks several(Collection<String> names, boolean fair, Settings own) {
        SortedSet<String> sorted = new TreeSet<>();
        for (String name : names) {
            sorted.add(Objects.requireNonNull(name, "name"));
        }
        if (sorted.isEmpty()) {
            throw new IllegalArgumentException("No name is given: several locks need at least one name.");
        }
        Settings ofPart = own.withResidency(Duration.ZERO);
        List<Sync> parts = new ArrayList<>(sorted.size());
        for (String name : sorted) {
            // Renew all locks but the last one even with a fixed lease, since the caller still waits for other locks.
            // SeveralLocks.complete() ends the renewal.
            parts.add(lock(name, fair, name.equals(sorted.last()) ? ofPart : ofPart.renewed()));
        }
        return new SeveralLocks(parts, own, engine, together);
    }

    /** Makes a pool of permits. */
    public PermitPool pool(String name, int size) {
        attempts.checkOpen();
        engine.checkLines("permits");
        renewals.isInUse(settings.leaseMillis());
        return new PermitPool(LockKeys.ofPermits(settings.keyPrefix(), name), size);
    }

    /** Makes the {@link Sync} of a pool of permits. */
    public Sync permits(PermitPool pool) {
        return Sync.ofPermits(engine, pool.keys(), settings.withResidency(Duration.ZERO));
    }

    /** Makes the Condition of a lock that has the given id. */
    public RedisCondition condition(Sync sync, String id) {
        return new RedisCondition(conditions, clock, sync, id);
    }

    /** The queries for threads that need not hold the lock. */
    public LockQueries queries() {
        return queries;
    }

    /**
     * Returns true if anybody holds the lock. If another client keeps the lock, returns true as well, since only that
     * client knows whether one of its threads holds the lock.
     */
    public boolean isLocked(LockKeys keys) {
        if (residences.has(keys)) {
            attempts.checkOpen();
            return residences.held(keys) != null;
        }
        return queries.isLocked(keys);
    }

    /**
     * The threads of this client that wait for the lock, or that have been granted the lock and whose call has not
     * returned yet.
     */
    public Collection<Thread> queuedThreads(LockKeys keys) {
        // Read the residences before the attempts: a thread first waits for a turn and then makes an attempt, so it is
        // found in one of the two.
        Set<Thread> threads = new HashSet<>(residences.queuedThreads(keys));
        queries.addQueuedThreads(keys, threads);
        return threads;
    }

    /** Returns the holder and the waiters of the lock with this name. */
    public LockInspection inspect(String name) {
        attempts.checkOpen();
        return queries.inspect(LockKeys.of(settings.keyPrefix(), name));
    }

    /** The approximate number of locks that this client holds. Lost locks do not count. */
    public long countHeld() {
        return held().count();
    }

    /** The number of locks that the client has in Redis although none of its threads holds them. */
    public long countIdle() {
        return residences.countIdle() + shares.countIdle();
    }

    /** The names of the locks that this client holds. */
    public SortedSet<String> heldNames() {
        return held().map(hold -> hold.keys().name()).collect(Collectors.toCollection(TreeSet::new));
    }

    /** The valid holds of threads and handles; the threads that read under a share have one. */
    public Stream<Hold> held() {
        return holds.all().stream().filter(hold -> losses.isValid(hold) && hold.use() != null);
    }

    /** The names of the locks for which calls of this client wait. */
    public SortedSet<String> waitedForNames() {
        SortedSet<String> names = new TreeSet<>();
        residences.waiting().values().forEach(keys -> names.add(keys.name()));
        shares.waiting().values().forEach(keys -> names.add(keys.name()));
        attempts.all().forEach(attempt -> names.add(attempt.keys.name()));
        return names;
    }

    /** The number of calls of this client that wait for a lock. */
    public long countWaitingCalls() {
        // A thread that got a turn after a wait may also have an attempt. Count it once.
        Set<Object> waiting = new HashSet<>(residences.waiting().keySet());
        waiting.addAll(shares.waiting().keySet());
        attempts.all().forEach(attempt -> waiting.remove(attempt.owner.thread()));
        return (long) waiting.size() + attempts.count();
    }

    /** The number of lock names whose last token Redis remembers. */
    public long countLastTokens() {
        attempts.checkOpen();
        return new TokenCount(access, attempts).count();
    }

    /** Lists what any client uses. */
    public LockList list() {
        attempts.checkOpen();
        return new LockList(access, attempts, queries::inspect);
    }

    /** Whether {@link #close} has begun. */
    public boolean isClosed() {
        return closing.hasBegun();
    }

    /** Closes the client without waiting for holders. */
    public void close() {
        close(0);
    }

    /**
     * Closes the client, after waiting for holders to finish, for {@code drainNanos} at most. A concurrent second call
     * waits for the first one, unless the second call's thread is interrupted. Both calls use the shorter of their
     * times.
     */
    public void close(long drainNanos) {
        closing.run(drainNanos);
    }

    @Override
    public String toString() {
        int held = 0;
        for (Hold hold : holds.all()) {
            if (hold.isOpen() && hold.use() != null) {
                held++;
            }
        }
        return "RedisLocks " + id + " at " + redis.address() + '[' + held + " held, "
                + attempts.all().size() + " waiting" + (closing.hasBegun() ? ", closed" : "") + ']';
    }
}
