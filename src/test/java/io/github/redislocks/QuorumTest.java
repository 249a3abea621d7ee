package io.github.redislocks;

import static io.github.redislocks.FixedLease.fixed;
import static io.github.redislocks.QuorumTwins.KEY;
import static io.github.redislocks.QuorumTwins.script;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.client.Inside;
import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.fixture.FakeClock;
import io.github.redislocks.state.Hold;
import io.github.redislocks.testkit.twin.Fault;
import io.github.redislocks.testkit.twin.HeldCalls;
import io.github.redislocks.testkit.twin.InMemoryRedis;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A quorum of five masters, A to E, in memory. The lease is 3 s. */
@Timeout(30)
@Tag("long")
class QuorumTest {

    private static final Duration LEASE = Duration.ofSeconds(3);
    private static final Duration SOON = Duration.ofSeconds(10);

    private final QuorumTwins masters = new QuorumTwins(LEASE, LEASE);
    private final QuorumTwins.Client one = masters.connect();
    private final QuorumTwins.Client two = masters.connect();

    @AfterEach
    void close() {
        masters.close();
    }

    private static void awaitFree(QuorumTwins masters) {
        await().atMost(SOON).until(() -> masters.votes().isEmpty());
    }

    @Test
    void lockAndUnlock_free_askEachMasterOnceAndLeaveNothing() {
        QuorumTwins.Client still = masters.connect(new FakeClock());
        still.lock.lock();
        await().atMost(SOON).until(() -> masters.votes().equals("ABCDE"));
        assertThat(still.runs("vote")).isEqualTo(QuorumTwins.NODES);
        still.lock.unlock();
        awaitFree(masters);
        assertThat(still.runs("withdraw")).isEqualTo(QuorumTwins.NODES);
        for (InMemoryRedis server : masters.servers) {
            assertThat(server.keys()).containsExactly(KEY + ":fence");
        }
    }

    @Test
    void lock_minorityAway_isAcquiredAndHeld() {
        one.reachOnly("ACE");
        one.lock.lock();
        assertThat(one.lock.isHeldByCurrentThread()).isTrue();
        assertThat(one.lock.remainingLease()).isBetween(LEASE.minusMillis(1_500), LEASE.minusMillis(32));
        assertThat(masters.votes()).isEqualTo("ACE");
        assertThat(two.lock.tryLock()).isFalse();
        one.lock.unlock();
        awaitFree(masters);
    }

    @Test
    void tryLock_majorityAway_namesTheMastersAndReasons() {
        one.reachOnly("BD");
        assertThatThrownBy(one.lock::tryLock)
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageContaining("needs 3 of 5 masters")
                .hasMessageContaining("memory: Connection refused");
        awaitFree(masters);
    }

    @Test
    void tryLock_heldByAnother_isBusyAndWithdrawsItsVotes() {
        one.reachOnly("ABC");
        one.lock.lock();
        assertThat(two.lock.tryLock()).isFalse();
        await().atMost(SOON).until(() -> masters.votes().equals("ABC"));
        one.lock.unlock();
        awaitFree(masters);
        assertThat(two.lock.tryLock()).isTrue();
    }

    @Test
    void tryLock_timed_frozenMajority_returnsInTime() throws InterruptedException {
        List<HeldCalls> held = new ArrayList<>();
        one.nodes.subList(0, 3).forEach(node -> held.add(node.hold(call -> true)));
        long began = System.nanoTime();
        assertThatThrownBy(() -> one.lock.tryLock(200, TimeUnit.MILLISECONDS))
                .isInstanceOf(LockUnavailableException.class);
        assertThat(Duration.ofNanos(System.nanoTime() - began))
                .isBetween(Duration.ofMillis(200), Duration.ofMillis(900));
        held.forEach(HeldCalls::release);
        awaitFree(masters);
    }

    @Test
    void renewal_mastersForgetOneAfterTheOther_haveTheHoldAgain() {
        one.lock.lock();
        for (String gone : List.of("", "AB", "CD", "EA", "BC")) {
            masters.servers(gone).forEach(InMemoryRedis::flushAll);
            await().atMost(SOON).until(() -> masters.votes().equals("ABCDE"));
        }
        assertThat(one.lock.isHeldByCurrentThread()).isTrue();
        assertThat(masters.losses).isEmpty();
        one.lock.unlock();
        awaitFree(masters);
        two.lock.lock();
        assertThat(two.lock.previousHolderLost()).isFalse();
    }

