package io.github.redislocks;

import static java.util.concurrent.TimeUnit.MILLISECONDS;
import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.github.redislocks.shedlock.RedisLocksProvider;
import io.github.redislocks.spring.LockedTransactions;
import io.github.redislocks.spring.LockedWork;
import io.github.redislocks.spring.integration.RedisLocksRegistry;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Date;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;
import org.springframework.integration.support.locks.DistributedLock;
import org.springframework.integration.util.CheckedCallable;
import org.springframework.integration.util.CheckedRunnable;
import org.springframework.transaction.support.TransactionOperations;

/**
 * A way to come to hold a lock: the public method that takes the lock, and code that calls it and gives the lock back.
 */
record Way(String call, Subject subject, boolean isForgotten, Body body) {

    static final Duration LEASE = Duration.ofSeconds(20);
    private static final Duration WAIT = Duration.ofSeconds(9);
    /** The events that cannot happen to a hold of readers. */
    private static final Set<Happening> NOT_OF_READERS =
            EnumSet.of(Happening.KEPT, Happening.WATCHED, Happening.WASHED, Happening.OVERDUE);
    /** More locks than one request takes. */
    private static final int MANY = 33;

    /** How a lock is taken. */
    enum Mode {
        PLAIN,
        FAIR,
        RESIDENT,
        FIXED,
        WAITED,
        LOCAL
    }

    /** The lock or permit that a way takes, as other clients see it. */
    enum Subject {
        LOCK {
            @Override
            CompletableFuture<LockHandle> acquire(RedisLocks client, String name) {
                return client.reentrantLock(name).acquireAsync();
            }

            @Override
            Optional<LockOwner> holder(RedisLocks client, String name) {
                return client.inspect(name).holder().map(LockInspection.Holder::owner);
            }

            @Override
            boolean meets(Happening what) {
                return true;
            }
        },
        /** A lock that is taken for reading. Other clients try to write. */
        READ {
            @Override
            CompletableFuture<LockHandle> acquire(RedisLocks client, String name) {
                return LOCK.acquire(client, name);
            }

            @Override
            Optional<LockOwner> holder(RedisLocks client, String name) {
                return LOCK.holder(client, name);
            }

            @Override
            boolean meets(Happening what) {
                return !NOT_OF_READERS.contains(what);
            }

            @Override
            String shown(String clientId) {
                // Readers of several clients are one owner.
                return "";
            }
        },
        /** The only permit of a pool. */
        PERMIT {
            @Override
            CompletableFuture<LockHandle> acquire(RedisLocks client, String name) {
                return client.permits(name, 1).acquireAsync(1).thenApply(LockHandle.class::cast);
            }

            @Override
            Optional<LockOwner> holder(RedisLocks client, String name) {
                return client.permits(name, 1).inspect().held().stream()
                        .map(PermitsInspection.Held::owner)
                        .findFirst();
            }

            @Override
            boolean meets(Happening what) {
                return !what.isOfLocks();
            }
        };

        abstract CompletableFuture<LockHandle> acquire(RedisLocks client, String name);

        abstract Optional<LockOwner> holder(RedisLocks client, String name);

        /** Whether an event can happen to it. */
        abstract boolean meets(Happening what);

        /** The client in what {@link #holder} returns while one with this id has it. */
        String shown(String clientId) {
            return clientId;
        }

        /** Whether the next holder cannot learn of the loss by an event, since Redis has nothing that says so. */
        boolean isForgottenBy(Happening what) {
            // Readers have changed nothing, so the next holder need not know of their loss.
            return this == READ
                    || what == Happening.FLUSHED
                    || what == Happening.WASHED
                    || (this == PERMIT && what == Happening.DELETED);
        }

        /** The end of its key in Redis, after the key of a lock of that name. */
        String keyEnd() {
            return this == PERMIT ? ":permits" : "";
        }
    }

    /** The ways that share a row of the page, and the modes in which they exist. */
    record Row(String owner, String modes, Subject subject, List<Way> ways) {

        boolean has(Mode mode) {
            return Arrays.asList(modes.toUpperCase(Locale.ROOT).split(", ")).contains(mode.name());
        }

