package io.github.redislocks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.actions.Candidacy;
import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.concurrent.Loggers;
import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.fixture.Logged;
import io.github.redislocks.fixture.Moment;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;

/** Candidates and leaders, on moved time. */
@Isolated("It looks at what all threads log")
class LeadershipTest extends FakeTime {

    private static final LeaderOptions QUIET = LeaderOptions.defaults().interrupt(false);

    /** Of tests before this one. */
    private final Set<Thread> before = Set.copyOf(living());

    private final List<Leadership> all = new CopyOnWriteArrayList<>();
    /** Lets work end that the test has made to stay, so that no test leaves a thread. */
    private final CountDownLatch over = new CountDownLatch(1);

    /** The deeds of one candidate's work. */
    private final class Work implements LeaderWork {

        final BlockingQueue<LeaderTerm> begun = new LinkedBlockingQueue<>();
        final List<Long> tokens = new CopyOnWriteArrayList<>();
        final AtomicInteger inside = new AtomicInteger();
        final AtomicInteger ended = new AtomicInteger();
        final AtomicInteger interrupts = new AtomicInteger();
        volatile CountDownLatch stay = new CountDownLatch(0);
        volatile boolean returnsAtOnce;

        @Override
        public void lead(LeaderTerm term) throws Exception {
            assertThat(inside.incrementAndGet()).as("terms at a time").isOne();
            tokens.add(term.fencingToken());
            begun.add(term);
            try {
                if (!returnsAtOnce) {
                    new CountDownLatch(1).await();
                }
            } catch (InterruptedException e) {
                interrupts.incrementAndGet();
                throw e;
            } finally {
                boolean wait = true;
                while (wait) {
                    try {
                        stay.await();
                        wait = false;
                    } catch (InterruptedException e) {
                        interrupts.incrementAndGet();
                    }
                }
                inside.decrementAndGet();
                ended.incrementAndGet();
            }
        }

        /** The next term, once it has begun. */
        LeaderTerm elected() {
            until(() -> !begun.isEmpty());
            return begun.remove();
        }
    }

    private void until(BooleanSupplier condition) {
        await().pollInterval(Duration.ofMillis(1)).until(condition::getAsBoolean);
    }

    /** Moves time on by more than the machine's own, which only lets threads do what they have to. */
    private void hurryUntil(BooleanSupplier condition) {
        for (int i = 0; i < 2_000 && !condition.getAsBoolean(); i++) {
            hurry();
        }
        assertThat(condition.getAsBoolean()).isTrue();
    }

    private void hurry() {
        pass(500);
        // By hand: it is done hundreds of times, and takes far less than a library's poll.
        do {
            LockSupport.parkNanos(500_000);
        } while (!agendas().stream().allMatch(clock::isParked));
    }

    /** The threads that go on with this test's candidates. */
    private List<Thread> agendas() {
        return living().stream()
                .filter(thread -> thread.getName().startsWith("redis-locks-leadership-") && !before.contains(thread))
                .toList();
    }

    /**
     * All threads of the JVM. Their stacks, by which the JDK can list them too, would stop the JVM hundreds of times.
     */
    private static List<Thread> living() {
        ThreadGroup group = Thread.currentThread().getThreadGroup();
        while (group.getParent() != null) {
            group = group.getParent();
        }
        Thread[] threads = new Thread[2 * group.activeCount() + 100];
        return List.of(Arrays.copyOf(threads, group.enumerate(threads)));
    }

    private Leadership run(RedisLocks on, LeaderWork work, LeaderOptions options) {
        Leadership made = on.leadership("job", work, options);
        all.add(made);
        return made;
    }

    private Leadership run(LeaderWork work) {
        return run(locks, work, LeaderOptions.defaults());
    }

    private static void closed(Leadership leadership) {
        leadership.closeAsync().toCompletableFuture().join();
    }

    private void assertNothingLeft() {
        passUntil(
                () -> server.zset(KEY + ":queue").isEmpty() && server.hash(KEY).isEmpty());
        assertThat(server.hash(KEY + ":waiters")).isEmpty();
        passUntil(() -> inside.attempts().isEmpty());
        assertThat(inside.localQueue().size()).isZero();
    }

    @AfterEach
    void closeLeaders() {
        over.countDown();
        all.forEach(Leadership::closeAsync);
    }

