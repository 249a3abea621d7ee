package io.github.redislocks.residency;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.LockListener;
import io.github.redislocks.LockLost;
import io.github.redislocks.LockLostException;
import io.github.redislocks.LossListener;
import io.github.redislocks.engine.Sync;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Settings;
import io.github.redislocks.watchdog.PendingCommand;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicReference;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** An error at one kept lock costs no other lock anything, and its own lock only until the next inspection. */
@Timeout(30)
class ErrorInTheBackgroundTest extends SteppedResidence {

    private static final int MOST = 16;

    private final Queue<LockLost> losses = new ConcurrentLinkedQueue<>();

    @Override
    protected Settings options() {
        return Settings.DEFAULTS.withMaxResident(MOST);
    }

    @Override
    protected List<LockListener> listeners() {
        return LossListener.to((LockLost loss) -> losses.add(loss));
    }

    private Hold use(String name) {
        Sync each = client.lock(name, false, KEEPING);
        each.lock();
        each.unlock();
        return residences.of(each.keys(), 1).lease();
    }

    /** Has an unlock leave the release of its recalled lease to the next inspection. */
    private void leaveARelease() {
        kept.lock();
        residence().recall(residence().lease().attempt, clock.nanoTime());
        clock.advanceMillis(2_000);
        fail("release", broken);
        assertThatThrownBy(kept::unlock).isSameAs(broken);
    }

    private void inspectWithAnError() {
        long now = clock.nanoTime();
        clock.failReadings(1, 1);
        assertThatThrownBy(() -> residences.inspect(now, now, (key, job) -> {})).isInstanceOf(InternalError.class);
        clock.heal();
    }

    @Test
    void error_atOneLease_costsNoOtherItsHeartbeat_andTheLeaseItsReleaseForOneInspection() {
        List<Hold> leases = new ArrayList<>();
        for (int i = 0; i < MOST; i++) {
            leases.add(use("job" + i));
        }
        leaveARelease();
        inspectWithAnError();
        assertThat(leases).extracting(Hold::nextRenewalNanos).containsOnly(clock.nanoTime());
        watch();
        assertThat(commands()).containsExactly("release");
        assertThat(client.holds.all()).hasSize(MOST);
    }

    @Test
    void error_atOneLease_delaysNeitherTheEndOfOldLeases_norTheReportOfALoss() {
        List<Hold> leases = new ArrayList<>();
        for (int i = 0; i < 2 * MOST; i++) {
            leases.add(use("job" + i));
        }
        Sync lost = client.lock("lost", false, KEEPING);
        lost.lock();
        ThreadHold local = residences.of(lost.keys(), 1).holding();
        // An error has stopped the report of the loss after its record.
        assertThat(local.lose(LockLost.Reason.TAKEN)).isTrue();
        residences.threadLosses.add(local);
        leaveARelease();
        inspectWithAnError();
        assertThat(leases.stream().filter(Hold::isReleasing)).hasSize(MOST + 1);
        await().until(() -> losses.size() == 1);
    }

    /** A lease whose hold cannot be removed after its release. */
    private static final class Stuck extends CopiedLease {

        private boolean fails;

        Stuck(Hold lease) {
            super(lease);
        }

        @Override
        public long lastToken() {
            if (fails) {
                fails = false;
                throw new OutOfMemoryError("of the test");
            }
            return super.lastToken();
        }
    }

    @Test
    void error_afterTheReleaseOfALease_leavesNoHoldOfNobody() {
        Stuck lease = keepInstead(Stuck::new);
        residences.byWaiter(KEY, lease.attempt);
        lease.fails = true;
        assertThatThrownBy(() -> release(redis.run(pending("release").call(), MILLI)))
                .isInstanceOf(OutOfMemoryError.class);
        clock.advanceMillis(1);
        watch();
        release(redis.run(pending("release").call(), MILLI));
        assertThat(client.holds.all()).isEmpty();
        assertThat(residence().turn.isFree()).isTrue();
        assertThat(losses).isEmpty();
    }

    /** A lease whose name the thread of the test cannot read once after its loss: there is no memory. */
    private static final class Unnamed extends CopiedLease {

        private final Thread reader = Thread.currentThread();
        private int left = Integer.MAX_VALUE;