        @Override
        public String toString() {
            String calls = ways.stream().map(way -> '`' + way.call + '`').collect(Collectors.joining(", "));
            return "| " + owner + " | " + calls + " | " + modes + " |\n";
        }
    }

    /** Takes the lock, stays, and gives the lock back. */
    interface Body {
        void hold(Site site) throws Throwable;
    }

    /** A call that takes a lock. */
    interface Take<L> {
        void from(L lock) throws Exception;
    }

    /** Takes the lock for a handle. */
    interface Acquire {
        AutoCloseable from(Site site) throws Exception;
    }

    /** Whether the end of the possession throws nothing after a loss. */
    boolean isSilent() {
        return call.matches("Locks.leadership.*|RedisLocksProvider.*");
    }

    static final List<Row> ROWS = new ArrayList<>();

    static {
        row("a thread", "plain, fair, resident, fixed, waited");
        thread("FencedLock.lock()", FencedLock::lock);
        thread("FencedLock.lockInterruptibly()", FencedLock::lockInterruptibly);
        thread("FencedLock.tryLock(long,TimeUnit)", l -> taken(() -> l.tryLock(9, SECONDS)));
        thread("FencedLock.tryLock(Duration)", l -> taken(() -> l.tryLock(WAIT)));
        actions("FencedLock", Site::lock);
        work(
                "LockedTransactions.callWithLock(LeasedLock,Function)",
                s -> s.transactions().callWithLock(s.lock(), s::stay));
        work(
                "LockedTransactions.runWithLock(LeasedLock,Consumer)",
                s -> s.transactions().runWithLock(s.lock(), s::stay));

        row("a thread that does not wait", "plain, fair, resident, fixed");
        thread("FencedLock.tryLock()", l -> taken(l::tryLock));

        row("a thread that gives a lease", "fixed");
        work("@Locked(lease)", s -> LockedWork.under(s.locks).leased(s.name, s::stay));
        registered("DistributedLock.lock(Duration)", l -> l.lock(LEASE));
        registered("DistributedLock.tryLock(Duration,Duration)", l -> taken(() -> l.tryLock(WAIT, LEASE)));

        row("a thread that re-entered", "plain, fair, resident, fixed, local");
        thread("FencedLock.lock() then FencedLock.lock()", FencedLock::lock, FencedLock::lock);
        thread("FencedLock.lock() then FencedLock.tryLock()", FencedLock::lock, l -> taken(l::tryLock));

        row("a thread that re-entered with and without a fixed lease", "plain, fair, local");
        thread("FencedLock.lock() then fixedLease FencedLock.lock()", FencedLock::lock, l -> fixed(l).lock());
        thread("fixedLease FencedLock.lock() then FencedLock.lock()", l -> fixed(l).lock(), FencedLock::lock);

        row("a thread that waited in a Condition", "plain, fair, resident, fixed");
        signalled("Condition.await()", Condition::await);
        signalled("Condition.awaitUninterruptibly()", Condition::awaitUninterruptibly);
        timedOut("Condition.awaitNanos(long)", c -> c.awaitNanos(9));
        timedOut("Condition.await(long,TimeUnit)", c -> c.await(9, MILLISECONDS));
        timedOut("Condition.awaitUntil(Date)", c -> c.awaitUntil(Date.from(Instant.EPOCH)));

        row("a thread, by a name", "plain, resident, waited");
        work(
                "LockedTransactions.callWithLock(String,Function)",
                s -> s.transactions().callWithLock(s.name, s::stay));
        work(
                "LockedTransactions.runWithLock(String,Consumer)",
                s -> s.transactions().runWithLock(s.name, s::stay));
        work(
                "RedisLocksRegistry.executeLocked(Object,CheckedRunnable)",
                s -> s.registry().executeLocked(s.name, s.running()));
        work(
                "RedisLocksRegistry.executeLocked(Object,CheckedCallable)",
                s -> s.registry().executeLocked(s.name, s.calling()));
        work(
                "RedisLocksRegistry.executeLocked(Object,Duration,CheckedRunnable)",
                s -> s.registry().executeLocked(s.name, WAIT, s.running()));
        work(
                "RedisLocksRegistry.executeLocked(Object,Duration,CheckedCallable)",
                s -> s.registry().executeLocked(s.name, WAIT, s.calling()));
        registered("DistributedLock.lock()", Lock::lock);
        registered("DistributedLock.lockInterruptibly()", Lock::lockInterruptibly);
        registered("DistributedLock.tryLock(long,TimeUnit)", l -> taken(() -> l.tryLock(9, SECONDS)));
        work("@Locked", s -> LockedWork.under(s.locks).plain(s.name, s::stay));
        work("@Locked(waitFor)", s -> LockedWork.under(s.locks).waiting(s.name, s::stay));

        row("a thread, by a name, that does not wait", "plain, resident");
        registered("DistributedLock.tryLock()", l -> taken(l::tryLock));

        row("a thread with several locks", "plain, fair, fixed, waited");
        several("MultiLock.lock()", MultiLock::lock);
        several("MultiLock.lockInterruptibly()", MultiLock::lockInterruptibly);
        several("MultiLock.tryLock(long,TimeUnit)", l -> taken(() -> l.tryLock(9, SECONDS)));
        several("MultiLock.tryLock(Duration)", l -> taken(() -> l.tryLock(WAIT)));
        actions("MultiLock", site -> site.several(2));

        row("a thread with several locks that does not wait", "plain");
        several("MultiLock.tryLock()", l -> taken(l::tryLock));

        row("a handle", "plain, fair, fixed, waited");
        handle("FencedLock.acquire()", site -> site.lock().acquire());
        handles("FencedLock", Site::lock);

        row("a handle of several locks", "plain, fair, fixed, waited");
        handle("MultiLock.acquire()", site -> site.several(MANY).acquire());
        handles("MultiLock", site -> site.several(2));

        row("a handle of permits", "plain, waited", Subject.PERMIT);
        handle("Permits.acquire()", site -> site.permits().acquire());
        handle("Permits.acquire(int)", site -> site.permits().acquire(1));
        handle(
                "Permits.tryAcquire(Duration)",
                site -> site.permits().tryAcquire(WAIT).orElseThrow());
        handle(
                "Permits.tryAcquire(int,Duration)",
                site -> site.permits().tryAcquire(1, WAIT).orElseThrow());
        handle(
                "Permits.acquireAsync(int)",
                site -> site.permits().acquireAsync(1).get());
        handle(
                "Permits.tryAcquireAsync(int,Duration)",
                site -> site.permits().tryAcquireAsync(1, WAIT).get().orElseThrow());

        row("a thread that reads", "plain, waited", Subject.READ);
        reader("RedisReadLock.lock()", RedisReadLock::lock);
        reader("RedisReadLock.lockInterruptibly()", RedisReadLock::lockInterruptibly);
        reader("RedisReadLock.tryLock(long,TimeUnit)", l -> taken(() -> l.tryLock(9, SECONDS)));
        reader("RedisReadLock.tryLock(Duration)", l -> taken(() -> l.tryLock(WAIT)));
        actions("RedisReadLock", Site::reads);

        row("a thread that reads and does not wait", "plain", Subject.READ);
        reader("RedisReadLock.tryLock()", l -> taken(l::tryLock));

        row("a handle that reads", "plain, waited", Subject.READ);
        handle("RedisReadLock.acquire()", site -> site.reads().acquire());
        handles("RedisReadLock", Site::reads);

        row("a handle, by a name", "plain, waited");
        work("@Locked(atLeast)", s -> LockedWork.under(s.locks).keeping(s.name, () -> s.stay("a handle")));

        row("a leader", "plain, waited");
        work("Locks.leadership(String,LeaderWork)", s -> s.lead(work -> s.locks.leadership(s.name, work)));

        row("a leader with options", "plain, fair, fixed, waited");
        work(
                "Locks.leadership(String,LeaderWork,LeaderOptions)",
                s -> s.lead(work -> s.locks.leadership(
                        s.name, work, LeaderOptions.defaults().lock(s.options))));

        row("a task of ShedLock", "plain");
        work("RedisLocksProvider.lock(LockConfiguration)", s -> s.stayAndUnlock(s.task()));
    }

