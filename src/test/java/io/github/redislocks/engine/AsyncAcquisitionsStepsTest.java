package io.github.redislocks.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.LockUnavailableException;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Timing;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CancellationException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Isolated;

/** How an acquisition for which no thread waits goes on, step by step. */
@Timeout(30)
@Isolated("It looks at what all threads log")
class AsyncAcquisitionsStepsTest extends SteppedAsync {

    /** No request is made in it, nor does a grant count. */
    private void grace(long millis) {
        client.epoch.next(clock.nanoTime() + millis * MILLI);
    }

    /** One that stands in line, in Redis. */
    private Wanting inLine() {
        openMailbox();
        other.lock(LEASE, true);
        Wanting one = want("job");
        goOn();
        assertThat(send()).containsExactly("take");
        goOn();
        assertThat(send()).containsExactly("acquire");
        goOn();
        assertThat(redis.zset(KEY + ":queue")).hasSize(1);
        return one;
    }

    /** The other client unlocks, and this one hears of it. */
    private void granted() {
        other.unlock();
        await().until(() -> !attempt().undecided());
    }

    /** Has somebody want a lock that is free, and the answer come. */
    private Wanting answered() {
        return answered("job");
    }

    private Wanting answered(String name) {
        Wanting one = want(name);
        goOn();
        send();
        return one;
    }

    private void isHeld(Wanting one) {
        Hold hold = one.hold();
        assertThat(hold.owner).isSameAs(one.owner);
        assertThat(hold.isOpen()).isTrue();
        assertThat(hold.stranded).isFalse();
        assertThat(client.holds.all()).containsExactly(hold);
        assertThat(redis.hash(one.keys.lock())).containsEntry("owner", one.owner.id);
        assertThat(client.attempts.isEmpty()).isTrue();
        assertThat(client.async.count()).isZero();
    }

    private void isCancelled(Wanting one) {
        assertThat(one.failure()).isInstanceOf(CancellationException.class);
        assertThat(heard).containsExactly("INTERRUPTED 0", "end INTERRUPTED");
        assertThat(one.rests).isTrue();
        assertNothingLeft();
    }

    private void isLeftToTheWatchdog(Hold hold) {
        assertThat(hold.stranded).isTrue();
        assertThat(client.watchdog.isIdle()).isFalse();
    }

    private void happens(int readings, Runnable event) {
        this.readings = readings;
        onReading = event;
    }

    private void throwError() {
        throw new InternalError("of the test");
    }

    @Test
    void lockThatIsFree_isHad() {
        Wanting one = want("job");
        assertThat(client.async.count()).isEqualTo(1);
        assertThat(client.watchdog.commands()).as("the caller asks nothing").isEmpty();
        goOn();
        assertThat(parkedUntil()).isEqualTo(Long.MAX_VALUE);
        assertThat(one.told()).isEmpty();
        assertThat(send()).containsExactly("take");
        assertThat(one.told()).isEmpty();
        goOn();
        isHeld(one);
        assertThat(heard).containsExactly("acquired job", "end job");
        assertThat(one.rests).isTrue();
        assertThat(parkedUntil()).isEqualTo(Long.MAX_VALUE);
    }

    /** By this whoever moves time knows whether to wait for the thread. */
    @Test
    void idle_isWhoHasNothingToDoUntilThereIsNews_orItsTimeHasCome() {
        assertThat(client.async.isIdle()).as("nobody wants anything").isTrue();
        redis.down(true);
        Wanting one = want("job");
        assertThat(client.async.isIdle()).as("it has begun").isFalse();
        goOn();
        assertThat(client.async.isIdle()).as("it waits for an answer").isTrue();
        send();
        assertThat(client.async.isIdle()).as("there was none, which is news").isFalse();
        happens(1, () -> assertThat(client.async.isIdle()).as("it works").isFalse());
        goOn();
        assertThat(onReading).isNull();
        assertThat(client.async.isIdle()).as("it pauses").isTrue();
        clock.advanceMillis(1_000);
        assertThat(client.async.isIdle()).as("it is to try again").isFalse();
        closeAsync();
        assertThat(client.async.isIdle()).as("closed").isTrue();
        assertThat(one.told()).hasSize(1);
    }

    @Test
    void lockThatIsBusy_isWaitedFor_andGranted() {
        Wanting one = inLine();
        assertThat(parkedUntil()).isEqualTo(Long.MAX_VALUE);
        assertThat(one.told()).isEmpty();
        granted();
        goOn();
        isHeld(one);
        assertThat(heard).containsExactly("acquired job", "end job");
    }