    /** A dead client has left a vote on D and on E, of which no majority knows. */
    @Test
    void renewal_behindTheVoteOfADeadRival_hasTheMasterAgainWhenThatHasLapsed() {
        one.reachOnly("ABC");
        one.lock.lock();
        List<HeldCalls> withdrawals = two.nodes.subList(3, 5).stream()
                .map(node -> node.hold(script("withdraw")))
                .toList();
        assertThat(two.lock.tryLock()).isFalse();
        withdrawals.forEach(held -> held.awaitParked(1, SOON));
        // The last vote may still be under way.
        await().atMost(SOON).until(() -> masters.votes().equals("ABCDE"));
        two.reachOnly("");
        masters.servers("DE").forEach(server -> server.stepMillis(LEASE.toMillis() + 1));
        assertThat(masters.votes()).isEqualTo("ABC");
        one.reachOnly("ABCDE");
        await().atMost(SOON).until(() -> masters.votes().equals("ABCDE"));
        // Two other masters may fail now.
        masters.servers("AB").forEach(InMemoryRedis::restart);
        long renewals = one.nodes.get(4).log().count("vote");
        await().atMost(SOON).until(() -> one.nodes.get(4).log().count("vote") >= renewals + 3);
        assertThat(one.lock.isHeldByCurrentThread()).isTrue();
        assertThat(masters.losses).isEmpty();
        one.lock.unlock();
        assertThat(masters.losses).isEmpty();
    }

    @Test
    void renewal_onItsWayWhileTheHoldIsReleased_isTakenBack() {
        one.reachOnly("ABCD");
        one.lock.lock();
        one.reachOnly("ABCDE");
        HeldCalls renewal = one.nodes.get(4).hold(script("vote"));
        renewal.awaitParked(1, SOON);
        one.lock.unlock();
        await().atMost(SOON).until(() -> masters.votes().isEmpty());
        int votes = one.nodes.get(4).log().count("vote");
        runsNow(one, renewal, 4);
        await().atMost(SOON)
                .until(() -> one.nodes.get(4).log().count("vote") > votes
                        && masters.votes().isEmpty());
    }

    /** Lets a call run that was held back on its way to a node, perhaps for longer than its caller waits. */
    private static void runsNow(QuorumTwins.Client client, HeldCalls held, int node) {
        held.release();
        held.abandoned().forEach(call -> client.nodes.get(node).runLate(call));
    }

    @Test
    void renewal_majorityForgotAndAnotherHeldTheLock_reportsTheLoss() {
        one.lock.lock();
        await().atMost(SOON).until(() -> masters.votes().equals("ABCDE"));
        masters.servers("ABC").forEach(InMemoryRedis::flushAll);
        assertThat(two.lock.tryLock()).isTrue();
        two.lock.unlock();
        await().atMost(SOON).until(() -> masters.losses.size() == 1);
        assertThat(masters.losses.get(0).reason()).isEqualTo(LockLost.Reason.TAKEN);
        assertThat(one.lock.isHeldByCurrentThread()).isFalse();
    }

    @Test
    void renewal_majorityRestarted_reportsTheLoss() {
        one.lock.lock();
        await().atMost(SOON).until(() -> masters.votes().equals("ABCDE"));
        masters.servers("ABC").forEach(InMemoryRedis::restart);
        await().atMost(SOON).until(() -> masters.losses.size() == 1);
        assertThat(masters.losses.get(0).reason()).isEqualTo(LockLost.Reason.TAKEN);
    }

    @Test
    void renewal_afterForceUnlock_isRefused() {
        one.lock.lock();
        await().atMost(SOON).until(() -> masters.votes().equals("ABCDE"));
        assertThat(two.lock.forceUnlock()).isTrue();
        await().atMost(SOON).until(() -> masters.losses.size() == 1);
        assertThat(masters.losses.get(0).reason()).isEqualTo(LockLost.Reason.TAKEN);
        assertThat(masters.votes()).isEmpty();
    }