    @Test
    void leadership_ofAFreeLock_leadsUntilItIsClosed() {
        Work work = new Work();
        Leadership leadership = run(work);
        LeaderTerm term = work.elected();
        assertThat(leadership.isLeader()).isTrue();
        assertThat(term.isStopping()).isFalse();
        assertThat(term.name()).isEqualTo("job");
        assertThat(term.previousHolderLost()).isFalse();
        assertThat(term.remainingLease()).isPositive();
        assertThat(leadership.fencingToken()).hasValue(term.fencingToken());
        assertThat(leadership.toString()).contains("job", "leader");
        pass(120_000);
        term.ensureHeld();
        closed(leadership);
        assertThat(work.interrupts).hasValue(1);
        assertThat(leadership.isLeader()).isFalse();
        assertThat(leadership.fencingToken()).isEmpty();
        assertThat(leadership.toString()).contains("closed");
        assertThatThrownBy(term::fencingToken).isExactlyInstanceOf(IllegalMonitorStateException.class);
        assertNothingLeft();
        assertThat(other.tryLock()).isTrue();
        assertThat(other.previousHolderLost()).isFalse();
        other.unlock();
    }

    @Test
    void candidate_behindALeader_leadsAfterIt_withAGreaterToken() {
        Work first = new Work();
        Work second = new Work();
        Leadership leader = run(first);
        first.elected();
        Leadership candidate = run(others, second, LeaderOptions.defaults());
        passUntil(() -> server.zset(KEY + ":queue").size() == 1);
        assertThat(candidate.isLeader()).isFalse();
        assertThat(candidate.toString()).contains("candidate");
        closed(leader);
        second.elected();
        assertThat(second.tokens.get(0)).isGreaterThan(first.tokens.get(0));
        closed(candidate);
        assertNothingLeft();
    }

    @Test
    void candidate_thatWithdraws_leavesNothing() {
        other.lock();
        Leadership candidate = run(new Work());
        passUntil(() -> server.zset(KEY + ":queue").size() == 1);
        closed(candidate);
        passUntil(() -> server.zset(KEY + ":queue").isEmpty());
        other.unlock();
        assertNothingLeft();
    }

    /** The library cannot tell whether the grant comes before the close. */
    @Test
    void close_thatRacesTheElection_leavesNothing() {
        for (int i = 0; i < 100; i++) {
            other.lock();
            Leadership candidate = run(new Work());
            passUntil(() -> server.zset(KEY + ":queue").size() == 1);
            Thread closer = new Thread(candidate::closeAsync);
            closer.start();
            other.unlock();
            until(() -> candidate.toString().contains("closed"));
            assertNothingLeft();
        }
    }

    /** A lock that comes while it closes is not wanted, and it has not ended before that is released. */
    @Test
    void close_thatMeetsTheElection_endsWhenTheLockIsReleased() {
        CompletableFuture<Boolean> released = new CompletableFuture<>();
        CountDownLatch releasing = new CountDownLatch(1);
        LockHandle handle = (LockHandle) Proxy.newProxyInstance(
                Locks.class.getClassLoader(), new Class<?>[] {LockHandle.class}, (proxy, method, args) -> {
                    assertThat(method.getName()).isEqualTo("releaseAsync");
                    releasing.countDown();
                    return released.minimalCompletionStage();
                });
        AtomicReference<Leadership> leadership = new AtomicReference<>();
        CompletableFuture<LockHandle> granted = new CompletableFuture<>() {
            @Override
            public boolean isDone() {
                // The candidate is about to look at the answer.
                while (leadership.get() == null) {
                    Moment.pass();
                }
                leadership.get().closeAsync();
                return super.isDone();
            }
        };
        granted.complete(handle);
        Leadership made = Leadership.run(
                "job",
                new Work(),
                LeaderOptions.defaults(),
                new Candidacy.Electorate(Leadership.agenda(clock, Threads.DAEMONS), () -> granted, () -> false));
        leadership.set(made);
        await().until(() -> releasing.getCount() == 0);
        CompletableFuture<Void> ended = made.closeAsync().toCompletableFuture();
        assertThat(made.close(Duration.ZERO)).isFalse();
        assertThat(ended).isNotDone();
        released.complete(true);
        ended.join();
        assertThat(made.close(Duration.ZERO)).isTrue();
    }

