package io.github.redislocks.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.LockAcquired;
import io.github.redislocks.LockListener;
import io.github.redislocks.LockLostException;
import io.github.redislocks.LockNotAcquired;
import io.github.redislocks.LockReleased;
import io.github.redislocks.LockUnavailableException;
import io.github.redislocks.state.HandleOwner;
import io.github.redislocks.state.Held;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Settings;
import io.github.redislocks.state.Timing;
import io.github.redislocks.state.WaitLimit;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** How several locks are asked for, given back and released, step by step. */
@Timeout(30)
class SeveralLocksStepsTest extends SteppedClient {

    private static final String A = "redis-locks:{a}";
    private static final String B = "redis-locks:{b}";

    private final SeveralLocks locks = client.several(List.of("b", "a", "a"), false, options());
    private final Sync a = locks.parts().get(0);
    private final Sync b = locks.parts().get(1);
    private final Sync othersB = others.lock("b", false);

    SeveralLocksStepsTest() {
        // Else the first request would be late: the client does not know the time of the server.
        Sync first = client.lock("first", false);
        first.lock(LEASE, true);
        first.unlock();
        asked.clear();
        timeouts.clear();
    }

    @AfterEach
    void nothingIsUnderWay() {
        assertThat(client.attempts.isEmpty()).isTrue();
        assertThat(Thread.interrupted()).isFalse();
    }

    private List<String> scripts() {
        return asked.stream().map(call -> call.script().name()).toList();
    }

    private WaitLimit within(long millis) {
        return WaitLimit.within(clock.nanoTime(), millis * MILLI, 0);
    }

    private Hold[] acquire() throws InterruptedException {
        return holds(locks.acquire(null, within(1_000), true));
    }

    private static Hold[] holds(Held[] held) {
        return Arrays.copyOf(held, held.length, Hold[].class);
    }

    private void isStranded(Hold hold) {
        assertThat(hold.stranded).isTrue();
        assertThat(client.watchdog.isIdle()).isFalse();
    }

    private static RuntimeException error() {
        throw new OutOfMemoryError("of the test");
    }