    @Test
    void renewal_majorityAway_isUnconfirmedBeforeARivalCanEnter() {
        one.lock.lock();
        Hold hold = Inside.of(one.locks.client()).holds().all().iterator().next();
        one.reachOnly("AB");
        two.lock.lock();
        assertThat(hold.isOpen()).as("the first knows that it has lost it").isFalse();
        assertThat(hold.lossReason()).isEqualTo(LockLost.Reason.UNCONFIRMED);
        assertThat(two.lock.previousHolderLost()).isTrue();
    }

    @Test
    void reentry_majority_countsAndRefreshes() {
        one.lock.lock();
        await().atMost(SOON).until(() -> masters.votes().equals("ABCDE"));
        one.reachOnly("CDE");
        one.lock.lock();
        assertThat(one.lock.getHoldCount()).isEqualTo(2);
        assertThat(masters.server('D').hash(KEY)).containsEntry("holds", "2");
        one.lock.unlock();
        assertThat(one.lock.isHeldByCurrentThread()).isTrue();
        one.lock.unlock();
        assertThat(one.lock.isHeldByCurrentThread()).isFalse();
    }

    /** The votes of D and E never arrived, and A and B fail before the next renewal, which never comes here. */
    @Test
    void reentry_majorityOfTheOthers_getsTheirVotesFirst() throws InterruptedException {
        FakeClock clock = new FakeClock();
        QuorumTwins.Client still = masters.connect(clock);
        still.reachOnly("ABC");
        still.lock.lock();
        still.reachOnly("CDE");
        Thread caller = Thread.currentThread();
        // The client leaves masters that did not answer alone for some 10 ms, and then tries again.
        Thread time = new Thread(() -> {
            while (!Thread.currentThread().isInterrupted()) {
                LockSupport.parkNanos(5_000_000);
                if (clock.isParked(caller)) {
                    clock.advanceMillis(20);
                }
            }
        });
        time.start();
        still.lock.lock();
        time.interrupt();
        time.join();
        assertThat(masters.votes()).isEqualTo("ABCDE");
        assertThat(still.lock.getHoldCount()).isEqualTo(2);
        still.lock.unlock();
        still.lock.unlock();
    }

    @Test
    void restart_withoutData_withDelay_givesNoVote() {
        one.reachOnly("ABC");
        one.lock.lock();
        masters.server('C').restart();
        assertThat(two.lock.tryLock()).isFalse();
        assertThat(one.lock.isHeldByCurrentThread()).isTrue();
        assertThat(masters.server('C').hash(KEY)).isEmpty();
    }

    @Test
    void restart_ofAMajority_isReportedToEachCaller() {
        masters.servers("CDE").forEach(InMemoryRedis::restart);
        assertThatThrownBy(two.lock::tryLock)
                .isInstanceOf(LockUnavailableException.class)
                .hasFieldOrPropertyWithValue("reason", LockUnavailableException.Reason.RESTART_DELAY)
                .hasMessageContaining("has just started, and gives no vote for another")
                .hasMessageContaining("lock() waits for them");
    }

    /** As at the start of a site: the masters answer from the first moment on, but vote only after retryFor is over. */
    @Test
    void lock_freshMasters_waitsUntilTheyVote() throws InterruptedException {
        masters.servers("ABCDE").forEach(InMemoryRedis::restart);
        QuorumTwins.Client impatient = masters.connect(Clock.SYSTEM, Duration.ZERO);
        Thread locker = new Thread(() -> {
            impatient.lock.lock();
            impatient.lock.unlock();
        });
        locker.start();
        await().atMost(SOON).until(() -> impatient.runs("vote") >= 2 * QuorumTwins.NODES);
        assertThat(locker.isAlive()).as("waits, whatever retryFor is").isTrue();
        masters.servers("ABC").forEach(server -> server.stepMillis(LEASE.toMillis() + 2_000));
        locker.join(SOON.toMillis());
        assertThat(locker.isAlive()).isFalse();
        awaitFree(masters);
    }

    @Test
    void tryLock_freshMasters_waitsItsTimeAndSaysForHowLongTheyDoNotVote() {
        masters.servers("CDE").forEach(InMemoryRedis::restart);
        long began = System.nanoTime();
        assertThatThrownBy(() -> two.lock.tryLock(200, TimeUnit.MILLISECONDS))
                .isInstanceOf(LockUnavailableException.class)
                .hasFieldOrPropertyWithValue("reason", LockUnavailableException.Reason.RESTART_DELAY)
                .hasMessageMatching("(?s).*gives no vote for another [34]\\d\\d\\d ms.*");
        assertThat(System.nanoTime() - began).isGreaterThanOrEqualTo(TimeUnit.MILLISECONDS.toNanos(200));
        await().atMost(SOON)
                .until(() -> masters.servers.stream()
                        .allMatch(server -> server.zset(KEY + ":queue").isEmpty()));
    }

