package io.github.redislocks;

import static io.github.redislocks.fixture.twin.Verbs.verb;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.fixture.NearTheEnd;
import io.github.redislocks.residency.Residence;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Settings;
import java.time.Duration;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A call that meets errors at any point of its way keeps a lock from nobody, if the client keeps it. */
@Timeout(60)
class ErrorUnderResidenceTest extends ErrorsAnywhere {

    /** More than any of these calls needs. */
    private static final int DEPTHS = 2_000;

    /** Whether the thread may have a record of a loss. */
    private boolean lost;

    @Override
    Settings options() {
        return Settings.DEFAULTS.withResidency(Duration.ofSeconds(10));
    }

    @BeforeEach
    void listen() {
        await().until(() -> inside.mailbox().isOpen());
    }

    private Residence residence() {
        return inside.residences().known(KEY);
    }

    @Override
    void assertNothingIsLeft(int firstReading) {
        if (lost) {
            // The error stopped the unlock, so the thread has still to unlock.
            try {
                lock.unlock();
            } catch (IllegalMonitorStateException e) {
                // The hold was lost, or there is none.
            }
        }
        whileTimePasses(other::lock);
        other.unlock();
        // The answer to the release may come later than the lock to others.
        passUntil(() -> residence().turn.isFree() && inside.holds().all().isEmpty());
        losses.clear();
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 20})
    void lockAndUnlock_withErrors_leaveNothing(int count) {
        withErrorsAnywhere(count, () -> {
            locks();
            lock.unlock();
            locked = false;
            // So that there are tokens.
            clock.advanceMillis(1);
            locks();
            lock.unlock();
        });
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 20})
    void unlock_ofARecalledLock(int count) {
        withErrorsAnywhere(count, () -> {
            locks();
            clock.advanceMillis(2);
            residence().recall(residence().lease().attempt, 1);
            lock.unlock();
        });
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 20})
    void tryLock_ofABusyLock(int count) {
        triesInVain(count);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 20})
    void await_whichEndsTheResidence(int count) {
        awaitsInVain(count);
    }

    @Test
    void release_thatMeetsAnErrorAgainAndAgain_isLeftToTheNextLook() {
        locks();
        clock.advanceMillis(2);
        Residence residence = residence();
        Hold lease = residence.lease();
        residence.recall(lease.attempt, 1);
        redis.hold(call -> {
            if (verb("release").test(call)) {
                throw new InternalError("of the test");
            }
            return false;
        });
        assertThatThrownBy(lock::unlock).isInstanceOf(InternalError.class);
        redis.heal();
        locked = false;
        assertThat(lease.isReleasing()).isTrue();
        clock.failReadings(2, 10_000);
        assertThatThrownBy(() -> inside.residences().byWaiter(KEY, lease.attempt))
                .isInstanceOf(Error.class);
        assertThat(clock.heal()).as("errors").isLessThan(20);
        assertNothingIsLeft(1);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 20})
    void unlock_ofALostLock(int count) {
        lost = true;
        withErrorsAnywhere(count, () -> {
            locks();
            inside.losses().lose(residence().lease(), LockLost.Reason.UNCONFIRMED);
            try {
                lock.unlock();
            } catch (LockLostException e) {
                locked = false;
            }
        });
    }

    /** Meets the end of the stack at every depth; another client gets the lock by a try at the next look. */
    private void atTheEndOfTheStack(Runnable first, Runnable deed) throws Exception {
        int overflows = 0;
        boolean met = true;
        // Code that is compiled meanwhile needs less stack, so the first calls may not meet the end.
        for (int left = 0; (met || overflows == 0) && left < DEPTHS; left++) {
            int above = left;
            met = NearTheEnd.inAThread(() -> {
                first.run();
                boolean overflow = NearTheEnd.overflows(above, deed);
                while (lock.isHeldByCurrentThread()) {
                    lock.unlock();
                }
                return overflow;
            });
            overflows += met ? 1 : 0;
            pass(2_000);
            assertThat(other.tryLock()).as("%d calls above", left).isTrue();
            other.unlock();
        }
        assertThat(overflows).isBetween(1, DEPTHS - 1);
        assertThat(losses).isEmpty();
    }

    private void keep() {
        lock.lock();
        lock.unlock();
        // So that there are tokens.
        clock.advanceMillis(1);
    }

    @Test
    void lock_atTheEndOfTheStack_keepsTheLockFromNobody() throws Exception {
        atTheEndOfTheStack(this::keep, lock::lock);
    }

    @Test
    void unlock_atTheEndOfTheStack_keepsTheLockFromNobody() throws Exception {
        atTheEndOfTheStack(lock::lock, lock::unlock);
    }

    @Test
    void unlockOfARecalledLock_atTheEndOfTheStack_keepsTheLockFromNobody() throws Exception {
        atTheEndOfTheStack(
                () -> {
                    lock.lock();
                    clock.advanceMillis(2);
                    residence().recall(residence().lease().attempt, 1);
                },
                lock::unlock);
    }
}