    @Test
    void lockOfTheSameClient_isHadBehindWhoeverHasIt() {
        sync.lock(LEASE, true);
        Wanting one = want("job");
        goOn();
        assertThat(send()).as("it has no turn").isEmpty();
        assertThat(parkedUntil()).isEqualTo(Long.MAX_VALUE);
        sync.unlock();
        goOn();
        isHeld(one);
    }

    @Test
    void acquisitions_goOnInTheOrderOfTheirNews() {
        List<Wanting> all = List.of(want("c"), want("a"), want("b"));
        assertThat(client.async.count()).isEqualTo(3);
        goOn();
        send();
        assertThat(asked.stream().map(call -> call.keys().get(0)))
                .containsExactly("redis-locks:{c}", "redis-locks:{a}", "redis-locks:{b}");
        assertThat(client.async.count()).isEqualTo(3);
        goOn();
        assertThat(all).allMatch(one -> one.hold().isOpen());
        assertThat(client.async.count()).isZero();
    }

    @Test
    void newsThatComesTwice_isOne() {
        Wanting one = want("a");
        one.owner.wake();
        want("b");
        one.owner.wake();
        goOn();
        assertThat(send()).containsExactly("take", "take");
    }

    @Test
    void thread_isStartedByTheFirst_whoeverThatIs() throws InterruptedException {
        assertThat(started).isZero();
        want("a");
        Thread another = new Thread(() -> want("b"));
        another.setDaemon(true);
        another.start();
        another.join(STALL.toMillis());
        assertThat(another.isAlive()).isFalse();
        assertThat(started).isEqualTo(1);
        assertThat(client.async.count()).isEqualTo(2);
    }

    @Test
    void threadThatTheSystemDoesNotGive_isWantedByTheNext() {
        refusesThread = true;
        assertThatThrownBy(() -> want("job")).isInstanceOf(OutOfMemoryError.class);
        assertNothingLeft();
        refusesThread = false;
        Wanting one = answered();
        goOn();
        isHeld(one);
    }

    @Test
    void time_isWaitedFor_toTheNanosecond() {
        grace(50);
        Wanting one = want("job");
        goOn();
        assertThat(parkedUntil()).isEqualTo(clock.nanoTime() + 50 * MILLI);
        assertThat(client.watchdog.commands()).isEmpty();
        clock.advanceMillis(50);
        goOn();
        assertThat(send()).containsExactly("take");
        goOn();
        isHeld(one);
    }

    @Test
    void timeThatComesFirst_isWaitedForFirst() {
        long began = clock.nanoTime();
        grace(80);
        Wanting one = want("a");
        goOn();
        grace(50);
        Wanting two = want("b");
        goOn();
        assertThat(parkedUntil()).isEqualTo(began + 50 * MILLI);
        clock.advanceMillis(50);
        goOn();
        send();
        assertThat(asked).hasSize(1);
        goOn();
        assertThat(two.hold().isOpen()).isTrue();
        assertThat(one.told()).isEmpty();
        assertThat(parkedUntil()).isEqualTo(began + 80 * MILLI);
        clock.advanceMillis(30);
        goOn();
        send();
        goOn();
        assertThat(one.hold().isOpen()).isTrue();
    }

    @Test
    void timeThatIsNotWantedAnyMore_isNone() {
        long began = clock.nanoTime();
        grace(80);
        Wanting one = want("job");
        goOn();
        grace(50);
        one.owner.wake();
        goOn();
        assertThat(parkedUntil()).isEqualTo(began + 50 * MILLI);
        clock.advanceMillis(50);
        goOn();
        send();
        goOn();
        isHeld(one);
        assertThat(parkedUntil()).isEqualTo(Long.MAX_VALUE);
    }

    @Test
    void cancel_beforeItHasAsked_leavesNothing() {
        Wanting one = want("job");
        one.cancel();
        assertThat(one.told()).as("by the thread").isEmpty();
        goOn();
        assertThat(client.watchdog.commands()).isEmpty();
        isCancelled(one);
    }

    @Test
    void cancel_ofOneThatIsQuiet_isNews() {
        sync.lock(LEASE, true);
        Wanting one = want("job");
        goOn();
        one.cancel();
        goOn();
        assertThat(one.failure()).isInstanceOf(CancellationException.class);
        assertThat(client.attempts.isEmpty()).isTrue();
        sync.unlock();
        assertNothingLeft();
    }