        Unnamed(Hold lease) {
            super(lease);
        }

        @Override
        public String lock() {
            if (Thread.currentThread() == reader && isLost() && --left == 0) {
                throw new OutOfMemoryError("of the test");
            }
            return super.lock();
        }
    }

    /** The last of these readings come too late for an error. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5, 6, 7, 8})
    void lossThatAnUnlockFinds_whoseReportMeetsAnErrorAnywhere_isToldAtTheNextInspection(int reading) {
        lossIsToldAtTheNextInspection(reading, kept::unlock);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5, 6, 7, 8})
    void lossThatAnAwaitFinds_whoseReportMeetsAnErrorAnywhere_isToldAtTheNextInspection(int reading) {
        lossIsToldAtTheNextInspection(reading, client.condition(kept, "ready")::awaitUninterruptibly);
    }

    private void lossIsToldAtTheNextInspection(int reading, ThrowingCallable release) {
        Unnamed lease = keepInstead(Unnamed::new);
        kept.lock();
        residence().recall(lease.attempt, clock.nanoTime());
        clock.advanceMillis(2_000);
        redis.del(KEY);
        lease.left = reading;
        Throwable thrown = catchThrowable(release);
        assertThat(thrown).isInstanceOf(lease.left <= 0 ? OutOfMemoryError.class : LockLostException.class);
        watch();
        client.losses.awaitTold(Duration.ofSeconds(10));
        assertThat(losses).hasSize(1);
        assertThat(residence().turn.isFree()).isTrue();
        assertThat(client.holds.all()).doesNotContain(lease);
        for (int unlocks = 0; unlocks < 2 && kept.hasPossession(); unlocks++) {
            assertThatThrownBy(kept::unlock).isInstanceOf(LockLostException.class);
        }
        assertThat(kept.hasPossession()).isFalse();
    }

    /** Has Redis run the commands that are pending, the latest first. */
    private void sendTheLatestFirst() {
        List<PendingCommand> pending = new ArrayList<>();
        client.watchdog.commands().forEach(command -> pending.add(0, command));
        for (PendingCommand command : pending) {
            if (!command.isDone()) {
                command.answered(redis.run(command.call(clock.nanoTime(), MILLI), MILLI), clock.nanoTime());
            }
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 3})
    void release_thatMeetsAnErrorAnywhere_isNoLoss(int leases) {
        boolean met = true;
        for (int reading = 1; met; reading++) {
            for (int i = 0; i < leases; i++) {
                Sync each = client.lock("job" + i, false, Settings.DEFAULTS.withResidency(Duration.ofSeconds(1)));
                each.lock();
                clock.advanceMillis(1);
                // After the last confirmation of the lease, so that its loss would be told.
                each.unlock();
            }
            clock.advanceMillis(1_200);
            long now = clock.nanoTime();
            clock.failReadings(reading, 1);
            Throwable thrown = catchThrowable(() -> residences.inspect(now, now, (key, job) -> {}));
            met = clock.heal() >= reading;
            assertThat(thrown != null).as("reading %d", reading).isEqualTo(met);
            watch();
            sendTheLatestFirst();
            sendTheLatestFirst();
            client.losses.awaitTold(Duration.ofSeconds(10));
            assertThat(losses).as("reading %d", reading).isEmpty();
            assertThat(client.holds.all()).as("reading %d", reading).isEmpty();
        }
    }

    @Test
    void lockThatThrows_leavesNoHoldThatIsValidOrCanBeLost() {
        kept.lock();
        kept.unlock();
        clock.advanceMillis(1);
        AtomicReference<ThreadHold> seen = new AtomicReference<>();
        residence().ask(() -> {
            seen.set(residence().holding());
            throw broken;
        });
        assertThatThrownBy(() -> kept.lock()).isSameAs(broken);
        Hold lease = residence().lease();
        assertThat(seen.get().isValid(clock.nanoTime())).isFalse();
        client.losses.lose(lease, LockLost.Reason.TAKEN);
        assertThat(residences.threadLosses.isValid(seen.get(), clock.nanoTime()))
                .isFalse();
        client.losses.awaitTold(Duration.ofSeconds(10));
        assertThat(losses).isEmpty();
    }
}