    @Test
    void work_thatReturns_runsAgain_atOnce() {
        Work work = new Work();
        work.returnsAtOnce = true;
        Leadership leadership = run(work);
        until(() -> work.ended.get() >= 5);
        closed(leadership);
        assertThat(work.tokens).doesNotHaveDuplicates().isSorted();
        assertNothingLeft();
    }

    @Test
    void work_thatFails_isLogged_andRunsAgainAfterAPause() {
        AtomicInteger terms = new AtomicInteger();
        AtomicReference<Leadership> leadership = new AtomicReference<>();
        long began = clock.nanoTime();
        String logged = Logged.by(() -> {
            leadership.set(run(term -> {
                if (terms.incrementAndGet() % 2 == 0) {
                    throw new OutOfMemoryError("of the test");
                }
                throw new java.io.IOException("no disk");
            }));
            hurryUntil(() -> terms.get() >= 8);
        });
        assertThat(logged).contains("leadership", "job", "no disk", "OutOfMemoryError");
        assertThat(Duration.ofNanos(clock.nanoTime() - began)).isGreaterThan(Duration.ofSeconds(2));
        closed(leadership.get());
        assertNothingLeft();
    }

    @Test
    void work_thatFails_letsAnotherLeadMeanwhile() {
        Work second = new Work();
        AtomicBoolean failed = new AtomicBoolean();
        Leadership failing = run(term -> {
            failed.set(true);
            throw new IllegalStateException("of the test");
        });
        until(failed::get);
        Leadership good = run(others, second, LeaderOptions.defaults());
        passUntil(() -> !second.begun.isEmpty());
        pass(60_000);
        assertThat(good.isLeader()).isTrue();
        closed(good);
        closed(failing);
        assertNothingLeft();
    }

    @Test
    void leader_whoseLockIsForced_isInterruptedOnce_andRunsAgain() {
        Work work = new Work();
        Leadership leadership = run(work);
        LeaderTerm term = work.elected();
        CompletableFuture<Optional<LockLost>> told = term.stopping().toCompletableFuture();
        await().until(() -> inside.mailbox().isOpen());
        other.forceUnlock();
        LeaderTerm next = work.elected();
        assertThat(told.join().orElseThrow().reason()).isEqualTo(LockLost.Reason.TAKEN);
        assertThat(work.interrupts).hasValue(1);
        assertThat(term.isStopping()).isTrue();
        assertThatThrownBy(term::ensureHeld).isInstanceOf(IllegalMonitorStateException.class);
        assertThat(next.previousHolderLost()).isTrue();
        assertThat(next.fencingToken()).isGreaterThan(work.tokens.get(0));
        closed(leadership);
    }

    @Test
    void leader_whoseRedisIsAway_isToldBeforeAnotherIsElected() {
        Work first = new Work();
        Work second = new Work();
        Leadership leader = run(first);
        LeaderTerm term = first.elected();
        Leadership candidate = run(others, second, LeaderOptions.defaults());
        passUntil(() -> server.zset(KEY + ":queue").size() == 1);
        redis.down(true);
        // Less than the margin, so that time stands still between the news and the end of the lease.
        while (!term.isStopping()) {
            pass(100);
        }
        await().until(() -> first.ended.get() == 1);
        assertThat(second.begun).isEmpty();
        assertThat(first.interrupts).hasValue(1);
        hurryUntil(() -> !second.begun.isEmpty());
        assertThat(leader.isLeader()).isFalse();
        redis.down(false);
        closed(candidate);
        hurryUntil(() -> !first.begun.isEmpty());
        assertThat(first.tokens.get(1)).isGreaterThan(second.tokens.get(0));
        closed(leader);
        assertNothingLeft();
    }

    @Test
    void workThatStays_afterALoss_isTheOnlyTermOfItsCandidate() {
        Work work = new Work();
        work.stay = over;
        Leadership leadership = run(work);
        LeaderTerm term = work.elected();
        server.flushAll();
        hurryUntil(term::isStopping);
        assertThat(leadership.isLeader()).isFalse();
        pass(60_000);
        assertThat(server.hash(KEY)).as("it does not run while the work stays").isEmpty();
        assertThat(work.begun).isEmpty();
        over.countDown();
        work.elected();
        closed(leadership);
        assertNothingLeft();
    }

