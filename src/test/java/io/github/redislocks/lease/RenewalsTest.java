package io.github.redislocks.lease;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.redislocks.LockLost;
import io.github.redislocks.events.EventNotifier;
import io.github.redislocks.fixture.FakeClock;
import io.github.redislocks.fixture.Logged;
import io.github.redislocks.health.MonitoredRedis;
import io.github.redislocks.health.RedisAccess;
import io.github.redislocks.health.UnavailableMessages;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.redis.ServerTimes;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.FailoverEpoch;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Holds;
import io.github.redislocks.state.LimitedHold;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Owner;
import io.github.redislocks.state.Settings;
import io.github.redislocks.state.Timing;
import io.github.redislocks.state.WaitLimit;
import io.github.redislocks.testkit.twin.InMemoryRedis;
import io.github.redislocks.watchdog.Job;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;

/** Which holds one walk of the watchdog renews, and when it wants to walk again. */
@Isolated("It looks at what all threads log")
class RenewalsTest {

    private static final long MILLI = 1_000_000;
    private static final long LEASE = 30_000;
    private static final long RENEWAL = 10_000 * MILLI;
    private static final Reply OK = new Reply("OK", List.of());

    private final FakeClock clock = new FakeClock();
    private final InMemoryRedis redis = new InMemoryRedis(clock.server());
    private final FailoverEpoch epoch = new FailoverEpoch();
    private final Holds holds = new Holds();
    private final List<Long> turnsEnded = new ArrayList<>();
    private int woken;
    private final Losses losses =
            new Losses(clock, (keys, attempt) -> turnsEnded.add(attempt), new EventNotifier(List.of()), () -> woken++);
    private final List<Hold> rescued = new ArrayList<>();
    private final List<Hold> left = new ArrayList<>();
    private final List<Long> releasedAgain = new ArrayList<>();
    private boolean leavesFail;
    private boolean rescueFails;
    private final Renewals.Rescue rescue = new Renewals.Rescue() {
        @Override
        public void rescue(Hold hold) {
            if (rescueFails) {
                throw new OutOfMemoryError("of the test");
            }
            rescued.add(hold);
        }

        @Override
        public void leaveLater(Hold hold) {
            if (leavesFail) {
                throw new OutOfMemoryError("of the test");
            }
            left.add(hold);
        }

        @Override
        public void releaseAgain(Holds.Released released) {
            releasedAgain.add(released.attempt());
        }
    };
    private final Renewals renewals = renewals(Settings.DEFAULTS, Renewals.LOSSES);
    /** The jobs that were due in the last walk, by the key of their first hold. */
    private final Map<String, Job> due = new LinkedHashMap<>();

    private final long start;
    private long numbers;

    RenewalsTest() {
        clock.advanceMillis(1_000);
        start = clock.nanoTime();
    }

    @AfterEach
    void close() {
        redis.close();
    }

    private Renewals renewals(Settings settings, int remembered) {
        MonitoredRedis monitored = new MonitoredRedis(settings, clock, redis, new EventNotifier(List.of()));
        RedisAccess access = new RedisAccess(
                clock,
                settings,
                redis,
                epoch,
                new ServerTimes(clock),
                monitored,
                new UnavailableMessages(settings, redis));
        return new Renewals(access, holds, losses, rescue, remembered);
    }

    private Hold hold(Owner owner, long leaseMillis, boolean renewed, long renewalNanos) {
        Attempt attempt = new Attempt(
                ++numbers,
                LockKeys.of("p", "lock" + numbers),
                owner,
                new Attempt.Request(leaseMillis, renewed, false),
                WaitLimit.endless());
        attempt.begins(start, epoch.count());
        long deadline = start + Timing.validityNanos(leaseMillis);
        Hold hold = new Hold(attempt, new Attempt.Grant(5, false, deadline, start, true), start, renewalNanos, null);
        holds.put(hold);
        return hold;
    }

