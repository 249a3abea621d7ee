package io.github.redislocks;

import static io.github.redislocks.FixedLease.fixed;
import static io.github.redislocks.fixture.twin.Verbs.verb;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.fixture.Moment;
import io.github.redislocks.fixture.OwnThread;
import io.github.redislocks.residency.Residences;
import io.github.redislocks.state.Settings;
import io.github.redislocks.testkit.twin.Fault;
import io.github.redislocks.testkit.twin.HeldCalls;
import io.github.redislocks.testkit.twin.InMemoryRedis;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A client gives up a lock that it keeps, and the answer of Redis comes late or not at all. */
class ReleaseOfAKeptLockTest extends FakeTime {

    private static final Duration PATIENCE = Duration.ofSeconds(20);

    private final List<LockGivenUp> givenUp = new CopyOnWriteArrayList<>();
    private final InMemoryRedis port = server.another();
    private RedisLocks keeper;
    private RedisReentrantLock kept;
    /** Another client's use of the lock. */
    private CompletableFuture<Void> wanted;

    @BeforeEach
    void keep() {
        LockListener listener = new LockListener() {
            @Override
            public void givenUp(LockGivenUp event) {
                givenUp.add(event);
            }
        };
        Settings keeping = Settings.DEFAULTS.withResidency(Duration.ofHours(1));
        keeper = RedisLocks.on(port, keeping, List.of(listener), clock);
        clients.add(keeper);
        kept = keeper.reentrantLock("job");
        await().until(() -> inside(keeper).mailbox().isOpen());
        kept.runWithLock(() -> {});
        assertThat(keeper.countResident()).isOne();
    }

    private CompletableFuture<Void> wantedByAnother() {
        return OwnThread.run(() -> other.runWithLock(() -> {}));
    }

    @Test
    void release_whoseAnswersAreLost_isReportedOnce() {
        port.failNext(3, verb("release"), Fault.REPLY_LOST);
        CompletableFuture<Void> wanted = wantedByAnother();
        passUntil(wanted::isDone);
        pass(5_000);
        assertThat(givenUp).extracting(LockGivenUp::reason).containsExactly(LockGivenUp.Reason.RECALLED);
        assertThat(losses).isEmpty();
    }

    /** Has another client want the lock, and holds the release back. */
    private HeldCalls holdTheRelease() {
        HeldCalls release = port.hold(verb("release")).whateverTheirTimeouts();
        wanted = wantedByAnother();
        release.awaitParked(1, PATIENCE);
        return release;
    }

    /** Has the tryLock() of a client that has ended want the lock, and holds the release back. */
    private HeldCalls holdTheReleaseForATry() {
        HeldCalls release = port.hold(verb("release")).whateverTheirTimeouts();
        inside(keeper).residences().byTry(KEY, "ended", 1);
        release.awaitParked(1, PATIENCE);
        return release;
    }

    private CompletableFuture<Boolean> tried(RedisReentrantLock by) {
        return OwnThread.call(() -> {
            boolean had = by.tryLock();
            if (had) {
                by.unlock();
            }
            return had;
        });
    }

    /** Lets time pass while a request is held back, so that the client is never idle. */
    private void awaitByTheClock(CompletableFuture<?> result) {
        await().until(() -> {
            clock.advanceMillis(5);
            return result.isDone();
        });
    }

    private void letGo(HeldCalls release) {
        release.release();
        passUntil(wanted::isDone);
    }

    @Test
    void tryLock_duringTheRelease_waitsUntilItIsAnswered() {
        HeldCalls release = holdTheReleaseForATry();
        CompletableFuture<Boolean> tried = tried(kept);
        clock.advanceMillis(100);
        Moment.pass();
        assertThat(tried).isNotDone();
        release.release();
        await().until(tried::isDone);
        assertThat(tried.join()).isTrue();
    }

    @Test
    void tryLock_duringAReleaseThatIsNotAnswered_endsAfterTheCommandTimeout() {
        HeldCalls release = holdTheRelease();
        CompletableFuture<Boolean> tried = tried(kept);
        clock.advanceMillis(Settings.DEFAULTS.commandTimeoutNanos() / 1_000_000);
        awaitByTheClock(tried);
        assertThatThrownBy(tried::join).hasCauseInstanceOf(LockUnavailableException.class);
        letGo(release);
    }

    @Test
    void timedTryLock_whileAnOutageDelaysTheRelease_isNotToldThatTheLockIsBusy() {
        HeldCalls release = holdTheRelease();
        port.failNext(100, verb("acquire"), Fault.REQUEST_LOST);
        CompletableFuture<Boolean> meetsTheOutage =
                OwnThread.call(() -> keeper.reentrantLock("unanswered").tryLock(Duration.ofMillis(100)));
        awaitByTheClock(meetsTheOutage);
        CompletableFuture<Boolean> tried = OwnThread.call(() -> kept.tryLock(Duration.ofMillis(1)));
        awaitByTheClock(tried);
        assertThatThrownBy(tried::join).hasCauseInstanceOf(LockUnavailableException.class);
        port.heal();
        letGo(release);
    }

    @Test
    void tryLockOfAnotherClient_duringTheRelease_isAnsweredAfterIt() {
        HeldCalls release = holdTheReleaseForATry();
        CompletableFuture<Boolean> tried = tried(other);
        Moment.pass();
        assertThat(tried).isNotDone();
        release.release();
        await().until(tried::isDone);
        assertThat(tried.join()).isTrue();
    }

    @Test
    void lock_thatWasRecalledOnce_isKeptAgain() {
        CompletableFuture<Void> first = wantedByAnother();
        passUntil(first::isDone);
        assertThat(keeper.countResident()).isZero();
        kept.runWithLock(() -> {});
        pass(100);
        assertThat(keeper.countResident()).isOne();
    }

    @Test
    void tryLocksOfSeveralClients_duringTheRelease_areAllAnsweredAfterIt() {
        HeldCalls release = holdTheReleaseForATry();
        List<CompletableFuture<Boolean>> tries = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            InMemoryRedis itsPort = server.another();
            RedisLocks client = RedisLocks.on(itsPort, Settings.DEFAULTS, List.of(), clock);
            clients.add(client);
            tries.add(tried(client.reentrantLock("job")));
            // Redis has told the client that keeps the lock.
            await().until(() -> itsPort.log().count("take") > 0);
        }
        release.release();
        // No time passes, so none of them gives up.
        await().until(() -> tries.stream().allMatch(CompletableFuture::isDone));
    }

    @Test
    void recall_ofAnEarlierLease_leavesTheLockKept() {
        Residences residences = inside(keeper).residences();
        long attempt = Objects.requireNonNull(residences.known(KEY)).lease().attempt;
        residences.byWaiter(KEY, attempt - 1);
        settle();
        assertThat(keeper.countResident()).isOne();
        residences.byWaiter(KEY, attempt);
        settle();
        assertThat(keeper.countResident()).isZero();
    }

    @Test
    void unlock_afterALongFixedLease_releasesOnce() {
        kept.lock();
        fixed(kept, Duration.ofHours(1)).lock();
        kept.unlock();
        port.log().clear();
        kept.unlock();
        kept.lock();
        settle();
        assertThat(port.log().count("free", "release", "leave")).isOne();
        kept.unlock();
    }

    @Test
    void unlock_whileTheClientHearsNoMessages_keepsNothing() {
        kept.lock();
        inside(keeper).mailbox().close();
        kept.unlock();
        settle();
        assertThat(server.hash(KEY)).as("no other client could recall it").isEmpty();
    }
}