    private static void row(String owner, String modes) {
        row(owner, modes, Subject.LOCK);
    }

    private static void row(String owner, String modes, Subject subject) {
        ROWS.add(new Row(owner, modes, subject, new ArrayList<>()));
    }

    private static void add(String call, boolean isForgotten, Body body) {
        Row row = ROWS.get(ROWS.size() - 1);
        row.ways.add(new Way(call, row.subject, isForgotten, body));
    }

    /** Runs an action, and releases the lock after it. */
    private static void work(String call, Body body) {
        add(call, false, body);
    }

    private static void reader(String call, Take<RedisReadLock> take) {
        add(call, true, site -> {
            RedisReadLock lock = site.reads();
            take.from(lock);
            if (site.stay(lock)) {
                lock.unlock();
            }
        });
    }

    private static void handle(String call, Acquire acquire) {
        add(call, true, site -> {
            AutoCloseable held = acquire.from(site);
            if (site.stay(held)) {
                held.close();
            }
        });
    }

    /** The ways of a thread that runs an action under a lock. */
    private static void actions(String type, Function<Site, LeasedLock<?>> lock) {
        work(type + ".callWithLock(LockedCall)", s -> lock.apply(s).callWithLock(() -> s.stay(lock.apply(s))));
        work(type + ".runWithLock(LockedRun)", s -> lock.apply(s).runWithLock(() -> s.stay(lock.apply(s))));
        work(
                type + ".tryCallWithLock(Duration,LockedCall)",
                s -> s.ran(lock.apply(s).tryCallWithLock(WAIT, () -> s.stay(lock.apply(s)))));
        work(
                type + ".tryRunWithLock(Duration,LockedRun)",
                s -> taken(() -> lock.apply(s).tryRunWithLock(WAIT, () -> s.stay(lock.apply(s)))));
    }