    /** A hold of the client's lease that is due, and may last for this long. */
    private Hold limited(long maxHoldMillis) {
        Attempt attempt = new Attempt(
                ++numbers,
                LockKeys.of("p", "lock" + numbers),
                new Owner("a:1"),
                new Attempt.Request(LEASE, true, false, maxHoldMillis),
                WaitLimit.endless());
        attempt.begins(start, epoch.count());
        long deadline = start + Timing.validityNanos(LEASE);
        Hold hold = new LimitedHold(attempt, new Attempt.Grant(5, false, deadline, start, true), start, start, null);
        holds.put(hold);
        return hold;
    }

    /** A hold that is to be renewed so long after the start. */
    private Hold hold(long afterNanos) {
        return hold(new Owner("a:1"), LEASE, true, start + afterNanos);
    }

    private long walk(Renewals walked) {
        due.clear();
        long now = clock.nanoTime();
        return walked.inspect(now, now, due::put);
    }

    private long walk() {
        return walk(renewals);
    }

    private Job job() {
        assertThat(due).hasSize(1);
        return due.values().iterator().next();
    }

    private Call call() {
        return job().call(clock.nanoTime(), MILLI);
    }

    @Test
    void holdThatIsLostWhileARenewalWasNotAnswered_isEndedInRedis() {
        Hold hold = hold(0);
        walk();
        Job renewal = job();
        renewal.begin();
        renewal.call(clock.nanoTime(), MILLI);
        clock.advanceMillis(LEASE);
        assertThat(losses.isValid(hold)).isFalse();
        assertThat(woken).isEqualTo(1);
        holds.forget(hold);
        walk();
        assertThat(left).containsExactly(hold);
        walk();
        assertThat(left).as("once").hasSize(1);
    }

    @Test
    void errorWhileALostHoldIsEnded_delaysNoRenewal_andIsGoneOnWith() {
        Hold lost = hold(0);
        walk();
        job().begin();
        job().call(clock.nanoTime(), MILLI);
        clock.advanceMillis(LEASE);
        assertThat(losses.isValid(lost)).isFalse();
        Hold held = hold(new Owner("a:1"), 3 * LEASE, true, clock.nanoTime());
        leavesFail = true;
        assertThatThrownBy(this::walk).isInstanceOf(OutOfMemoryError.class);
        assertThat(due.keySet()).containsExactly(held.lock());
        leavesFail = false;
        walk();
        assertThat(left).containsExactly(lost);
        walk();
        assertThat(left).as("once").hasSize(1);
    }

    @Test
    void holdThatIsLostInItsRelease_isLeftToThat() {
        Hold hold = hold(Long.MAX_VALUE / 2);
        hold.beginRelease(clock.nanoTime());
        assertThat(hold.releasedTooLate()).isTrue();
        losses.ended(hold);
        walk();
        assertThat(left).isEmpty();
    }

    @Test
    void holdThatIsLostOtherwise_isLeftToItsLease() {
        Hold hold = hold(Long.MAX_VALUE / 2);
        clock.advanceMillis(LEASE);
        assertThat(losses.isValid(hold)).isFalse();
        walk();
        assertThat(left).isEmpty();
    }

    @Test
    void holdThatIsDue_isRenewedForItsLease_andAgainAThirdOfItLater() {
        Hold hold = hold(RENEWAL);
        assertThat(walk()).isEqualTo(start + RENEWAL);
        assertThat(due).isEmpty();
        clock.advanceMillis(10_000);
        assertThat(walk()).isEqualTo(hold.deadlineNanos());
        assertThat(due).containsOnlyKeys(hold.lock());
        assertThat(job().begin()).isTrue();
        assertThat(hold.isRenewing()).isTrue();
        assertThat(call().args()).contains(Long.toString(LEASE));
        assertThat(job().size()).isEqualTo(1);
        assertThat(job().patienceNanos()).isEqualTo(RENEWAL);
        long sent = clock.nanoTime();
        job().answered(OK, sent);
        assertThat(hold.isRenewing()).isFalse();
        assertThat(hold.deadlineNanos()).isEqualTo(sent + Timing.validityNanos(LEASE));
        assertThat(hold.nextRenewalNanos()).isEqualTo(sent + RENEWAL);
    }

