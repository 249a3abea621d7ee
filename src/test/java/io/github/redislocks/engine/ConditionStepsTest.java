package io.github.redislocks.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.LockLostException;
import io.github.redislocks.LockUnavailableException;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Owner;
import io.github.redislocks.state.WaitLimit;
import io.github.redislocks.testkit.twin.Fault;
import io.github.redislocks.watchdog.Job;
import java.time.Duration;
import java.util.Date;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.assertj.core.api.ThrowableAssert;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** How a thread waits in a Condition and signals its waiters, step by step. */
@Timeout(30)
class ConditionStepsTest extends SteppedClient {

    private static final long PAUSE = 20 * MILLI;
    private static final String ID = "#1";

    private final RedisCondition condition = client.condition(sync, ID);
    private final LockClient patient = client(options().withCommandTimeout(Duration.ofSeconds(20)), List.of());
    private final RedisCondition othersCondition = others.condition(other, ID);

    @AfterEach
    void nothingIsUnderWay() {
        patient.mailbox.close();
        assertThat(client.attempts.isEmpty()).isTrue();
        assertThat(Thread.interrupted()).isFalse();
    }

    private Hold lock() {
        openMailbox();
        sync.lock(LEASE, true);
        return sync.held();
    }

    /** Its lock waits for the mailbox for as long as a machine may stall. */
    private Sync patient() {
        return patient.lock("job", false);
    }

    /** The other client has the lock, and gives it to the waiter of this one. */
    private void signal() {
        other.lock(LEASE, true);
        othersCondition.signal();
        unlock();
    }

    private void unlock() {
        other.unlock();
        awaitVerdict();
    }

    private void awaitVerdict() {
        await().until(() -> !attempt().undecided());
    }

    /** A message that cannot be dated. */
    private void decide(long token) {
        attempt().decide(new Attempt.Grant(token, false, 0, clock.nanoTime(), false));
    }

    private void isHeld(Hold before, int times) {
        Hold back = sync.held();
        assertThat(back).isNotNull().isNotSameAs(before);
        assertThat(back.count()).isEqualTo(times);
        assertThat(redis.hash(KEY)).containsEntry("holds", Integer.toString(times));
    }

    /** Sends a heartbeat, as the watchdog does. */
    private void send(String key, Job heartbeat) {
        heartbeat.begin();
        heartbeat.answered(redis.run(heartbeat.call(clock.nanoTime(), MILLI), MILLI), clock.nanoTime());
    }

    @Test
    void waiterThatIsSignalled_hasItsHoldBack() throws InterruptedException {
        Hold before = lock();
        lock();
        steps.add(this::signal);
        assertThat(condition.await(50, TimeUnit.MILLISECONDS)).isTrue();
        isHeld(before, 2);
        assertThat(parks).containsExactly(50 * MILLI);
        assertThat(count("rejoin")).isZero();
    }

    @Test
    void waiter_asksForItsPlaceInTime() {
        lock();
        steps.add(() -> {
            assertThat(client.holds.all()).isEmpty();
            assertThat(client.watchdog.isIdle()).isTrue();
            clock.advanceMillis(1_501);
            assertThat(client.watchdog.isIdle()).isFalse();
            signal();
        });
        condition.awaitUninterruptibly();
        assertThat(parks).containsExactly(Long.MAX_VALUE);
    }

    @Test
    void waiterWhoseTimeIsOver_takesAFreeLock() throws InterruptedException {
        Hold before = lock();
        assertThat(condition.await(50, TimeUnit.MILLISECONDS)).isFalse();
        isHeld(before, 1);
        assertThat(parks).containsExactly(50 * MILLI);
        assertThat(count("rejoin")).isEqualTo(1);
        assertThat(sync.held().deadlineNanos()).as("of a claim").isLessThan(clock.nanoTime() + 5_000 * MILLI);
    }

    @Test
    void waiterWhoseTimeIsOver_standsInLine() throws InterruptedException {
        Hold before = lock();
        steps.add(() -> {
            other.lock(LEASE, true);
            clock.advanceMillis(60);
            assertThat(attempt().bearsOutages()).isTrue();
        });
        steps.add(() -> {
            assertThat(attempt().condition()).isNull();
            assertThat(attempt().bearsOutages()).isFalse();
            assertThat(attempt().position().sentNanos()).isEqualTo(clock.nanoTime());
            assertThat(client.watchdog.isIdle()).isTrue();
            clock.advanceMillis(1_501);
            assertThat(client.watchdog.isIdle()).as("its heartbeat is due").isFalse();
            unlock();
        });
        assertThat(condition.await(50, TimeUnit.MILLISECONDS)).isFalse();
        isHeld(before, 1);
        assertThat(parks).containsExactly(50 * MILLI, Long.MAX_VALUE);
    }

