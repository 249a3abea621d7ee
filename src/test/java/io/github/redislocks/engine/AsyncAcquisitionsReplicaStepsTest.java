package io.github.redislocks.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.LockUnavailableException;
import io.github.redislocks.redis.Call;
import io.github.redislocks.state.Settings;
import java.time.Duration;
import java.util.concurrent.CancellationException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** How an acquisition for which no thread waits goes on where replicas have to confirm it. */
@Timeout(30)
class AsyncAcquisitionsReplicaStepsTest extends SteppedAsync {

    @Override
    Settings options() {
        return super.options().withReplicaAcks(2, Duration.ofMillis(100));
    }

    /** One that too few have confirmed, and that pauses. */
    private Wanting unconfirmed() {
        redis.confirmBy(1);
        Wanting one = want("job");
        goOn();
        assertThat(send()).containsExactly("take");
        goOn();
        pauses(one);
        return one;
    }

    /** It has no attempt, and what it had is given back. */
    private void pauses(Wanting one) {
        assertThat(one.told()).isEmpty();
        assertThat(client.async.count()).isEqualTo(1);
        assertThat(client.attempts.isEmpty()).isTrue();
        assertThat(client.localQueue.size()).isZero();
        assertThat(parkedUntil()).isGreaterThan(clock.nanoTime());
        assertThat(send()).containsExactly("leave");
        assertThat(redis.hash(KEY)).isEmpty();
    }

    private long pause() {
        return parkedUntil() - clock.nanoTime();
    }

    /** Lets the pause end; the clock moves by whole microseconds. */
    private void passPause() {
        clock.advanceMicros((pause() + 999) / 1_000);
        goOn();
    }

    /** One more attempt, which as few confirm. */
    private void again() {
        passPause();
        assertThat(client.attempts.count()).isEqualTo(1);
        sendAll();
    }

    /** Sends requests until none is under way. */
    private void sendAll() {
        int rounds = 0;
        while (!send().isEmpty()) {
            rounds++;
            assertThat(rounds).isLessThan(10);
            if (client.async.count() == 1 && !client.attempts.isEmpty()) {
                goOn();
            }
        }
    }

    @Test
    void grantThatEnoughConfirm_isHeld() {
        redis.confirmBy(2);
        Wanting one = want("job");
        goOn();
        send();
        goOn();
        assertThat(one.hold().isOpen()).isTrue();
    }

    @Test
    void grantThatTooFewConfirm_isGivenBack_andAskedForAgainAfterAPause() {
        Wanting one = unconfirmed();
        assertThat(pause()).isBetween(1L, 10 * MILLI);
        redis.confirmBy(2);
        again();
        assertThat(one.hold().isOpen()).isTrue();
        assertThat(redis.hash(KEY)).containsEntry("owner", one.owner.id);
        assertThat(heard).containsExactly("acquired job", "end job");
    }

    @Test
    void newsInAPause_doesNotEndIt() {
        Wanting one = unconfirmed();
        long until = parkedUntil();
        one.owner.wake();
        goOn();
        assertThat(client.attempts.isEmpty()).isTrue();
        assertThat(parkedUntil()).isEqualTo(until);
    }

    @Test
    void pauses_growLonger() {
        Wanting one = unconfirmed();
        long longest = 0;
        while (one.told().isEmpty() && longest <= 10 * MILLI) {
            longest = Math.max(longest, pause());
            again();
        }
        assertThat(longest).isGreaterThan(10 * MILLI);
    }

    @Test
    void grantsThatTooFewConfirmForLong_fail() {
        long began = clock.nanoTime();
        Wanting one = unconfirmed();
        while (one.told().isEmpty()) {
            again();
        }
        long tried = clock.nanoTime() - began;
        assertThat(tried).isBetween(1_000 * MILLI, 1_600 * MILLI);
        assertThat(one.failure())
                .isInstanceOfSatisfying(LockUnavailableException.class, e -> {
                    assertThat(e.reason()).isEqualTo(LockUnavailableException.Reason.TOO_FEW_REPLICAS);
                    assertThat(e.holdMayExist()).isFalse();
                })
                .hasMessageContaining("for " + tried / MILLI + " ms");
        assertThat(heard).containsExactly("FAILED " + tried / MILLI, "end FAILED");
        assertNothingLeft();
    }

    @Test
    void grantThatTooFewConfirm_ofAServerThatIsAway_mayExist() {
        Wanting one = unconfirmed();
        clock.advanceMillis(1_001);
        goOn();
        send();
        Call call = asked.get(asked.size() - 1);
        clock.advanceMillis(1);
        client.monitored.of(KEY).failed(call, unanswered(), clock.nanoTime() - 1, 1_000 * MILLI, clock.nanoTime());
        goOn();
        assertThat(one.failure()).isInstanceOfSatisfying(LockUnavailableException.class, e -> {
            assertThat(e.reason()).isEqualTo(LockUnavailableException.Reason.TOO_FEW_REPLICAS);
            assertThat(e.holdMayExist()).isTrue();
        });
    }

    @Test
    void cancel_inAPause_leavesNothing() {
        Wanting one = unconfirmed();
        one.cancel();
        goOn();
        assertThat(one.failure()).isInstanceOf(CancellationException.class);
        assertThat(heard).containsExactly("INTERRUPTED 0", "end INTERRUPTED");
        assertNothingLeft();
        assertThat(parkedUntil()).isEqualTo(Long.MAX_VALUE);
        assertThat(one.told()).hasSize(1);
    }

    @Test
    void close_inAPause_endsIt() {
        Wanting one = unconfirmed();
        closeAsync();
        assertThat(one.failure()).isInstanceOf(IllegalStateException.class).hasMessageContaining("closed");
        assertNothingLeft();
    }
}