    /** The answer to it may be from before. */
    @Test
    void holdThatIsForcedWhileItIsRenewed_isAskedForOnceMore() {
        Hold hold = hold(0);
        walk();
        Job renewal = job();
        renewal.begin();
        renewal.call(clock.nanoTime(), MILLI);
        assertThat(renewals.askAtOnce(hold.attempt, hold.token)).isTrue();
        renewal.answered(OK, clock.nanoTime());
        assertThat(hold.nextRenewalNanos()).isEqualTo(clock.nanoTime());
        walk();
        job().begin();
        job().answered(OK, clock.nanoTime());
        assertThat(hold.nextRenewalNanos()).as("the answer counts").isEqualTo(clock.nanoTime() + RENEWAL);
    }

    @Test
    void message_ofAHoldWithAnotherToken_asksForNothing() {
        Hold hold = hold(RENEWAL);
        assertThat(renewals.askAtOnce(hold.attempt, hold.token + 1)).isFalse();
        assertThat(renewals.askAtOnce(hold.attempt + 1, hold.token)).isFalse();
        assertThat(hold.nextRenewalNanos()).isEqualTo(start + RENEWAL);
    }

    @Test
    void renewalUnderWay_isNotSentAgain() {
        Hold hold = hold(0);
        walk();
        job().begin();
        walk();
        assertThat(due).isEmpty();
        hold.endRenewal();
        walk();
        assertThat(due).hasSize(1);
        job().begin();
        job().end();
        assertThat(hold.isRenewing()).isFalse();
    }

    @Test
    void holdsOfTheUsualLease_areRenewedTogether() {
        List<Hold> all =
                IntStream.range(0, Renewals.BATCH + 1).mapToObj(i -> hold(0)).toList();
        walk();
        List<Job> jobs = List.copyOf(due.values());
        assertThat(jobs).extracting(Job::size).containsExactly(Renewals.BATCH, 1);
        Call call = jobs.get(0).call(clock.nanoTime(), MILLI);
        assertThat(call.keys()).hasSize(Renewals.BATCH);
        assertThat(call.args().get(0)).isEqualTo(Long.toString(LEASE));
        jobs.forEach(Job::begin);
        assertThat(all).allMatch(Hold::isRenewing);
        jobs.forEach(Job::end);
        assertThat(all).noneMatch(Hold::isRenewing);
    }

    @Test
    void batches_areRenewedApartTheNextTime() {
        IntStream.range(0, Renewals.BATCH + 2).forEach(i -> hold(0));
        walk();
        long sent = clock.nanoTime();
        due.values().forEach(job -> {
            job.call(sent, MILLI);
            job.answered(OK, sent);
        });
        assertThat(holds.all()).extracting(Hold::nextRenewalNanos).containsOnly(sent + RENEWAL, sent + RENEWAL - MILLI);
    }

    @Test
    void answerOfSeveral_isOfEachHoldByItself() {
        hold(0);
        hold(0);
        walk();
        Call call = call();
        Hold gone = holds.all().stream()
                .filter(hold -> hold.lock().equals(call.keys().get(1)))
                .findFirst()
                .orElseThrow();
        job().answered(new Reply("SOME", List.of(1L)), clock.nanoTime());
        assertThat(gone.lossReason()).isEqualTo(LockLost.Reason.TAKEN);
        assertThat(turnsEnded).containsExactly(gone.attempt);
        assertThat(holds.all()).filteredOn(Hold::isOpen).hasSize(1);
    }