    @Test
    void close_whileTheWorkStays_endsWithTheDrain_andKeepsTheLock() {
        Work work = new Work();
        work.stay = over;
        Leadership leadership = run(work);
        LeaderTerm term = work.elected();
        long began = clock.nanoTime();
        String logged = Logged.by(() -> whileTimePasses(
                () -> assertThat(leadership.close(Duration.ofSeconds(2))).isFalse()));
        assertThat(clock.nanoTime() - began).isBetween(2_000_000_000L, 3_000_000_000L);
        assertThat(logged).contains("has not ended within 2 s");
        assertThat(term.isStopping()).isTrue();
        pass(120_000);
        term.ensureHeld();
        assertThat(other.tryLock()).isFalse();
        assertThat(leadership.isLeader()).isTrue();
        assertThat(leadership.toString()).contains("leader, closing");
        over.countDown();
        until(() -> leadership.closeAsync().toCompletableFuture().isDone());
        assertThat(work.interrupts)
                .as("interrupted once, however often it is closed")
                .hasValue(1);
        assertNothingLeft();
    }

    @Test
    void close_whileUsersCodeTakesTheTime_endsWithTheDrain() {
        Work work = new Work();
        work.stay = over;
        Leadership leadership = run(locks, work, LeaderOptions.defaults());
        work.elected().stopping().thenRun(() -> clock.advanceMillis(3_000));
        assertThat(leadership.close(Duration.ofSeconds(3))).isFalse();
    }

    @Test
    void close_byItself_usesTheDrainOfTheOptions() {
        Work work = new Work();
        work.stay = over;
        Leadership leadership = run(locks, work, LeaderOptions.defaults().drain(Duration.ofSeconds(3)));
        work.elected();
        long began = clock.nanoTime();
        whileTimePasses(leadership::close);
        assertThat(clock.nanoTime() - began).isBetween(3_000_000_000L, 4_000_000_000L);
        over.countDown();
    }

    @Test
    void close_interrupted_returnsAndKeepsTheFlag() {
        Work work = new Work();
        work.stay = over;
        Leadership leadership = run(work);
        work.elected();
        Thread.currentThread().interrupt();
        assertThat(leadership.close(Duration.ofHours(1))).isFalse();
        assertThat(Thread.interrupted()).isTrue();
        over.countDown();
    }

    @Test
    void close_byTheWork_doesNotWaitForIt_norInterruptIt() {
        AtomicReference<Leadership> self = new AtomicReference<>();
        AtomicReference<Boolean> closed = new AtomicReference<>();
        AtomicReference<Boolean> interrupted = new AtomicReference<>();
        Leadership leadership = run(term -> {
            while (self.get() == null) {
                Moment.pass();
            }
            closed.set(self.get().close(Duration.ofHours(1)));
            interrupted.set(Thread.interrupted());
        });
        self.set(leadership);
        until(() -> interrupted.get() != null);
        assertThat(interrupted).hasValue(false);
        assertThat(closed).hasValue(false);
        until(() -> leadership.closeAsync().toCompletableFuture().isDone());
        assertNothingLeft();
    }

    @Test
    void quietWork_isNotInterrupted_andAsks() {
        AtomicBoolean stopped = new AtomicBoolean();
        AtomicInteger steps = new AtomicInteger();
        Leadership leadership = run(
                locks,
                term -> {
                    while (!term.isStopping()) {
                        steps.incrementAndGet();
                    }
                    stopped.set(!Thread.interrupted());
                },
                QUIET);
        until(() -> steps.get() > 0);
        closed(leadership);
        assertThat(stopped).isTrue();
        assertNothingLeft();
    }

    /** Whether the interrupt or the question comes first, the work ends in peace after the answer. */
    @Test
    void awaitStopping_thatSaidSo_isFollowedByNoInterrupt() {
        AtomicInteger terms = new AtomicInteger();
        AtomicInteger late = new AtomicInteger();
        LeaderWork work = term -> {
            terms.incrementAndGet();
            while (!term.awaitStopping(Duration.ofNanos(terms.get() % 3 * 20_000L))) {
                Thread.onSpinWait();
            }
            for (int i = 0; i < 300; i++) {
                Thread.onSpinWait();
                late.addAndGet(Thread.interrupted() ? 1 : 0);
            }
        };
        for (int i = 1; i <= 300; i++) {
            int expected = i;
            Leadership leadership = run(work);
            while (terms.get() < expected) {
                Moment.pass();
            }
            closed(leadership);
        }
        assertThat(late).hasValue(0);
    }