    @Test
    void cancel_inLine_leavesNothing() {
        Wanting one = inLine();
        one.cancel();
        goOn();
        assertThat(one.failure()).isInstanceOf(CancellationException.class);
        assertThat(send()).containsExactly("leave");
        assertThat(redis.zset(KEY + ":queue")).isEmpty();
        other.unlock();
        isCancelled(one);
    }

    @Test
    void cancel_whileARequestIsUnderWay_waitsForItsAnswer() {
        Wanting one = want("job");
        goOn();
        one.cancel();
        goOn();
        assertThat(one.told()).isEmpty();
        assertThat(client.async.count()).isEqualTo(1);
        assertThat(send()).containsExactly("take");
        assertThat(redis.hash(KEY)).isNotEmpty();
        goOn();
        assertThat(send()).containsExactly("leave");
        isCancelled(one);
    }

    @Test
    void cancel_withTheAnswer_givesTheLockBack() {
        Wanting one = answered();
        one.cancel();
        goOn();
        isCancelled(one);
    }

    @Test
    void cancel_withTheGrant_givesTheLockBack() {
        Wanting one = inLine();
        granted();
        one.cancel();
        goOn();
        isCancelled(one);
    }

    @Test
    void cancel_afterTheCallerWasTold_changesNothing() {
        Wanting one = answered();
        goOn();
        assertThat(one.told()).hasSize(1);
        one.cancel();
        goOn();
        isHeld(one);
        assertThat(heard).containsExactly("acquired job", "end job");
        assertThat(client.attempts.isEmpty()).isTrue();
    }

    /** Whoever gives up is not kept until the time at which it would have asked. */
    @Test
    void cancel_whileItWaitsForATime_leavesNothingInMemory() {
        grace(3_600_000);
        WeakReference<Object> cancelled = cancelled();
        await().atMost(STALL).pollInterval(Duration.ofMillis(1)).until(() -> {
            System.gc();
            return cancelled.refersTo(null);
        });
        assertThat(parkedUntil()).isEqualTo(Long.MAX_VALUE);
    }

    private WeakReference<Object> cancelled() {
        Wanting one = want("job");
        goOn();
        one.cancel();
        goOn();
        assertThat(one.failure()).isInstanceOf(CancellationException.class);
        return new WeakReference<>(one);
    }

    @Test
    void answerThatComesAfterTheLease_countsNoMore() {
        Wanting one = want("job");
        goOn();
        send();
        long token = Long.parseLong(redis.hash(KEY).get("token"));
        clock.advanceMillis(LEASE + 1);
        goOn();
        assertThat(one.told()).isEmpty();
        assertThat(client.holds.all()).isEmpty();
        clock.advanceMillis(10);
        goOn();
        assertThat(send()).containsExactly("take");
        goOn();
        assertThat(send()).as("its fence has no mark").containsExactly("acquire");
        goOn();
        isHeld(one);
        assertThat(one.hold().token).isGreaterThan(token);
    }

    @Test
    void requestThatIsRefused_fails() {
        fail("take", refused());
        Wanting one = answered();
        goOn();
        assertThat(one.failure())
                .isInstanceOf(LockUnavailableException.class)
                .hasFieldOrPropertyWithValue("reason", LockUnavailableException.Reason.REFUSED);
        assertThat(heard).containsExactly("FAILED 0", "end FAILED");
        assertThat(one.rests).isTrue();
        assertNothingLeft();
        one.owner.wake();
        one.pending.run();
        goOn();
        assertThat(one.told()).hasSize(1);
        assertNothingLeft();
    }

    @Test
    void outageThatIsShort_isWaitedThrough() {
        fail("take", unanswered());
        Wanting one = answered();
        goOn();
        assertThat(one.told()).isEmpty();
        assertThat(parkedUntil()).isBetween(clock.nanoTime() + 1, clock.nanoTime() + 10 * MILLI);
        clock.advanceMillis(10);
        goOn();
        assertThat(send()).containsExactly("acquire");
        goOn();
        isHeld(one);
    }