    @Test
    void waiterThatWasSignalledBeforeItsTimeWasOver_saysSo() throws InterruptedException {
        Hold before = lock();
        steps.add(() -> {
            other.lock(LEASE, true);
            othersCondition.signal();
            clock.advanceMillis(60);
        });
        steps.add(this::unlock);
        assertThat(condition.await(50, TimeUnit.MILLISECONDS)).isTrue();
        isHeld(before, 1);
        assertThat(count("rejoin")).isEqualTo(1);
    }

    @Test
    void interrupt_isThrownWithTheLock() {
        Hold before = lock();
        steps.add(Thread.currentThread()::interrupt);
        assertThatThrownBy(condition::await).isInstanceOf(InterruptedException.class);
        isHeld(before, 1);
    }

    @Test
    void interrupt_ofOneThatDoesNotEndByIt_isKept() {
        lock();
        steps.add(Thread.currentThread()::interrupt);
        steps.add(this::signal);
        condition.awaitUninterruptibly();
        assertThat(Thread.interrupted()).isTrue();
    }

    @Test
    @SuppressWarnings("JavaUtilDate") // The interface names it.
    void waitUntilATime_looksAtTheWallClockAgainAndAgain() throws InterruptedException {
        lock();
        long until = clock.wall().toEpochMilli() + 1_200;
        assertThat(condition.awaitUntil(new Date(until))).isFalse();
        assertThat(parks).hasSize(3);
        assertThat(parks.subList(0, 2)).containsExactly(500 * MILLI, 500 * MILLI);
        assertThat(parks.get(2)).isBetween(190 * MILLI, 200 * MILLI);
    }

    @Test
    @SuppressWarnings("JavaUtilDate") // The interface names it.
    void waitUntilATimeThatIsOver_isNone() throws InterruptedException {
        Hold before = lock();
        assertThat(condition.awaitUntil(new Date(clock.wall().toEpochMilli() - 1_000)))
                .isFalse();
        isHeld(before, 1);
        assertThat(parks).isEmpty();
    }

    @Test
    void grantThatHasLapsed_isNone() throws InterruptedException {
        Hold before = lock();
        long token = before.token;
        steps.add(() -> {
            assertThat(client.watchdog.isIdle()).isTrue();
            decide(token);
        });
        steps.add(() -> {
            assertThat(attempt().undecided()).isTrue();
            assertThat(attempt().nextHeartbeatNanos()).isZero();
            assertThat(client.watchdog.isIdle()).isFalse();
            clock.advanceMillis(50);
        });
        assertThat(condition.await(50, TimeUnit.MILLISECONDS)).isFalse();
        isHeld(before, 1);
    }

    @Test
    void grantThatHasLapsed_ofAClientThatIsClosed_fails() {
        long token = lock().token;
        steps.add(() -> {
            decide(token);
            client.attempts.close();
        });
        assertThatThrownBy(condition::await)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("closed");
    }

    @Test
    void close_failsAWaiter() {
        lock();
        steps.add(client.attempts::close);
        assertThatThrownBy(condition::await)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("closed");
        assertThat(sync.held()).isNull();
    }

    @Test
    void closedClient_hasNoWaiters() {
        lock();
        client.attempts.close();
        assertThatThrownBy(condition::await).hasMessageContaining("closed");
        assertThat(count("await")).isZero();
        assertThat(sync.held()).isNotNull();
    }

    @Test
    void graceAfterAFailover_isWaitedForBeforeAFreeLockIsAskedFor() throws InterruptedException {
        lock();
        steps.add(() -> {
            clock.advanceMillis(50);
            client.epoch.next(clock.nanoTime() + 300 * MILLI);
        });
        assertThat(condition.await(50, TimeUnit.MILLISECONDS)).isFalse();
        assertThat(parks).containsExactly(50 * MILLI, 300 * MILLI);
    }