    private static boolean awaitStopping(LeaderTerm term, Duration time) {
        try {
            return term.awaitStopping(time);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void awaitStopping_ofAnotherThread_leavesTheWorkAlone() throws InterruptedException {
        Work work = new Work();
        Leadership leadership = run(work);
        LeaderTerm term = work.elected();
        whileTimePasses(
                () -> assertThat(awaitStopping(term, Duration.ofMillis(1))).isFalse());
        assertThat(term.awaitStopping(Duration.ZERO)).isFalse();
        closed(leadership);
        assertThat(term.awaitStopping(Duration.ofDays(400))).isTrue();
        assertThat(work.interrupts).hasValue(1);
    }

    @Test
    void close_ofTheClient_tellsTheWork_andEndsTheCandidates() {
        Work leading = new Work();
        Leadership leader = run(leading);
        LeaderTerm term = leading.elected();
        Leadership candidate = run(new Work());
        whileTimePasses(locks::close);
        until(() -> leader.closeAsync().toCompletableFuture().isDone());
        until(() -> candidate.closeAsync().toCompletableFuture().isDone());
        assertThat(leading.interrupts).hasValue(1);
        assertThat(term.isHeld()).isFalse();
        assertThatThrownBy(() -> run(new Work())).isInstanceOf(IllegalStateException.class);
        await().until(() -> agendas().isEmpty());
    }

    @Test
    void close_ofTheClientWithADrain_letsTheWorkEndInGoodOrder() {
        Work work = new Work();
        run(work);
        work.elected();
        whileTimePasses(() -> locks.close(Duration.ofDays(1)));
        assertThat(losses).isEmpty();
        assertThat(server.hash(KEY)).isEmpty();
        assertThat(other.tryLock()).isTrue();
        assertThat(other.previousHolderLost()).isFalse();
        other.unlock();
    }

    @Test
    void close_ofTheClientWhileTheWorkStays_losesTheLock() {
        Work work = new Work();
        work.stay = over;
        Leadership leadership = run(work);
        LeaderTerm term = work.elected();
        whileTimePasses(() -> locks.close(Duration.ofSeconds(2)));
        assertThat(losses).extracting(LockLost::reason).containsExactly(LockLost.Reason.CLOSED);
        assertThat(term.isHeld()).isFalse();
        assertThat(leadership.isLeader()).isFalse();
        assertThat(work.inside).hasValue(1);
        over.countDown();
        until(() -> leadership.closeAsync().toCompletableFuture().isDone());
        await().until(() -> agendas().isEmpty());
        assertThat(work.interrupts).hasValue(1);
    }

    @Test
    void candidate_ofALongOutage_goesOn_andSaysSoOnce() {
        redis.down(true);
        Work work = new Work();
        AtomicReference<Leadership> leadership = new AtomicReference<>();
        String logged = Logged.by(() -> {
            leadership.set(run(work));
            for (int i = 0; i < 400; i++) {
                hurry();
            }
        });
        assertThat(logged.split("can be elected in this process", -1)).hasSize(2);
        assertThat(work.begun).isEmpty();
        redis.down(false);
        hurryUntil(() -> !work.begun.isEmpty());
        String again = Logged.by(() -> {
            redis.down(true);
            hurryUntil(() -> Logged.soFar().contains("can be elected in this process"));
            for (int i = 0; i < 100; i++) {
                hurry();
            }
        });
        assertThat(again.split("can be elected in this process", -1)).hasSize(2);
        redis.down(false);
        hurryUntil(() -> work.begun.size() == 2);
        closed(leadership.get());
        assertNothingLeft();
    }

    @Test
    void leader_forWhichNoThreadStarts_letsAnotherLead_andTriesAgain() {
        AtomicBoolean poor = new AtomicBoolean(true);
        Threads threads = Threads.of(
                work -> {
                    boolean ofTerm = work.getClass().getSimpleName().equals("Term");
                    Thread made = Threads.daemon("t", ofTerm && poor.get() ? () -> {} : work);
                    if (ofTerm && poor.get()) {
                        // A thread cannot be started once more.
                        made.start();
                    }
                    return made;
                },
                "t");
        Work work = new Work();
        Leadership leadership = Leadership.run(
                "job",
                work,
                LeaderOptions.defaults(),
                new Candidacy.Electorate(
                        Leadership.agenda(clock, threads),
                        () -> locks.reentrantLock("job").acquireAsync(),
                        locks::isClosed));
        all.add(leadership);
        pass(20_000);
        assertThat(work.begun).isEmpty();
        Work second = new Work();
        Leadership good = run(others, second, LeaderOptions.defaults());
        passUntil(() -> !second.begun.isEmpty());
        closed(good);
        poor.set(false);
        passUntil(() -> !work.begun.isEmpty());
        closed(leadership);
        assertNothingLeft();
    }

    /** As where the system has no thread for acquisitions. */
    @Test
    void candidate_thatCannotAsk_isRefused_andLeavesNothing() {
        OutOfMemoryError noThread = new OutOfMemoryError("of the test");
        assertThatThrownBy(() -> Leadership.run(
                        "job",
                        new Work(),
                        LeaderOptions.defaults(),
                        new Candidacy.Electorate(
                                Leadership.agenda(clock, Threads.of(null, "t")),
                                () -> {
                                    throw noThread;
                                },
                                () -> false)))
                .isSameAs(noThread);
        await().until(() -> agendas().isEmpty());
    }

    @Test
    void leadership_thatCannotWork_isRefusedAtOnce() {
        assertThatThrownBy(() -> locks.leadership("", new Work())).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> LeaderOptions.defaults().drain(Duration.ofSeconds(-1)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("-1 s");
        Leadership leadership = run(new Work());
        assertThatThrownBy(() -> leadership.close(Duration.ofDays(2)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("48 h");
        assertThat(leadership.isClosing()).isFalse();
        assertThat(leadership.name()).isEqualTo("job");
        closed(leadership);
    }

    @Test
    void options_areWhatTheySay() {
        LeaderOptions options =
                QUIET.drain(Duration.ofSeconds(3)).lock(LockOptions.defaults().fair(true));
        assertThat(options)
                .isEqualTo(QUIET.lock(LockOptions.defaults().fair(true)).drain(Duration.ofSeconds(3)));
        assertThat(options)
                .hasSameHashCodeAs(LeaderOptions.defaults()
                        .interrupt(false)
                        .lock(LockOptions.defaults().fair(true))
                        .drain(Duration.ofSeconds(3)));
        assertThat(options)
                .isNotEqualTo(QUIET)
                .hasToString("LeaderOptions[LockOptions[fair=true], interrupt=false, drain=3 s]");
    }

    @Test
    void manyCandidates_needOneThread() {
        List<Leadership> candidates = new ArrayList<>();
        other.lock();
        for (int i = 0; i < 1_000; i++) {
            candidates.add(run(new Work()));
        }
        passUntil(() -> server.zset(KEY + ":queue").size() == 1);
        assertThat(agendas()).hasSize(1);
        assertThat(Thread.getAllStackTraces().keySet())
                .filteredOn(thread -> thread.getName().startsWith("redis-locks-") && !before.contains(thread))
                .hasSizeLessThanOrEqualTo(8);
        candidates.forEach(Leadership::closeAsync);
        until(() -> candidates.stream().allMatch(each -> each.toString().contains("closed")));
        other.unlock();
        assertNothingLeft();
        await().until(() -> agendas().isEmpty());
    }

    /** The default method, by what any implementation has. */
    @Test
    void leadership_ofAnotherImplementation_works() {
        InvocationHandler handler = (proxy, method, args) -> {
            try {
                return method.getName().equals("leadership")
                        ? InvocationHandler.invokeDefault(proxy, method, args)
                        : method.invoke(locks, args);
            } catch (InvocationTargetException e) {
                throw e.getCause();
            }
        };
        Locks another =
                (Locks) Proxy.newProxyInstance(Locks.class.getClassLoader(), new Class<?>[] {Locks.class}, handler);
        Work work = new Work();
        Leadership leadership = another.leadership("job", work);
        LeaderTerm term = work.elected();
        term.ensureHeld();
        assertThat(Leadership.SHARED.clock()).isSameAs(Clock.SYSTEM);
        assertThat(leadership.close(Duration.ofSeconds(20))).isTrue();
        assertNothingLeft();
    }

    @Test
    void terms_areLoggedForOperators() {
        Work work = new Work();
        String logged = Logged.infoBy(Loggers.LEADERSHIP, () -> {
            Leadership leadership = run(work);
            work.elected();
            closed(leadership);
        });
        assertThat(logged).contains("Elected leader of \"job\"").doesNotContain("WARN");
    }
}