    @Test
    void lock_mastersRestartUnderAWaiter_waitsUntilTheyVote() throws InterruptedException {
        QuorumTwins.Client impatient = masters.connect(Clock.SYSTEM, Duration.ZERO);
        one.lock.lock();
        Thread waiter = new Thread(() -> {
            impatient.lock.lock();
            impatient.lock.unlock();
        });
        waiter.start();
        await().atMost(SOON)
                .until(() -> masters.servers.stream()
                        .allMatch(server -> server.zset(KEY + ":queue").size() == 1));
        masters.servers("ABCDE").forEach(InMemoryRedis::restart);
        int asked = impatient.runs("vote");
        await().atMost(SOON).until(() -> impatient.runs("vote") >= asked + 2 * QuorumTwins.NODES);
        assertThat(waiter.isAlive()).isTrue();
        masters.servers("ABCDE").forEach(server -> server.stepMillis(LEASE.toMillis() + 2_000));
        waiter.join(SOON.toMillis());
        assertThat(waiter.isAlive()).isFalse();
    }

    @Test
    void restart_withoutData_withoutDelay_letsTwoHold() {
        try (QuorumTwins careless = new QuorumTwins(LEASE, Duration.ZERO)) {
            QuorumTwins.Client first = careless.connect();
            first.reachOnly("ABC");
            first.lock.lock();
            careless.server('C').restart();
            QuorumTwins.Client second = careless.connect();
            assertThat(second.lock.tryLock()).isTrue();
            assertThat(first.lock.isHeldByCurrentThread()).as("two hold it").isTrue();
            assertThat(second.lock.fencingToken()).as("and only tokens tell").isGreaterThan(first.lock.fencingToken());
        }
    }

    /** The old server is gone, with the votes that it had not replicated; the new one has run for an hour. */
    @Test
    void promotion_ofAReplicaThatLags_givesNoVoteUntilUnknownVotesHaveExpired() {
        one.reachOnly("ABC");
        one.lock.lock();
        two.lock.isLocked();
        masters.server('C').promoteReplica(false);
        assertThat(two.lock.tryLock()).isFalse();
        assertThat(one.lock.isHeldByCurrentThread()).isTrue();
        assertThat(masters.server('C').hash(KEY)).isEmpty();
        one.lock.unlock();
        awaitFree(masters);
        two.reachOnly("ABC");
        two.lock.lock();
        assertThat(masters.votes()).as("in time").isEqualTo("ABC");
    }

    @Test
    void promotion_ofAReplicaThatKnowsTheHold_renewsIt() {
        one.reachOnly("ABC");
        one.lock.lock();
        masters.server('C').promoteReplica(true);
        long renewals = one.nodes.get(2).log().count("vote");
        await().atMost(SOON).until(() -> one.nodes.get(2).log().count("vote") >= renewals + 4);
        assertThat(one.lock.isHeldByCurrentThread()).isTrue();
        assertThat(masters.losses).isEmpty();
    }

    @Test
    void restart_longAgo_isNoPromotion() {
        two.lock.lock();
        two.lock.unlock();
        awaitFree(masters);
        masters.servers("ABCDE").forEach(InMemoryRedis::restart);
        masters.servers("ABCDE").forEach(server -> server.stepMillis(LEASE.toMillis() + 2_000));
        assertThat(two.lock.tryLock()).isTrue();
    }

    @Test
    void restart_longEnoughAgo_votesAgain() {
        masters.server('C').restart();
        masters.server('C').stepMillis(LEASE.toMillis() + 2_000);
        two.reachOnly("ABC");
        assertThat(two.lock.tryLock()).isTrue();
    }

    @Test
    void clockJump_ofOneMaster_letsTwoHold_andTokensDiffer() {
        one.reachOnly("ABC");
        one.lock.lock();
        masters.server('C').stepMillis(60_000);
        assertThat(two.lock.tryLock())
                .as("Redlock does not survive a clock that jumps")
                .isTrue();
        assertThat(one.lock.isHeldByCurrentThread()).isTrue();
        assertThat(two.lock.fencingToken()).isGreaterThan(one.lock.fencingToken());
    }