    @Test
    void locks_areInTheOrderOfTheirNames_eachOnce() {
        assertThat(locks.parts()).extracting(part -> part.keys().name()).containsExactly("a", "b");
        assertThatThrownBy(() -> client.several(List.of(), false, options()))
                .isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void freeLocks_areTakenByOneRequest() throws InterruptedException {
        Hold[] held = acquire();
        assertThat(scripts()).containsExactly("take_all");
        assertThat(held).containsExactly(held(a), held(b));
        assertThat(locks.areHeld(held)).isTrue();
        locks.ensureHeld(held);
        assertThat(locks.possessions()).containsExactly(held);
        assertThat(locks.remainingNanos(held)).isEqualTo(Timing.validityNanos(LEASE));
        locks.release(held, 0);
        assertThat(scripts()).containsExactly("take_all", "free_all");
        assertThat(asked.get(1).keys()).contains(A, B);
        assertThat(redis.hash(A)).isEmpty();
        assertThat(redis.hash(B)).isEmpty();
        assertThat(timeouts).allMatch(each -> each == 1_000 * MILLI);
    }

    @Test
    void locks_ofAnInterruptedThread_areAskedForOneByOne() throws InterruptedException {
        Thread.currentThread().interrupt();
        Hold[] held = holds(locks.acquire(null, locks.limit(false), true));
        assertThat(Thread.interrupted()).isTrue();
        assertThat(held).hasSize(2);
        assertThat(count("take_all")).isZero();
        Thread.currentThread().interrupt();
        assertThatThrownBy(() -> locks.acquire(null, locks.limit(true), true)).isInstanceOf(InterruptedException.class);
        Thread.currentThread().interrupt();
        assertThatThrownBy(() -> locks.acquire(null, locks.limit(0), true)).isInstanceOf(InterruptedException.class);
        assertThat(locks.limit(0).remaining(clock.nanoTime())).isZero();
        assertThat(locks.limit(MILLI).remaining(clock.nanoTime())).isEqualTo(MILLI);
    }

    @Test
    void busyLock_isNotWaitedForWithoutATime() throws InterruptedException {
        othersB.lock(LEASE, true);
        assertThat(locks.acquire(null, locks.limitOfTry(), true)).isNull();
        assertThat(scripts()).containsExactly("take_all");
        assertThat(client.holds.all()).isEmpty();
    }

    @Test
    void busyLock_isWaitedFor_andWhatWasHadIsGivenBack() throws InterruptedException {
        othersB.lock(LEASE, true);
        assertThat(locks.acquire(null, within(50), true)).isNull();
        assertThat(scripts()).startsWith("take_all", "take");
        assertThat(asked.get(1).keys()).contains(A);
        assertThat(commands()).contains("release");
        assertThat(held(a)).isNull();
        assertThat(held(b)).isNull();
    }

    @Test
    void locksOneByOne_withoutATime_areGivenBackIfOneIsBusy() throws InterruptedException {
        lines = false;
        othersB.lock(LEASE, true);
        assertThat(locks.acquire(null, locks.limitOfTry(), true)).isNull();
        assertThat(scripts()).containsExactly("acquire", "acquire");
        assertThat(commands()).contains("release");
        assertThat(held(a)).isNull();
    }

    @Test
    void lockThatTheThreadHas_isEnteredOnceMore_andIsLeftAsItWas() throws InterruptedException {
        a.lock(LEASE, true);
        Hold held = held(a);
        othersB.lock(LEASE, true);
        assertThat(locks.acquire(null, locks.limitOfTry(), true)).isNull();
        assertThat(count("take_all")).isZero();
        assertThat(count("reenter")).isEqualTo(1);
        assertThat(held(a)).isSameAs(held);
        assertThat(held.count()).isEqualTo(1);
        assertThat(redis.hash(A)).containsEntry("holds", "1");
        assertThat(held.stranded).isFalse();
        assertThatThrownBy(locks::possessions).isInstanceOf(IllegalMonitorStateException.class);
    }

    @Test
    void handle_hasLocksOfItsOwn() throws InterruptedException {
        HandleOwner owner = client.owners.handle(this, loss -> {});
        Hold[] held = holds(locks.acquire(owner, within(1_000), true));
        assertThat(scripts()).containsExactly("take_all");
        assertThat(held[1].owner()).isSameAs(owner);
        assertThat(held(b)).isNull();
        locks.release(held, 0);
        lines = false;
        HandleOwner next = client.owners.handle(this, loss -> {});
        assertThat(locks.acquire(next, within(1_000), true)[1].owner()).isSameAs(next);
    }

    @Test
    void leaseOfItsOwn_countsFromWhenTheLastWasHad() throws InterruptedException {
        lines = false;
        Hold[] held = holds(locks.acquire(null, within(1_000), false));
        assertThat(scripts()).containsExactly("acquire", "acquire", "reenter");
        assertThat(timeouts.get(2)).isEqualTo(1_000 * MILLI);
        assertThat(held[0].isRenewed()).isFalse();
        assertThat(held[1].isRenewed()).isFalse();
        locks.release(held, 0);
        asked.clear();
        Hold[] renewed = holds(locks.acquire(null, within(1_000), true));
        assertThat(scripts()).containsExactly("acquire", "acquire");
        assertThat(renewed[0].isRenewed()).isTrue();
    }

    @Test
    void lockThatIsLostMeanwhile_isToldAndTheOthersAreGivenBack() throws InterruptedException {
        lines = false;
        a.lock(LEASE, true);
        // The re-entry is answered, and then the whole lease passes before the other lock is had.
        away("acquire", LEASE + 1_000);
        Held[] lost = locks.acquire(null, within(60_000), true);
        assertThat(lost).isSameAs(SeveralLocks.LOST);
        assertThat(held(b)).isNull();
        assertThat(commands()).contains("release");
    }

    @Test
    void lossOfOne_isALossOfAll() throws InterruptedException {
        Hold[] held = acquire();
        clock.advanceMillis(1);
        redis.del(A);
        assertThatThrownBy(() -> locks.release(held, 0)).isInstanceOf(LockLostException.class);
        assertThat(redis.hash(B)).isEmpty();
        assertThat(locks.areHeld(held)).isFalse();
        assertThatThrownBy(() -> locks.ensureHeld(held)).isInstanceOf(LockLostException.class);
    }

    @Test
    void lossOfAll_isThrownOnce() throws InterruptedException {
        Hold[] held = acquire();
        clock.advanceMillis(LEASE);
        assertThat(locks.remainingNanos(held)).isZero();
        assertThatThrownBy(() -> locks.release(held, 0))
                .isInstanceOf(LockLostException.class)
                .hasMessageContaining("\"b\"")
                .satisfies(e -> assertThat(e.getSuppressed()).hasSize(1));
        assertThat(client.holds.all()).isEmpty();
    }

    @Test
    void errorOfARelease_leavesAllToTheWatchdog() throws InterruptedException {
        Hold[] held = acquire();
        fail(1, "free_all", SeveralLocksStepsTest::error);
        assertThatThrownBy(() -> locks.release(held, 0)).isInstanceOf(OutOfMemoryError.class);
        isStranded(held[0]);
        isStranded(held[1]);
    }

    @Test
    void errorOfAnInnerRelease_countsAsReleased() throws InterruptedException {
        Hold[] held = acquire();
        acquire();
        fail(1, "release_inner", SeveralLocksStepsTest::error);
        assertThatThrownBy(() -> locks.release(held, 0)).isInstanceOf(OutOfMemoryError.class);
        assertThat(held).allMatch(hold -> hold.count() == 1 && !hold.stranded);
    }

    @Test
    void handle_isReleasedWithoutWaiting() throws InterruptedException {
        List<Boolean> ends = new CopyOnWriteArrayList<>();
        HandleOwner owner = client.owners.handle(this, loss -> {});
        Hold[] held = holds(locks.acquire(owner, within(1_000), true));
        locks.releaseLater(held, 0, ends::add);
        assertThat(commands()).containsExactly("release", "release");
        assertThat(held).noneMatch(hold -> hold.stranded);
        client.watchdog.commands().forEach(command -> {
            assertThat(ends).isEmpty();
            command.begin();
            command.call(clock.nanoTime(), MILLI);
            command.answered(redis.run(command.call(), MILLI), clock.nanoTime());
        });
        await().until(() -> ends.equals(List.of(true)));
    }

    @Test
    void handlesOfWhichOneIsLost_areNotReleasedInGoodOrder() throws InterruptedException {
        List<Boolean> ends = new CopyOnWriteArrayList<>();
        HandleOwner owner = client.owners.handle(this, loss -> {});
        Hold[] held = holds(locks.acquire(owner, within(1_000), true));
        clock.advanceMillis(LEASE);
        locks.releaseLater(held, 0, ends::add);
        await().until(() -> ends.equals(List.of(false)));
    }

    @Test
    void requestForAllThatIsNotAnswered_withoutATime_isUnknown() {
        fail(1, "take_all", () -> {
            clock.advanceMillis(2_000);
            return unanswered();
        });
        assertThatThrownBy(() -> locks.acquire(null, locks.limitOfTry(), true))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageContaining("\"a\"");
        assertThat(count("take_all")).isEqualTo(1);
        assertThat(count("acquire") + count("take")).isZero();
    }

    @Test
    void requestForAllThatIsNotAnswered_whileThereIsTime_isFollowedByOneForEach() throws InterruptedException {
        fail(1, "take_all", SteppedClient::unanswered);
        assertThat(locks.acquire(null, locks.limitOfTry(), true)).hasSize(2);
        fail(1, "take_all", SteppedClient::unanswered);
        assertThat(locks.acquire(null, within(1_000), true)).hasSize(2);
    }

    @Test
    void listeners_areToldOfEachLock() throws InterruptedException {
        List<String> told = new ArrayList<>();
        LockClient heard = client(options(), List.of(new LockListener() {
            @Override
            public void acquired(LockAcquired event) {
                told.add("acquired " + event.lockName());
            }

            @Override
            public void notAcquired(LockNotAcquired event) {
                told.add(event.outcome() + " " + event.lockName());
            }

            @Override
            public void released(LockReleased event) {
                told.add("released " + event.lockName());
            }
        }));
        SeveralLocks locks = heard.several(List.of("a", "b"), false, options());
        Sync first = heard.lock("first", false);
        first.lock(LEASE, true);
        first.unlock();
        told.clear();
        othersB.lock(LEASE, true);
        assertThat(locks.acquire(null, locks.limitOfTry(), true)).isNull();
        assertThat(told).containsExactly("BUSY b");
        othersB.unlock();
        told.clear();
        Hold[] held = holds(locks.acquire(null, within(1_000), true));
        locks.release(held, 0);
        assertThat(told).containsExactly("acquired a", "acquired b", "released b", "released a");
        told.clear();
        othersB.lock(LEASE, true);
        lines = false;
        assertThat(locks.acquire(null, locks.limitOfTry(), true)).isNull();
        assertThat(told).containsExactly("acquired a", "BUSY b", "released a");
        heard.mailbox.close();
    }

    @Test
    void longestHold_countsFromWhenTheLastWasHad() throws InterruptedException {
        lines = false;
        Settings limited = options().withMaxHold(Duration.ofSeconds(9));
        SeveralLocks locks = client.several(List.of("a", "b", "c"), false, limited);
        fail(1, "acquire", () -> {
            clock.advanceMillis(5);
            return unanswered();
        });
        Hold[] held = holds(locks.acquire(null, within(1_000), true));
        long warned = clock.nanoTime() + 6_000 * MILLI;
        assertThat(held).allSatisfy(hold -> assertThat(hold.warningNanos()).isEqualTo(warned));
    }

    @Test
    void ensureHeld_whileOneIsBeingReleased_isFalse() throws InterruptedException {
        Hold[] held = acquire();
        assertThat(locks.ensureHeld(held)).isTrue();
        held[0].beginRelease(clock.nanoTime());
        assertThat(locks.ensureHeld(held)).isFalse();
    }

    @Test
    void errorOfAnAcquisition_leavesWhatWasHadToTheWatchdog() {
        othersB.lock(LEASE, true);
        fail(1, "acquire", SeveralLocksStepsTest::error);
        assertThatThrownBy(() -> locks.acquire(null, within(1_000), true)).isInstanceOf(OutOfMemoryError.class);
        isStranded(a.hold());
    }

    @Test
    void errorWhileAReentryIsGivenBack_countsItAsGivenBack() {
        a.lock(LEASE, true);
        Hold held = held(a);
        othersB.lock(LEASE, true);
        fail(1, "release_inner", SeveralLocksStepsTest::error);
        assertThatThrownBy(() -> locks.acquire(null, locks.limitOfTry(), true)).isInstanceOf(OutOfMemoryError.class);
        assertThat(held.count()).isEqualTo(1);
        assertThat(held.stranded).isFalse();
    }

    @Test
    void releaseOfAllThatIsNotAnswered_goesOnForEach() throws InterruptedException {
        Hold[] held = acquire();
        fail(1, "free_all", SteppedClient::unanswered);
        locks.release(held, 0);
        assertThat(commands()).containsExactly("release", "release");
        assertThat(held).noneMatch(hold -> hold.stranded);
    }
}