    @Test
    void renewalThatIsNotAnswered_isTriedAgainAfterATenth_andTheLossIsUnconfirmed() {
        Hold hold = hold(0);
        walk();
        job().begin();
        call();
        job().failed(new RedisException.Unanswered("away", true, null), clock.nanoTime());
        assertThat(hold.isRenewing()).isFalse();
        assertThat(hold.nextRenewalNanos()).isEqualTo(clock.nanoTime() + RENEWAL / 10);
        clock.advanceMillis(LEASE);
        walk();
        assertThat(due).isEmpty();
        assertThat(hold.lossReason()).isEqualTo(LockLost.Reason.UNCONFIRMED);
        assertThat(turnsEnded).containsExactly(hold.attempt);
    }

    @Test
    void shortLease_isTriedAgainNoSoonerThanAfterTenMilliseconds() {
        Hold hold = hold(new Owner("a:1"), 120, true, start);
        walk();
        call();
        job().failed(new RedisException.Unanswered("away", true, null), clock.nanoTime());
        assertThat(hold.nextRenewalNanos()).isEqualTo(clock.nanoTime() + 10 * MILLI);
        assertThat(job().patienceNanos()).isEqualTo(40 * MILLI);
    }

    @Test
    void holdThatWasRenewedInTime_expiresIfNothingWasAskedSince() {
        Hold hold = hold(0);
        walk();
        call();
        job().answered(OK, clock.nanoTime());
        clock.advanceMillis(LEASE);
        walk();
        assertThat(hold.lossReason()).isEqualTo(LockLost.Reason.EXPIRED);
    }

    @Test
    void holdThatIsGone_isLost() {
        Hold hold = hold(0);
        walk();
        call();
        job().answered(new Reply("GONE", List.of()), clock.nanoTime());
        assertThat(hold.lossReason()).isEqualTo(LockLost.Reason.TAKEN);
        assertThat(walk()).as("when its owner is looked for again").isEqualTo(clock.nanoTime() + 60_000 * MILLI);
        assertThat(hold.lossSeenNanos()).isEqualTo(clock.nanoTime());
    }

    @Test
    void leaseOfItsOwn_isConfirmedForWhatIsLeftOfIt() {
        hold(new Owner("a:1"), 20_000, false, start);
        clock.advanceMillis(5_000);
        walk();
        assertThat(call().args()).contains("15000");
        assertThat(job().patienceNanos()).isEqualTo(RENEWAL);
        clock.advanceMillis(20_000);
        assertThat(call().args()).contains("1");
    }

    @Test
    void leaseOfItsOwn_isNotConfirmedTwice() {
        Hold hold = hold(new Owner("a:1"), 20_000, false, start);
        walk();
        call();
        job().answered(OK, clock.nanoTime());
        assertThat(hold.nextRenewalNanos()).isEqualTo(Long.MAX_VALUE);
        assertThat(walk()).isEqualTo(hold.deadlineNanos());
    }

    @Test
    void threadThatEnded_leavesItsHoldButNotALeaseThatItNamed() throws InterruptedException {
        List<Hold> made = new ArrayList<>();
        Thread owner = new Thread(() -> {
            made.add(hold(0));
            made.add(hold(new Owner("a:2"), LEASE, false, start));
        });
        owner.start();
        owner.join();
        walk();
        assertThat(made.get(0).lossReason()).isEqualTo(LockLost.Reason.ABANDONED);
        assertThat(left).containsExactly(made.get(0));
        assertThat(due).containsOnlyKeys(made.get(1).lock());
        assertThat(walk()).isEqualTo(made.get(1).deadlineNanos());
        assertThat(holds.all()).as("no thread asks for the loss").containsExactly(made.get(1));
    }

    @Test
    void holdWhoseThreadMetAnError_isRescued() {
        Hold hold = hold(RENEWAL);
        walk();
        assertThat(rescued).isEmpty();
        hold.stranded = true;
        walk();
        assertThat(rescued).containsExactly(hold);
    }