    @Test
    void token_minorityCountedFurther_isWrittenToAMajorityInASecondRound() {
        masters.server('A').stepMillis(3_600_000);
        QuorumTwins.Client ahead = masters.connect();
        ahead.lock.lock();
        long first = ahead.lock.fencingToken();
        ahead.lock.unlock();
        awaitFree(masters);
        masters.server('A').stepMillis(-3_600_000);
        masters.servers("CDE").forEach(server -> server.del(KEY + ":fence"));
        QuorumTwins.Client late = masters.connect(new FakeClock());
        late.reachOnly("BCD");
        late.lock.lock();
        assertThat(late.lock.fencingToken()).isGreaterThan(first);
        assertThat(late.runs("vote")).as("two rounds of three").isEqualTo(6);
        assertThat(masters.servers("BCD"))
                .extracting(server -> server.hash(KEY).get("token"))
                .containsOnly(Long.toString(late.lock.fencingToken()));
    }

    /** The client does not know that A's clock is ahead, and A gives its vote after the others have decided. */
    private QuorumTwins.Client holdOfWhichAHasAnotherToken(Clock clock) {
        QuorumTwins.Client holder = masters.connect(clock);
        masters.server('A').stepMillis(60_000);
        HeldCalls vote = holder.nodes.get(0).hold(script("vote"));
        holder.lock.lock();
        vote.awaitParked(1, SOON);
        runsNow(holder, vote, 0);
        await().atMost(SOON).until(() -> masters.votes().equals("ABCDE"));
        assertThat(tokenAt('A')).isGreaterThan(holder.lock.fencingToken());
        return holder;
    }

    private long tokenAt(char master) {
        return Long.parseLong(masters.server(master).hash(KEY).get("token"));
    }

    @Test
    void lock_withAnotherTokenAtOneMaster_isSeenAndForcedByAMajorityWithThatMaster() {
        QuorumTwins.Client holder = holdOfWhichAHasAnotherToken(new FakeClock());
        two.reachOnly("ABC");
        assertThat(two.lock.isLocked()).isTrue();
        assertThat(two.lock.forceUnlock()).isTrue();
        assertThat(masters.votes()).isEqualTo("DE");
        assertThat(two.lock.isLocked()).isFalse();
        long before = holder.lock.fencingToken();
        two.lock.lock();
        assertThat(two.lock.fencingToken()).isGreaterThan(before);
        assertThat(two.lock.previousHolderLost()).isTrue();
    }

    @Test
    void lock_withAnotherTokenAtOneMaster_hasOneTokenAfterARenewal() {
        QuorumTwins.Client holder = holdOfWhichAHasAnotherToken(Clock.SYSTEM);
        long token = holder.lock.fencingToken();
        await().atMost(SOON).until(() -> tokenAt('A') == token);
        two.reachOnly("ABC");
        assertThat(two.locks.inspect("job").holder().orElseThrow().token()).isEqualTo(token);
        holder.lock.unlock();
        await().atMost(SOON).until(() -> masters.votes().isEmpty());
        two.lock.lock();
        assertThat(two.lock.fencingToken()).isGreaterThan(token);
        assertThat(two.lock.previousHolderLost()).isFalse();
    }

    @Test
    void tokens_overChangingMajorities_grow() {
        List<Long> tokens = new ArrayList<>();
        for (String majority : List.of("ABC", "CDE", "ADE", "BCD", "ABE", "CDE", "ABC")) {
            QuorumTwins.Client client = tokens.size() % 2 == 0 ? one : two;
            client.reachOnly(majority);
            client.lock.lock();
            tokens.add(client.lock.fencingToken());
            client.lock.unlock();
            awaitFree(masters);
            client.reachOnly("ABCDE");
        }
        assertThat(tokens).isSorted().doesNotHaveDuplicates();
    }

    @Test
    void previousHolderLost_releasedByAMajority_isFalse() {
        one.lock.lock();
        await().atMost(SOON).until(() -> masters.votes().equals("ABCDE"));
        one.reachOnly("ABC");
        one.lock.unlock();
        masters.server('D').del(KEY);
        masters.server('E').del(KEY);
        two.reachOnly("CDE");
        two.lock.lock();
        assertThat(two.lock.previousHolderLost())
                .as("C knows better than D and E")
                .isFalse();
    }