    @Test
    void returnThatIsNotAnswered_isAskedForAgain() throws InterruptedException {
        Hold before = lock();
        fail("rejoin", unanswered());
        assertThat(condition.await(50, TimeUnit.MILLISECONDS)).isFalse();
        isHeld(before, 1);
        assertThat(parks).containsExactly(50 * MILLI, PAUSE);
        assertThat(count("rejoin")).isEqualTo(2);
        assertThat(sync.held().inDoubt).isTrue();
    }

    @Test
    void returnThatIsNotAnsweredForLong_fails() {
        lock();
        long began = clock.nanoTime();
        away("rejoin", 60_000);
        assertThatThrownBy(() -> condition.await(50, TimeUnit.MILLISECONDS))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageContaining("away");
        assertThat(clock.nanoTime() - began).isBetween(10_000 * MILLI, 11_000 * MILLI);
        assertThat(sync.held()).isNull();
    }

    @Test
    void returnThatCameTooLate_isAskedForAtOnce() throws InterruptedException {
        Hold before = lock();
        answer("rejoin", "LATE", 1_000_000L);
        answer("rejoin", "LATE", 1_000_000L);
        assertThat(condition.await(50, TimeUnit.MILLISECONDS)).isFalse();
        isHeld(before, 1);
        assertThat(parks).containsExactly(50 * MILLI);
    }

    @Test
    void returnThatMeetsAnError_mayHaveRun() {
        lock();
        fail("rejoin", broken);
        assertThatThrownBy(() -> condition.await(50, TimeUnit.MILLISECONDS)).isSameAs(broken);
        assertThat(commands()).containsExactly("leave");
        assertThat(client.watchdog.isIdle()).isFalse();
    }

    @Test
    void lockThatWasLostOnItsWayIntoTheCondition_isNotGivenUp() {
        Sync own = patient();
        own.lock(LEASE, true);
        onSubscribe = () -> clock.advanceMillis(LEASE);
        assertThatThrownBy(patient.condition(own, ID)::await).isInstanceOf(LockLostException.class);
        assertThat(count("await")).isZero();
        assertThat(patient.attempts.isEmpty()).isTrue();
    }

    @Test
    void lockThatSomebodyRemoved_isLost() {
        Hold hold = lock();
        redis.del(KEY);
        assertThatThrownBy(condition::await).isInstanceOf(LockLostException.class);
        assertThat(hold.isLost()).isTrue();
        assertThat(parks).isEmpty();
        assertThat(commands()).isEmpty();
        assertThat(client.localQueue.size()).as("the turn has ended").isZero();
    }

    @Test
    void lockThatWasGivenUpByAnEarlierCopy_isNotLost() throws InterruptedException {
        Hold before = lock();
        redis.del(KEY);
        answer("await", new Reply("GONE", List.of()).resentOnce());
        assertThat(condition.await(50, TimeUnit.MILLISECONDS)).isFalse();
        isHeld(before, 1);
        assertThat(sync.held().inDoubt).isTrue();
    }

    @Test
    void requestThatCameTooLate_isSentAgain() throws InterruptedException {
        Hold before = lock();
        // The first is sent once more at once.
        answer("await", "LATE", 1_000_000L);
        answer("await", "LATE", 1_000_000L);
        assertThat(condition.await(50, TimeUnit.MILLISECONDS)).isFalse();
        isHeld(before, 1);
        assertThat(parks).containsExactly(PAUSE, 30 * MILLI);
        assertThat(count("await")).isEqualTo(3);
    }

    @Test
    void requestOfWhichACopyCameTooLate_mayHaveRunBefore() throws InterruptedException {
        Hold before = lock();
        redis.del(KEY);
        answer("await", new Reply("LATE", List.of(1_000_000L)).resentOnce());
        answer("await", new Reply("LATE", List.of(1_000_000L)).resentOnce());
        answer("await", "GONE");
        assertThat(condition.await(50, TimeUnit.MILLISECONDS)).isFalse();
        isHeld(before, 1);
    }

    @Test
    void requestThatCameTooLateOnce_andFindsTheLockGone_tellsTheLoss() {
        lock();
        redis.del(KEY);
        answer("await", "LATE", 1_000_000L);
        answer("await", "LATE", 1_000_000L);
        answer("await", "GONE");
        assertThatThrownBy(condition::await).isInstanceOf(LockLostException.class);
    }