    @Test
    void rescueThatMeetsAnError_keepsNoOtherHoldFromBeingRenewed() {
        hold(0).stranded = true;
        Hold other = hold(0);
        hold(0).stranded = true;
        rescueFails = true;
        assertThatThrownBy(this::walk).isInstanceOf(OutOfMemoryError.class);
        assertThat(due).containsOnlyKeys(other.lock());
        rescueFails = false;
        walk();
        assertThat(rescued).hasSize(2);
    }

    @Test
    void renewalThatMeetsAnError_keepsNoOtherHoldFromBeingRenewed() {
        Hold hold = hold(new Owner("a:1"), 2 * LEASE, true, start);
        Hold other = hold(new Owner("a:1"), 3 * LEASE, true, start);
        assertThatThrownBy(() -> renewals.inspect(start, start, (lock, job) -> {
                    if (due.put(lock, job) == null && due.size() == 1) {
                        throw new OutOfMemoryError("of the test");
                    }
                }))
                .isInstanceOf(OutOfMemoryError.class);
        assertThat(due).containsOnlyKeys(hold.lock(), other.lock());
    }

    @Test
    void failover_hasEachHoldRenewedAtOnce() {
        Hold hold = hold(RENEWAL);
        walk();
        epoch.next(0);
        walk();
        assertThat(due).containsOnlyKeys(hold.lock());
        call();
        long sent = clock.nanoTime();
        job().answered(OK, sent);
        assertThat(hold.failoverEpoch()).isEqualTo(1);
        assertThat(walk()).isEqualTo(sent + RENEWAL);
    }

    /** The new master may not know the releases, and would keep the locks taken for their leases. */
    @Test
    void failoverWhoseInspectionMeetsAnError_hasTheReleasesSentByTheNext() {
        Hold released = hold(RENEWAL);
        released.beginRelease(clock.nanoTime());
        holds.remove(released);
        hold(0);
        epoch.next(0);
        assertThatThrownBy(() -> renewals.inspect(start, start, (lock, job) -> {
                    throw new OutOfMemoryError("of the test");
                }))
                .isInstanceOf(OutOfMemoryError.class);
        walk();
        assertThat(releasedAgain).containsExactly(released.attempt);
        walk();
        assertThat(releasedAgain).as("once").hasSize(1);
    }

    @Test
    void failoverWhileARenewalIsUnderWay_hasItTriedAgainAtOnce() {
        Hold hold = hold(0);
        walk();
        call();
        epoch.next(0);
        job().failed(new RedisException.Unanswered("away", true, null), clock.nanoTime());
        assertThat(hold.nextRenewalNanos()).isEqualTo(clock.nanoTime());
    }

    @Test
    void answerOfTheServerBefore_hasTheHoldRenewedAtOnce() {
        Hold hold = hold(0);
        walk();
        call();
        job().begin();
        epoch.next(0);
        walk();
        assertThat(due).as("a renewal is under way").isEmpty();
        hold.renewNext(clock.nanoTime() + RENEWAL);
        hold.endRenewal();
        walk();
        assertThat(due).hasSize(1);
    }

    @Test
    void renewalThatTooFewReplicasConfirm_isNone() {
        Renewals strict = renewals(Settings.DEFAULTS.withReplicaAcks(1), Renewals.LOSSES);
        Hold hold = hold(0);
        long deadline = hold.deadlineNanos();
        walk(strict);
        assertThat(call().acks()).isNotNull();
        clock.advanceMillis(1_000);
        job().answered(OK.confirmedBy(0), clock.nanoTime());
        assertThat(hold.deadlineNanos()).isEqualTo(deadline);
        assertThat(hold.nextRenewalNanos()).isEqualTo(clock.nanoTime() + RENEWAL / 10);
        walk(strict);
        clock.advanceMillis(1_000);
        walk(strict);
        call();
        job().answered(OK.confirmedBy(1), clock.nanoTime());
        assertThat(hold.deadlineNanos()).isGreaterThan(deadline);
    }