    /** The ways of a handle, but for the first. */
    private static <H extends Handle> void handles(String type, Function<Site, LeasedLock<H>> lock) {
        handle(
                type + ".tryAcquire(Duration)",
                s -> lock.apply(s).tryAcquire(WAIT).orElseThrow());
        handle(type + ".acquireAsync()", s -> lock.apply(s).acquireAsync().get());
        handle(
                type + ".tryAcquireAsync(Duration)",
                s -> lock.apply(s).tryAcquireAsync(WAIT).get().orElseThrow());
        work(type + ".callWithHandle(HandleCall)", s -> lock.apply(s).callWithHandle(s::stay));
        work(type + ".runWithHandle(HandleRun)", s -> lock.apply(s).runWithHandle(s::stay));
        work(
                type + ".tryCallWithHandle(Duration,HandleCall)",
                s -> s.ran(lock.apply(s).tryCallWithHandle(WAIT, s::stay)));
        work(
                type + ".tryRunWithHandle(Duration,HandleRun)",
                s -> taken(() -> lock.apply(s).tryRunWithHandle(WAIT, s::stay)));
        work(type + ".callWithHandleAsync(Function)", s -> s.stayAsync(lock.apply(s)::callWithHandleAsync));
        work(
                type + ".tryCallWithHandleAsync(Duration,Function)",
                s -> s.stayAsync(work -> lock.apply(s).tryCallWithHandleAsync(WAIT, work)));
    }

    private static void thread(String call, Take<FencedLock> take) {
        locked(call, Site::lock, List.of(take));
    }

    private static void thread(String call, Take<FencedLock> take, Take<FencedLock> again) {
        locked(call, Site::lock, List.of(take, again));
    }

    private static FencedLock fixed(FencedLock lock) {
        return FixedLease.fixed((RedisReentrantLock) lock, LEASE);
    }

    private static void registered(String call, Take<DistributedLock> take) {
        locked(call, site -> site.registry().obtain(site.name), List.of(take));
    }

    private static void several(String call, Take<MultiLock> take) {
        locked(call, site -> site.several(2), List.of(take));
    }