    @Test
    void previousHolderLost_vanished_isTrueOnceAndNotHiddenByAFailedTry() {
        one.reachOnly("CDE");
        one.lock.lock();
        one.reachOnly("");
        await().atMost(SOON).until(() -> masters.losses.size() == 1);
        await().atMost(SOON).until(() -> masters.votes().isEmpty());
        two.reachOnly("AC");
        assertThatThrownBy(two.lock::tryLock).isInstanceOf(LockUnavailableException.class);
        awaitFree(masters);
        two.reachOnly("ABC");
        assertThat(two.lock.tryLock()).isTrue();
        assertThat(two.lock.previousHolderLost()).isTrue();
        two.lock.unlock();
        awaitFree(masters);
        two.reachOnly("ABCDE");
        two.lock.lock();
        assertThat(two.lock.previousHolderLost()).isFalse();
    }

    @Test
    void unlock_whileAVoteIsStillOnItsWay_takesThatBackToo() {
        HeldCalls late = one.nodes.get(4).hold(script("vote"));
        one.lock.lock();
        late.awaitParked(1, SOON);
        one.lock.unlock();
        await().atMost(SOON).until(() -> !masters.votes().contains("A"));
        runsNow(one, late, 4);
        await().atMost(SOON)
                .until(() -> one.nodes.get(4).log().count("vote") > 0
                        && masters.votes().isEmpty());
        assertThat(two.lock.tryLock()).isTrue();
    }

    @Test
    void unlock_masterNotReached_getsTheWithdrawalAgain() {
        one.lock.lock();
        await().atMost(SOON).until(() -> masters.votes().equals("ABCDE"));
        one.nodes.get(1).failNext(2, script("withdraw"), Fault.REQUEST_LOST);
        one.lock.unlock();
        awaitFree(masters);
    }

    @Test
    void failedVote_lateWithdrawal_doesNotEndALaterWin() {
        HeldCalls withdrawals = one.nodes.get(2).hold(script("withdraw"));
        one.reachOnly("BC");
        Thread locker = new Thread(() -> {
            one.lock.lock();
            while (!Thread.currentThread().isInterrupted()) {
                LockSupport.park();
            }
            one.lock.unlock();
        });
        locker.start();
        withdrawals.awaitParked(1, SOON);
        one.reachOnly("ABC");
        await().atMost(SOON)
                .until(() -> Inside.of(one.locks.client()).holds().all().size() == 1);
        assertThat(masters.votes()).isEqualTo("ABC");
        withdrawals.release();
        await().atMost(SOON).until(() -> one.nodes.get(2).log().count("withdraw") > 0);
        assertThat(masters.votes()).as("the withdrawal of the vote before").isEqualTo("ABC");
        locker.interrupt();
        awaitFree(masters);
    }

    @Test
    void waiter_messageFromOneMasterOnly_isEnough() throws InterruptedException {
        two.nodes.subList(0, 4).forEach(node -> node.dropMessages(true));
        one.lock.lock();
        Thread waiter = new Thread(two.lock::lock);
        waiter.start();
        await().atMost(SOON)
                .until(() -> masters.servers.stream()
                        .allMatch(server -> server.zset(KEY + ":queue").size() == 1));
        // Until the next heartbeat only a message can wake the waiter.
        int asked = two.runs("vote");
        long began = System.nanoTime();
        one.lock.unlock();
        waiter.join(SOON.toMillis());
        assertThat(waiter.isAlive()).isFalse();
        assertThat(Duration.ofNanos(System.nanoTime() - began)).isLessThan(Duration.ofSeconds(2));
        assertThat(two.runs("vote")).isGreaterThan(asked);
    }