    @Test
    void memoryOfATokenIsRefreshedOnceInAnHour_byTheHoldsOwnRenewal() {
        Hold hold = hold(new Owner("a:1"), 24 * 3_600_000, true, Long.MAX_VALUE);
        clock.advanceMillis(3_600_000);
        hold.renewAt(clock.nanoTime());
        walk();
        assertThat(call().keys()).as("a long lease names the fence anyhow").hasSize(2);
        assertThat(hold.secondsSinceFenceRefresh(clock.nanoTime())).isEqualTo(3_600);
        clock.advanceMillis(1_000);
        call();
        assertThat(hold.secondsSinceFenceRefresh(clock.nanoTime())).isZero();
    }

    @Test
    void manyHolds_areLookedAtMoreSeldom_butInTimeForTheShortestLease() {
        assertThat(renewals.restNanos()).isZero();
        IntStream.range(0, 1_500).forEach(i -> hold(RENEWAL));
        assertThat(renewals.restNanos()).isEqualTo(500 * 4_000);
        renewals.isInUse(60_000);
        renewals.isInUse(30);
        renewals.isInUse(300);
        assertThat(renewals.restNanos()).isEqualTo(10 * MILLI / 8);
    }

    @Test
    void lossesBeyondTheBound_areForgottenFromTheOldest() {
        Renewals forgetful = renewals(Settings.DEFAULTS, 2);
        List<Hold> lost = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            Hold hold = hold(RENEWAL);
            hold.lose(LockLost.Reason.TAKEN);
            lost.add(hold);
            walk(forgetful);
            clock.advanceMillis(1);
        }
        assertThat(holds.all()).containsExactlyInAnyOrder(lost.get(1), lost.get(2));
    }

    @Test
    void holdsOfOtherLeases_areRenewedByThemselves() {
        Hold first = hold(0);
        hold(0);
        Hold shorter = hold(new Owner("a:1"), 20_000, true, start);
        Hold named = hold(new Owner("a:1"), LEASE, false, start);
        walk();
        assertThat(due.values()).extracting(Job::size).containsExactlyInAnyOrder(2, 1, 1);
        assertThat(due).containsKeys(shorter.lock(), named.lock());
        assertThat(due.get(shorter.lock()).size()).isEqualTo(1);
        assertThat(first.isRenewing()).isFalse();
    }

    @Test
    void holdThatEndsBeforeTheLeaseWould_isRenewedByItself_forWhatIsLeft() {
        Hold usual = hold(0);
        Hold longer = limited(LEASE + 1_000);
        Hold ending = limited(LEASE + 999);
        clock.advanceMillis(1_000);
        walk();
        assertThat(due.values()).extracting(Job::size).containsExactlyInAnyOrder(2, 1);
        Job alone = due.get(ending.lock());
        assertThat(alone.size()).isEqualTo(1);
        assertThat(alone.call(clock.nanoTime(), MILLI).args()).contains(Long.toString(LEASE - 1));
        alone.answered(OK, clock.nanoTime());
        assertThat(ending.deadlineNanos()).isEqualTo(clock.nanoTime() + Timing.validityNanos(LEASE - 1));
        assertThat(List.of(usual, longer)).noneMatch(hold -> hold.deadlineNanos() > start + LEASE * MILLI);
    }

    @Test
    void batchThatWaitedForItsTurn_asksForNoMoreThanTheHoldThatEndsFirst() {
        Hold usual = hold(0);
        Hold ending = limited(LEASE);
        walk();
        assertThat(job().size()).isEqualTo(2);
        clock.advanceMillis(9_000);
        assertThat(call().args().get(0)).isEqualTo("21000");
        long sent = clock.nanoTime();
        job().answered(OK, sent);
        assertThat(usual.deadlineNanos()).isEqualTo(sent + Timing.validityNanos(21_000));
        assertThat(usual.nextRenewalNanos()).as("but is asked for again").isEqualTo(sent + 7_000 * MILLI);
        clock.advanceMillis(20_999);
        assertThat(ending.loseIfPast(clock.nanoTime())).isTrue();
        assertThat(ending.lossReason()).isEqualTo(LockLost.Reason.HELD_TOO_LONG);
    }

    @Test
    void holdThatEndsSoon_isWarnedOfOnce_andThatIsWaitedFor() {
        Hold hold = limited(15_000);
        hold.renewAt(start + RENEWAL + 1);
        assertThat(walk()).isEqualTo(start + RENEWAL);
        clock.advanceMillis(10_000);
        String log = Logged.by(() -> {
            walk();
            walk();
            losses.awaitTold(Duration.ofSeconds(20));
        });
        assertThat(log).containsOnlyOnce("will be lost in 5000 ms");
        assertThat(hold.isOpen()).isTrue();
    }

    @Test
    void serverThatKeepsToSlots_isAskedForOneHoldAtATime() {
        hold(0);
        hold(0);
        walk();
        job().failed(new RedisException.Refused("CROSSSLOT Keys in request don't hash to the same slot", null), start);
        clock.advanceMillis(1_000);
        walk();
        assertThat(due.values()).extracting(Job::size).containsExactly(1, 1);
    }

    @Test
    void refusalOfOneHoldAlone_saysNothingOfSlots() {
        hold(0);
        walk();
        call();
        job().failed(new RedisException.Refused("CROSSSLOT Keys in request don't hash to the same slot", null), start);
        hold(0);
        clock.advanceMillis(1_000);
        walk();
        assertThat(due.values()).extracting(Job::size).containsExactly(2);
    }

    @Test
    void lossThatNobodyWasTold_isToldByTheWatchdog() {
        Hold hold = hold(RENEWAL);
        hold.lose(LockLost.Reason.TAKEN);
        assertThat(turnsEnded).isEmpty();
        walk();
        assertThat(turnsEnded).containsExactly(hold.attempt);
        walk();
        assertThat(turnsEnded).hasSize(1);
    }

    /** The thread has lost the lock twice, and has it again. */
    @Test
    void earlierLosses_thatNobodyWasTold_areToldByTheWatchdog() {
        Hold first = hold(RENEWAL);
        first.lose(LockLost.Reason.TAKEN);
        Hold second = above(first, RENEWAL);
        second.lose(LockLost.Reason.TAKEN);
        above(second, RENEWAL);
        walk();
        assertThat(turnsEnded).containsExactlyInAnyOrder(first.attempt, second.attempt);
    }

    @Test
    void earlierLoss_whoseReportMeetsAnError_keepsNoHoldFromBeingRenewed() {
        Owner untellable = new Owner("a:1") {
            @Override
            public String description() {
                throw new OutOfMemoryError("of the test");
            }
        };
        Hold lost = hold(untellable, LEASE, true, start);
        lost.lose(LockLost.Reason.TAKEN);
        above(lost, 0);
        assertThatThrownBy(this::walk).isInstanceOf(OutOfMemoryError.class);
        assertThat(call().script().name()).isEqualTo("renew");
    }

    /** The hold that a thread has after a loss. */
    private Hold above(Hold lost, long afterNanos) {
        Attempt attempt = new Attempt(
                ++numbers, lost.keys(), lost.owner, new Attempt.Request(LEASE, true, false), WaitLimit.endless());
        Hold hold = new Hold(
                attempt, new Attempt.Grant(5, false, Long.MAX_VALUE, start, true), start, start + afterNanos, lost);
        holds.put(hold);
        return hold;
    }

    @Test
    void holdThatIsBeingReleased_isLeftAlone_andLookedAtAgain() {
        Hold hold = hold(0);
        hold.beginRelease(clock.nanoTime());
        assertThat(walk()).isLessThan(Long.MAX_VALUE);
        assertThat(due).isEmpty();
        assertThat(turnsEnded).isEmpty();
    }
}