    @Test
    void outageThatIsLong_fails() {
        fail("take", unanswered());
        Wanting one = answered();
        goOn();
        fail(1_000, "acquire", SteppedClient::unanswered);
        long began = clock.nanoTime();
        while (one.told().isEmpty()) {
            assertThat(clock.nanoTime() - began).isLessThan(1_600 * MILLI);
            clock.advanceMicros((parkedUntil() - clock.nanoTime() + 999) / 1_000);
            goOn();
            assertThat(send()).containsExactly("acquire");
            goOn();
        }
        assertThat(clock.nanoTime() - began).isGreaterThan(1_000 * MILLI);
        assertThat(one.failure())
                .isInstanceOf(LockUnavailableException.class)
                .hasFieldOrPropertyWithValue("reason", LockUnavailableException.Reason.UNANSWERED);
        assertThat(heard).last().isEqualTo("end FAILED");
        assertThat(client.async.count()).isZero();
        assertThat(client.attempts.isEmpty()).isTrue();
        assertThat(client.localQueue.size()).isZero();
    }

    @Test
    void clientThatIsClosed_refuses() {
        client.attempts.close();
        assertThatThrownBy(() -> want("job")).isInstanceOf(IllegalStateException.class);
        assertThat(heard).containsExactly("FAILED 0", "end FAILED");
        assertNothingLeft();
    }

    @Test
    void begin_ofAClientThatIsClosedMeanwhile_refuses_andReportsItOnce() {
        Wanting one = new Wanting("job");
        one.onBegin = () -> {
            client.attempts.close();
            closeAsync();
        };
        assertThatThrownBy(one::begin).isInstanceOf(IllegalStateException.class);
        assertThat(one.failure()).isInstanceOf(IllegalStateException.class);
        assertThat(heard).containsExactly("FAILED 0", "end FAILED");
    }

    @Test
    void attemptThatFailsAsTheClientCloses_saysSo() {
        Wanting one = inLine();
        client.attempts.close();
        goOn();
        isClosed(one);
        send();
        other.unlock();
        assertNothingLeft();
    }

    private void isClosed(Wanting one) {
        assertThat(one.failure()).isInstanceOf(IllegalStateException.class).hasMessageContaining("closed");
        assertThat(heard).contains("FAILED 0", "end FAILED");
        assertThat(one.rests).isTrue();
        assertThat(client.async.count()).isZero();
    }

    @Test
    void close_endsTheThread_andWhatHasNotEnded() {
        Wanting one = want("a");
        Wanting two = want("b");
        goOn();
        closeAsync();
        isClosed(one);
        isClosed(two);
    }

    @Test
    void acquisitionThatBeginsWhenTheThreadHasEnded_fails() {
        closeAsync();
        isClosed(want("job"));
    }

    @Test
    void newsBeforeItHasBegun_isHeardLater() {
        Wanting one = new Wanting("job");
        one.onBegin = () -> {
            one.owner.wake();
            goOn();
            assertThat(client.attempts.isEmpty()).isTrue();
        };
        one.begin();
        assertThat(client.attempts.count()).isEqualTo(1);
        goOn();
        send();
        goOn();
        isHeld(one);
    }

    @Test
    void errorAtItsBeginning_isThrown_andLeavesTheRestToTheWatchdog() {
        sync.lock(LEASE, true);
        assertThat(client.watchdog.isIdle()).isTrue();
        int stranded = 0;
        for (int reading = 1; client.async.count() == 0; reading++) {
            beginWithAnError(reading);
            for (Attempt left : client.attempts.all()) {
                if (client.async.count() == 0) {
                    stranded++;
                    assertThat(left.stranded).isTrue();
                    assertThat(client.watchdog.isIdle()).isFalse();
                    // As the watchdog does.
                    client.handoff.rescue(left);
                }
            }
        }
        assertThat(stranded).isPositive();
        sync.unlock();
        goOn();
        assertThat(client.holds.all()).hasSize(1);
    }

    /** Begins, with an error at a reading of the clock if there is one. */
    private void beginWithAnError(int reading) {
        Wanting one = new Wanting("job");
        clock.failReadings(reading, 1);
        try {
            one.begin();
        } catch (InternalError e) {
            assertThat(e).hasMessageContaining("of the test");
            assertThat(client.async.count()).isZero();
        } finally {
            clock.heal();
        }
    }

    @Test
    void errorWhileItGoesOn_isTold_andLeavesTheRestToTheWatchdog() {
        int errors = 0;
        while (meetsAnError(answered("job" + errors), errors + 1)) {
            errors++;
        }
        assertThat(errors).isPositive();
        assertThat(client.holds.all()).hasSize(1);
    }