    @Test
    void interrupt_ofAWaiter_leavesNothingAnywhere() throws InterruptedException {
        one.lock.lock();
        Thread waiter = new Thread(() -> {
            try {
                two.lock.lockInterruptibly();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
        waiter.start();
        await().atMost(SOON)
                .until(() -> masters.servers.stream()
                        .allMatch(server -> server.zset(KEY + ":queue").size() == 1));
        waiter.interrupt();
        waiter.join(SOON.toMillis());
        await().atMost(SOON)
                .until(() -> masters.servers.stream()
                        .allMatch(server -> server.zset(KEY + ":queue").isEmpty()));
        one.lock.unlock();
        awaitFree(masters);
    }

    @Test
    void splitVotes_whileAMinorityIsFrozen_areSoonAskedForAgain() throws InterruptedException {
        two.reachOnly("ABC");
        two.lock.lock();
        masters.servers("BC").forEach(server -> server.del(KEY));
        List<HeldCalls> frozen = one.nodes.subList(3, 5).stream()
                .map(node -> node.hold(call -> true))
                .toList();
        Thread asking = new Thread(one.lock::tryLock);
        asking.start();
        await().pollInterval(Duration.ofMillis(1))
                .atMost(SOON)
                .until(() -> one.nodes.get(1).log().count("vote") >= 2);
        assertThat(frozen.get(0).abandoned())
                .as("the first vote there is still waited for")
                .isEmpty();
        frozen.forEach(HeldCalls::release);
        asking.join(SOON.toMillis());
    }

    @Test
    void masterThatDoesNotAnswer_isLeftAloneButForATry() {
        HeldCalls held = one.nodes.get(4).hold(call -> true);
        long until = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(1_500);
        while (System.nanoTime() < until) {
            one.lock.lock();
            one.lock.unlock();
        }
        assertThat(held.parked().size() + held.abandoned().size())
                .as("a call on each of its 8 connections and one for batches, and then one at a time")
                .isLessThan(20);
        held.release();
        await().atMost(SOON).until(() -> masters.votes().isEmpty());
        one.lock.lock();
        await().atMost(SOON).until(() -> masters.votes().equals("ABCDE"));
    }

    @Test
    void storm_threeClients_onlyOneAtATimeAndNothingIsLeft() throws InterruptedException {
        List<QuorumTwins.Client> clients = List.of(one, two, masters.connect());
        AtomicInteger inside = new AtomicInteger();
        AtomicInteger doubles = new AtomicInteger();
        AtomicInteger done = new AtomicInteger();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            QuorumTwins.Client client = clients.get(i % 3);
            threads.add(new Thread(() -> {
                for (int k = 0; k < 30; k++) {
                    client.lock.lock();
                    if (inside.incrementAndGet() != 1) {
                        doubles.incrementAndGet();
                    }
                    done.incrementAndGet();
                    inside.decrementAndGet();
                    client.lock.unlock();
                }
            }));
        }
        threads.forEach(Thread::start);
        for (Thread thread : threads) {
            thread.join(25_000);
        }
        assertThat(done).hasValue(180);
        assertThat(doubles).hasValue(0);
        awaitFree(masters);
        // A late vote is withdrawn once no further vote can be given.
        await().atMost(SOON)
                .until(() -> masters.servers.stream()
                        .allMatch(server -> server.keys().equals(List.of(KEY + ":fence"))));
    }

    @Test
    void close_whileHeld_freesAllMasters() {
        one.lock.lock();
        await().atMost(SOON).until(() -> masters.votes().equals("ABCDE"));
        one.locks.close();
        assertThat(masters.votes()).isEmpty();
    }

    @Test
    void whatNeedsALine_isRefusedAndSaysWhy() {
        assertThatThrownBy(one.lock::newCondition)
                .isInstanceOf(UnsupportedOperationException.class)
                .hasMessageContaining("Conditions");
        assertThatThrownBy(() ->
                        one.locks.reentrantLock("job", LockOptions.defaults().fair(true)))
                .isInstanceOf(UnsupportedOperationException.class)
                .hasMessageContaining("fair locks");
    }

    @Test
    void lease_longerThanAMasterWouldWait_isRefused() {
        assertThatThrownBy(() -> fixed(one.lock, LEASE.plusMillis(1)).lock())
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("restartDelay");
    }

    @Test
    void inspect_oneHolderAndOneWaiter_showsBoth() throws InterruptedException {
        one.lock.lock();
        Thread waiter = new Thread(two.lock::lock);
        waiter.start();
        await().atMost(SOON).until(() -> two.locks.inspect("job").queueLength() == 1);
        LockInspection shown = two.locks.inspect("job");
        assertThat(shown.holder().orElseThrow().token()).isEqualTo(one.lock.fencingToken());
        assertThat(shown.holder().orElseThrow().holds()).isEqualTo(1);
        one.lock.unlock();
        waiter.join(SOON.toMillis());
    }
}