    private static <L extends Lock> void locked(String call, Function<Site, L> make, List<Take<L>> takes) {
        add(call, true, site -> {
            L lock = make.apply(site);
            for (Take<L> take : takes) {
                take.from(lock);
            }
            FencedLock asked = site.lock();
            boolean releases = site.stay(lock instanceof MultiLock ? lock : asked);
            for (int i = 1; i < takes.size() && releases; i++) {
                // Each unlock has to tell of a loss.
                Throwable thrown = catchThrowable(lock::unlock);
                assertThat(thrown instanceof LockLostException).isNotEqualTo(asked.isHeldByCurrentThread());
            }
            if (releases) {
                lock.unlock();
            }
        });
    }

    private static void signalled(String call, Take<Condition> wait) {
        waited(call, wait, site -> {
            RedisReentrantLock theirs = site.rival.reentrantLock(site.name);
            new Thread(() -> theirs.runWithLock(theirs.newCondition("c")::signalAll)).start();
        });
    }

    private static void timedOut(String call, Take<Condition> wait) {
        waited(call, wait, site -> {});
    }

    private static void waited(String call, Take<Condition> wait, Consumer<Site> others) {
        add(call, true, site -> {
            FencedLock lock = site.lock();
            lock.lock();
            others.accept(site);
            wait.from(lock.newCondition("c"));
            if (site.stay(lock)) {
                lock.unlock();
            }
        });
    }

    /** Tries until the try succeeds: a machine that stalls may have the first one fail. */
    private static void taken(Callable<Boolean> attempt) throws Exception {
        while (!attempt.call()) {
            Thread.onSpinWait();
        }
    }

    /** Where a way is tried: a thread that owns the lock of a name. */
    abstract static class Site extends Thread {

        final RedisLocks locks;
        final RedisLocks rival;
        final String name;
        final LockOptions options;

        Site(RedisLocks locks, RedisLocks rival, String name, LockOptions options) {
            this.locks = locks;
            this.rival = rival;
            this.name = name;
            this.options = options;
        }

        /** The time of the possession. Returns whether to release the lock: false if its owner just forgets it. */
        abstract boolean stay(Object held);

        boolean stay() {
            return stay(lock());
        }

        CheckedRunnable<RuntimeException> running() {
            return this::stay;
        }

        CheckedCallable<Boolean, RuntimeException> calling() {
            return this::stay;
        }

        RedisReentrantLock lock() {
            return locks.reentrantLock(name, options);
        }

        RedisReadLock reads() {
            return locks.readWriteLock(name, options).readLock();
        }

        Permits permits() {
            return locks.permits(name, 1);
        }

        MultiLock several(int count) {
            List<String> names = IntStream.range(0, count)
                    .mapToObj(i -> i == 0 ? name : name + " and " + i)
                    .toList();
            return locks.multiLock(names, options);
        }

        RedisLocksRegistry registry() {
            return new RedisLocksRegistry(locks);
        }

        LockedTransactions transactions() {
            return new LockedTransactions(locks, TransactionOperations.withoutTransaction());
        }

        SimpleLock task() {
            LockConfiguration task = new LockConfiguration(Instant.now(), name, Duration.ofHours(1), Duration.ZERO);
            return new RedisLocksProvider(locks).lock(task).orElseThrow();
        }

        void stayAndUnlock(SimpleLock lock) {
            boolean unused = stay("a handle");
            lock.unlock();
        }

        void ran(LockedResult<Boolean> result) {
            assertThat(result.ran()).isTrue();
        }

        <H extends Handle, R> void stayAsync(
                Function<Function<H, CompletionStage<Boolean>>, CompletableFuture<R>> start) throws Exception {
            CompletableFuture<Object> given = new CompletableFuture<>();
            CompletableFuture<Boolean> done = new CompletableFuture<>();
            CompletableFuture<R> result = start.apply(handle -> {
                given.complete(handle);
                return done;
            });
            boolean unused = stay(CompletableFuture.anyOf(given, result).get());
            done.complete(true);
            result.get();
        }

        void lead(Function<LeaderWork, Leadership> begin) {
            CompletableFuture<LeaderTerm> given = new CompletableFuture<>();
            CompletableFuture<Boolean> done = new CompletableFuture<>();
            try (Leadership leadership = begin.apply(term -> {
                given.complete(term);
                done.join();
            })) {
                boolean unused = stay(given.join());
                leadership.closeAsync();
                done.complete(true);
            }
        }
    }
}