    @Test
    void errorWithAHold_leavesItToTheWatchdog() {
        int errors = 0;
        int holds = 0;
        boolean met = true;
        while (met) {
            fail("take", unanswered());
            Wanting one = answered("job" + errors);
            goOn();
            clock.advanceMillis(10);
            goOn();
            assertThat(send()).containsExactly("acquire");
            met = meetsAnError(one, errors + 1);
            for (Hold hold : met ? client.holds.all() : List.<Hold>of()) {
                holds++;
                isLeftToTheWatchdog(hold);
                // As the watchdog does.
                client.handoff.rescue(hold);
            }
            errors++;
        }
        assertThat(holds).isPositive();
        assertThat(client.holds.all()).hasSize(1);
    }

    /** Goes on, with an error at a reading of the clock; whether there was one before it has the lock. */
    private boolean meetsAnError(Wanting one, int reading) {
        Attempt attempt = attempt();
        happens(reading, this::throwError);
        goOn();
        assertThat(one.told()).hasSize(1);
        assertThat(client.async.count()).isZero();
        assertThat(one.rests).isTrue();
        if (one.told().get(0) instanceof Hold) {
            onReading = null;
            return false;
        }
        assertThat(one.failure()).isInstanceOf(InternalError.class);
        assertThat(attempt.stranded).isTrue();
        assertThat(client.watchdog.isIdle()).isFalse();
        if (client.attempts.isUnderWay(attempt)) {
            // As the watchdog does.
            client.handoff.rescue(attempt);
        }
        assertThat(client.attempts.isEmpty()).isTrue();
        return true;
    }

    /** A grant by somebody of the same client, so that nothing has been asked. */
    private Wanting grantedBehind() {
        sync.lock(LEASE, true);
        Wanting one = want("job");
        goOn();
        assertThat(client.watchdog.isIdle()).isTrue();
        long now = clock.nanoTime();
        attempt().decide(new Attempt.Grant(7, false, now + Timing.validityNanos(LEASE), now, true));
        return one;
    }

    private Hold holdOf(Wanting one) {
        return client.holds.all().stream()
                .filter(hold -> hold.owner == one.owner)
                .findFirst()
                .orElseThrow();
    }

    @Test
    void grantBeforeItHasAsked_isHeld() {
        Wanting one = grantedBehind();
        goOn();
        assertThat(one.hold()).isSameAs(holdOf(one));
        assertThat(one.hold().token).isEqualTo(7);
        assertThat(client.watchdog.commands()).isEmpty();
    }

    @Test
    void acquired_whileNoThreadStarts_isReportedOnceOneDoes() {
        Wanting one = grantedBehind();
        noCallbackThread = true;
        goOn();
        assertThat(one.told).isEmpty();
        noCallbackThread = false;
        client.losses.awaitTold(Duration.ofSeconds(10));
        assertThat(one.told).containsExactly(holdOf(one));
        assertThat(client.async.count()).isZero();
    }

    @Test
    void holdThatComesWhenTheCallerWasToldOfTheEnd_isLeftToTheWatchdog() {
        Wanting one = grantedBehind();
        happens(2, () -> client.async.close(Duration.ZERO));
        goOn();
        isClosed(one);
        isLeftToTheWatchdog(holdOf(one));
    }

    @Test
    void cancel_whileNoThreadStarts_isReportedOnceOneDoes() {
        Wanting one = want("job");
        one.cancel();
        noCallbackThread = true;
        goOn();
        assertNothingLeft();
        assertThat(one.told).isEmpty();
        noCallbackThread = false;
        client.losses.awaitTold(Duration.ofSeconds(10));
        assertThat(one.failure()).isInstanceOf(CancellationException.class);
    }

    @Test
    void failureThatComesWhenTheCallerWasToldOfTheEnd_isNotTold() {
        fail("take", refused());
        Wanting one = answered();
        happens(2, () -> client.async.close(Duration.ZERO));
        goOn();
        isClosed(one);
    }

    @Test
    void errorBeforeTheAnswerIsHeard_leavesNothingInRedis() {
        answered();
        Attempt attempt = attempt();
        happens(1, this::throwError);
        goOn();
        // As the watchdog does.
        client.handoff.rescue(attempt);
        assertNothingLeft();
    }

    @Test
    void errorWhileARequestIsNotSentYet_leavesItUnsent() {
        Wanting one = want("job");
        goOn();
        Attempt attempt = attempt();
        one.owner.wake();
        happens(1, this::throwError);
        goOn();
        client.handoff.rescue(attempt);
        send();
        send();
        assertThat(redis.hash(KEY)).isEmpty();
        assertThat(redis.string(KEY + ":fence")).isNull();
    }
}