    @Test
    void requestThatIsNotAnswered_isSentAgain_andAnInterruptWaits() {
        Hold before = lock();
        steps.add(Thread.currentThread()::interrupt);
        steps.add(() -> {
            assertThat(Thread.currentThread().isInterrupted())
                    .as("it would not park")
                    .isFalse();
            clock.advanceMillis(20);
        });
        fail(2, "await", SteppedClient::unanswered);
        assertThatThrownBy(condition::await).isInstanceOf(InterruptedException.class);
        isHeld(before, 1);
        assertThat(parks).containsExactly(PAUSE, PAUSE);
        assertThat(count("await")).isEqualTo(3);
        assertThat(sync.held().inDoubt).isTrue();
    }

    private void isNotHeld(Hold hold) {
        assertThat(sync.held()).isNull();
        assertThat(hold.isLost()).isFalse();
        assertThat(hold.stranded).isFalse();
        assertThat(client.holds.all()).isEmpty();
    }

    private void isRefusedForGood(ThrowableAssert.ThrowingCallable call) {
        assertThatThrownBy(call)
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageContaining("was given up by await() and not acquired again")
                .hasMessageContaining("It is not held any more; do not unlock it.")
                .hasMessageContaining("NOPERM");
    }

    @Test
    void requestThatIsRefusedForGood_endsTheHold() {
        Hold hold = lock();
        fail("await", refused());
        isRefusedForGood(condition::await);
        isNotHeld(hold);
        assertThat(commands()).containsExactly("release");
        assertThat(parks).isEmpty();
    }

    @Test
    void requestThatIsNotAnswered_andThenRefusedForGood_endsTheHold() {
        Hold hold = lock();
        fail("await", unanswered());
        fail("await", refused());
        isRefusedForGood(condition::await);
        isNotHeld(hold);
        assertThat(commands()).containsExactlyInAnyOrder("release", "leave");
        assertThat(parks).containsExactly(PAUSE);
    }

    @ParameterizedTest
    @ValueSource(strings = {"BUSY", "LOADING", "READONLY", "OOM", "MISCONF", "NOREPLICAS", "ERR max number of clients"})
    void requestThatIsRefusedForAWhile_isSentAgain(String reason) throws InterruptedException {
        Hold before = lock();
        fail(20, "await", () -> new RedisException.Refused(reason + " for a while", null));
        long retries = client.monitored.retries();
        assertThat(condition.await(50, TimeUnit.MILLISECONDS)).isFalse();
        isHeld(before, 1);
        assertThat(count("await")).isEqualTo(21);
        assertThat(client.monitored.retries() - retries).isEqualTo(20);
    }

    @Test
    void requestThatIsRefusedForAWhileThatIsTooLong_endsTheHold() {
        Hold hold = lock();
        long began = clock.nanoTime();
        fail(1_000, "await", () -> new RedisException.Refused("LOADING", null));
        assertThatThrownBy(condition::await)
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageContaining("do not unlock it");
        assertThat(clock.nanoTime() - began).isBetween(10_000 * MILLI, 10_100 * MILLI);
        isNotHeld(hold);
    }

    @Test
    void returnThatIsRefusedForGood_fails() {
        Hold hold = lock();
        fail(1_000, "rejoin", SteppedClient::refused);
        isRefusedForGood(() -> condition.await(50, TimeUnit.MILLISECONDS));
        isNotHeld(hold);
        assertThat(count("rejoin")).isEqualTo(1);
    }

    @Test
    void returnThatIsRefusedForAWhile_isAskedForAgain() throws InterruptedException {
        Hold before = lock();
        long retries = client.monitored.retries();
        fail(20, "rejoin", () -> new RedisException.Refused("LOADING", null));
        assertThat(condition.await(50, TimeUnit.MILLISECONDS)).isFalse();
        isHeld(before, 1);
        assertThat(client.monitored.retries() - retries).isEqualTo(20);
    }

    @Test
    void requestThatMeetsAnError_leavesTheHoldToTheWatchdog() {
        Hold hold = lock();
        fail("await", broken);
        assertThatThrownBy(condition::await).isSameAs(broken);
        assertThat(hold.stranded).isTrue();
        assertThat(client.watchdog.isIdle()).isFalse();
        assertThat(commands()).containsExactly("leave");
    }

    @Test
    void returnThatIsSentTwice_mayRunOnceMore() throws InterruptedException {
        lock();
        redis.failNext(call -> call.script().name().equals("rejoin"), Fault.SENT_TWICE);
        assertThat(condition.await(50, TimeUnit.MILLISECONDS)).isFalse();
        assertThat(sync.held().inDoubt).isTrue();
    }

