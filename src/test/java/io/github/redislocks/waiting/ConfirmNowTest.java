package io.github.redislocks.waiting;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.redislocks.client.Inside;
import io.github.redislocks.client.LockClient;
import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.script.Scripts;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.Settings;
import io.github.redislocks.state.Timing;
import io.github.redislocks.state.WaitLimit;
import io.github.redislocks.testkit.twin.Fault;
import io.github.redislocks.waiting.Settlements.Result;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** How a thread has replicas confirm a grant that came by message. */
class ConfirmNowTest extends StillClient {

    private final Attempt attempt = begin(true);
    private final Settlements.Settlement settlement = client.settlements().of(attempt, WaitLimit.endless(), null);

    @Override
    Settings options() {
        return Settings.DEFAULTS.withReplicaAcks(2);
    }

    /** Told of by a message. */
    private Attempt.Grant told() {
        attempt.queued(clock.nanoTime(), 4, -1);
        Attempt.Grant grant = new Attempt.Grant(5, false, 0, clock.nanoTime(), false);
        attempt.decide(grant);
        return grant;
    }

    /** Told of, and still there in Redis. */
    private Attempt.Grant granted() {
        redis.runLate(Scripts.acquire(attempt, server -> Long.MAX_VALUE, true, 0));
        return told();
    }

    private int sent() {
        return redis.log().count("renew");
    }

    private static boolean isRenewal(Call call) {
        return call.script().name().equals("renew");
    }

    @Test
    void grantThatReplicasConfirm_isAHoldOfAWholeLeaseFromThen() {
        Attempt.Grant grant = granted();
        clock.advanceMillis(500);
        assertThat(settlement.settle(grant)).isEqualTo(Result.HELD);
        assertThat(settlement.made.deadlineNanos()).isEqualTo(clock.nanoTime() + Timing.validityNanos(LEASE));
        assertThat(settlement.made.nextRenewalNanos()).isEqualTo(clock.nanoTime() + Timing.renewalNanos(LEASE));
        assertThat(settlement.unconfirmed()).isNull();
        assertThat(sent()).isEqualTo(1);
        assertThat(redis.log().calls().get(1).call().acks())
                .isEqualTo(client.settings().acks());
    }

    @Test
    void grantThatIsGone_hasLapsed() {
        assertThat(settlement.settle(told())).isEqualTo(Result.LAPSED);
        assertThat(sent()).isEqualTo(1);
        assertThat(client.holds().all()).isEmpty();
    }

    @Test
    void grantWhoseConfirmationIsNotAnswered_isAskedAboutAgainAfterAPause() {
        Attempt.Grant grant = granted();
        attempt.unknown();
        redis.failNext(ConfirmNowTest::isRenewal, Fault.REQUEST_LOST);
        assertThat(settlement.settle(grant)).isEqualTo(Result.OPEN);
        assertThat(settlement.unconfirmed()).isInstanceOf(RedisException.Unanswered.class);
        assertThat(attempt.mayExistInRedis()).isTrue();
        assertThat(settlement.pauseNanos(clock.nanoTime())).isBetween(1L, 10 * MILLI);
        assertThat(settlement.settle(grant)).isEqualTo(Result.OPEN);
        assertThat(sent()).as("it pauses").isZero();
        clock.advanceMillis(10);
        assertThat(settlement.pauseNanos(clock.nanoTime())).isZero();
        assertThat(settlement.settle(grant)).isEqualTo(Result.HELD);
        assertThat(settlement.unconfirmed()).isNull();
    }

    @Test
    void pauses_becomeLonger() {
        Attempt.Grant grant = granted();
        redis.failNext(300, ConfirmNowTest::isRenewal, Fault.REQUEST_LOST);
        long pause = 0;
        // The pauses are random, of a range that doubles; one beyond the first range comes soon, or the grant lapses.
        while (pause <= 10 * MILLI) {
            assertThat(settlement.settle(grant)).isEqualTo(Result.OPEN);
            pause = settlement.pauseNanos(clock.nanoTime());
            clock.advanceMillis(pause / MILLI + 1);
        }
    }

    @Test
    void grantThatTooFewConfirm_isThrown_andAskedAboutAgainAfterAPause() {
        Attempt.Grant grant = granted();
        redis.confirmBy(1);
        assertThatThrownBy(() -> settlement.settle(grant)).isInstanceOf(RedisException.Unacknowledged.class);
        assertThat(settlement.unconfirmed()).isInstanceOf(RedisException.Unacknowledged.class);
        assertThat(settlement.pauseNanos(clock.nanoTime())).isBetween(1L, 10 * MILLI);
        assertThat(client.holds().all()).isEmpty();
        redis.confirmBy(2);
        clock.advanceMillis(10);
        assertThat(settlement.settle(grant)).isEqualTo(Result.HELD);
    }

    @Test
    void grantThatIsConfirmedInTheBackground_isAskedAboutAgainAfterAPause() {
        Attempt.Grant grant = granted();
        List<BackgroundRequest> requests = new ArrayList<>();
        settlement.inBackground(requests::add);
        assertThat(settlement.settle(grant)).isEqualTo(Result.OPEN);
        BackgroundRequest request = requests.get(0);
        request.begin();
        Call call = request.call(clock.nanoTime(), MILLI);
        assertThat(call.script().name()).isEqualTo("renew");
        assertThat(call.acks()).isEqualTo(client.settings().acks());
        RedisException away = new RedisException.Unanswered("away", true, null);
        request.failed(away, clock.nanoTime());
        request.deliver();
        assertThat(settlement.unconfirmed()).isSameAs(away);
        assertThat(settlement.settle(grant)).isEqualTo(Result.OPEN);
        assertThat(requests).hasSize(1);
        clock.advanceMillis(10);
        assertThat(settlement.settle(grant)).isEqualTo(Result.OPEN);
        assertThat(requests).hasSize(2);
    }

    /** A reply that comes later than that is of no use. */
    @Test
    void confirmation_isWaitedForNoLongerThanTheGrantLasts() {
        Attempt.Grant grant = granted();
        List<Long> timeouts = new ArrayList<>();
        Redis port = (Redis) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {Redis.class}, (proxy, method, args) -> {
                    if (method.getName().equals("run")) {
                        timeouts.add((Long) args[1]);
                    }
                    try {
                        return method.invoke(redis, args);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
        Inside watched = Inside.of(new LockClient("client", options(), List.of(), clock, port, Threads.DAEMONS));
        long left = Timing.validityNanos(Timing.claimMillis(LEASE)) - 4_000 * MILLI;
        clock.advanceMillis(4_000);
        assertThat(left).isBetween(1L, client.settings().commandTimeoutNanos() - 1);
        watched.attempts().begin(attempt);
        watched.settlements().of(attempt, WaitLimit.endless(), null).settle(grant);
        assertThat(timeouts).containsExactly(left);
    }
}