    @Test
    void mailboxThatDoesNotOpen_isDoneWithout() throws InterruptedException {
        onSubscribe = () -> {
            throw unanswered();
        };
        sync.lock(LEASE, true);
        Hold before = sync.held();
        steps.add(() -> {
            assertThat(redis.hash(KEY)).as("it was given up").isEmpty();
            other.lock(LEASE, true);
            othersCondition.signal();
            other.unlock();
            attempt().heartbeatAt(0);
            client.heartbeats().inspect(clock.nanoTime(), clock.nanoTime(), this::send);
        });
        assertThat(condition.await(50, TimeUnit.MILLISECONDS)).isTrue();
        isHeld(before, 1);
        assertThat(client.mailbox.isOpen()).isFalse();
    }

    @Test
    void mailboxThatIsRefusedForGood_endsTheHold() {
        onSubscribe = () -> {
            throw refused();
        };
        sync.lock(LEASE, true);
        Hold hold = sync.held();
        isRefusedForGood(condition::await);
        isNotHeld(hold);
        assertThat(count("await")).isZero();
        assertThat(commands()).contains("release");
    }

    @Test
    void signal_movesAWaiterOfThisClient() {
        Hold hold = lock();
        Owner owner = client.owners.caller();
        Attempt attempt = client.attempts.make(hold, ID, WaitLimit.endless());
        client.attempts.begin(attempt);
        answer("signal", "OK", "somebody:1" + attempt.number, owner.id + ":77", "another:" + attempt.number);
        condition.signalAll();
        assertThat(attempt.condition()).as("another's").isEqualTo(ID);
        answer("signal", "OK", owner.id + ":" + attempt.number);
        client.condition(sync, "#2").signal();
        assertThat(attempt.condition()).as("another Condition's").isEqualTo(ID);
        answer("signal", "OK", owner.id + ":" + attempt.number);
        condition.signal();
        assertThat(attempt.condition()).isNull();
        client.attempts.end(attempt);
    }

    @Test
    void signal_ofALockThatSomebodyRemoved_tellsTheLoss() {
        Hold hold = lock();
        redis.del(KEY);
        assertThatThrownBy(condition::signal).isInstanceOf(LockLostException.class);
        assertThat(hold.isLost()).isTrue();
        assertThat(parks).isEmpty();
    }

    @Test
    void signalThatIsNotAnswered_isSentAgain_andAnInterruptIsKept() {
        lock();
        steps.add(Thread.currentThread()::interrupt);
        steps.add(() -> assertThat(Thread.currentThread().isInterrupted())
                .as("it would not park")
                .isFalse());
        fail(2, "signal", SteppedClient::unanswered);
        condition.signal();
        assertThat(Thread.interrupted()).isTrue();
        assertThat(parks).containsExactly(PAUSE, PAUSE);
        assertThat(count("signal")).isEqualTo(3);
    }

    @Test
    void signalThatIsRefused_fails() {
        Hold hold = lock();
        fail("signal", refused());
        assertThatThrownBy(condition::signal)
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageContaining("was not signalled");
        assertThat(parks).isEmpty();
        assertThat(sync.held()).isSameAs(hold);
    }

    @Test
    void signalThatMayPassLater_isSentAgain() {
        lock();
        fail("signal", new RedisException.Refused("OOM command not allowed", null));
        condition.signal();
        assertThat(count("signal")).isEqualTo(2);
    }

    @Test
    void signalThatIsNotAnsweredForLong_fails() {
        Hold hold = lock();
        long began = clock.nanoTime();
        away("signal", 60_000);
        assertThatThrownBy(condition::signal)
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageMatching(".* for 10\\d{3} ms.*");
        assertThat(clock.nanoTime() - began).isBetween(10_000 * MILLI, 11_000 * MILLI);
        assertThat(sync.held()).isSameAs(hold);
    }

    @Test
    void signalThatIsNotAnsweredUntilTheLockIsLost_tellsThat() {
        lock();
        steps.add(() -> clock.advanceMillis(LEASE));
        fail(2, "signal", SteppedClient::unanswered);
        assertThatThrownBy(condition::signal).isInstanceOf(LockLostException.class);
        assertThat(count("signal")).isEqualTo(2);
    }
}
