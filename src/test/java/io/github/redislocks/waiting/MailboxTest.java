package io.github.redislocks.waiting;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.fixture.FakeClock;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.testkit.twin.InMemoryRedis;
import java.lang.reflect.Proxy;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The mailbox's subscription when it is cut, on a clock that stands still until the test moves it. */
@Timeout(20)
class MailboxTest {

    private static final long TIMEOUT_NANOS = TimeUnit.SECONDS.toNanos(2);

    private static final Wanted NO_RECALLS = new Wanted() {
        @Override
        public void byWaiter(String lock, long attempt) {}

        @Override
        public void byTry(String lock, String clientId, long attempt) {}

        @Override
        public void byAttempt(LockKeys keys) {}
    };

    private final FakeClock clock = new FakeClock();
    private final InMemoryRedis redis = new InMemoryRedis(clock.server());
    private final AtomicInteger reopened = new AtomicInteger();
    private final Mailbox mailbox = mailbox("mailbox", redis, reopened::incrementAndGet);

    private Mailbox mailbox(String channel, Redis port, Runnable onReopened) {
        Messages messages = new Messages() {
            @Override
            public @Nullable Attempt attempt(long number) {
                return null;
            }

            @Override
            public void opened(boolean again) {
                if (again) {
                    onReopened.run();
                }
            }

            @Override
            public void grantedToNobody(long attempt) {}

            @Override
            public void doubted(Attempt attempt) {}

            @Override
            public void forced(long attempt, long token) {}

            @Override
            public Wanted wanted() {
                return NO_RECALLS;
            }
        };
        return new Mailbox(new Mailbox.Source(channel, port, clock, TIMEOUT_NANOS), messages, null, Threads.DAEMONS);
    }

    @AfterEach
    void close() {
        redis.close();
        mailbox.close();
    }

    private void cut() {
        mailbox.open(TIMEOUT_NANOS);
        redis.dropSubscriptions();
        await().until(() -> !mailbox.isOpen() && clock.nextWake() != Long.MAX_VALUE);
    }

    @Test
    void subscriptionThatIsCut_isMadeAnewAfterAPause_andAllAreAsked() {
        cut();
        assertThat(reopened).hasValue(0);
        clock.advanceMillis(200);
        await().until(() -> reopened.get() == 1);
        assertThat(mailbox.isOpen()).isTrue();
    }

    @Test
    void subscriptionThatIsCut_isMadeAtOnceForWhoNeedsIt_andAllAreAsked() {
        cut();
        mailbox.open(TIMEOUT_NANOS);
        assertThat(mailbox.isOpen()).isTrue();
        // The reader does not sleep on: nobody would read what comes meanwhile.
        await().until(() -> reopened.get() == 1);
    }

    @Test
    void subscriptionThatIsCutAgainAndAgain_isMadeAnewAsSoonEachTime() {
        for (int i = 1; i <= 12; i++) {
            int times = i;
            cut();
            clock.advanceMillis(200);
            await().until(() -> reopened.get() == times);
        }
    }

    @Test
    void subscriptionThatCannotBeMade_isTriedAgain() {
        mailbox.open(TIMEOUT_NANOS);
        redis.down(true);
        redis.dropSubscriptions();
        await().until(() -> !mailbox.isOpen() && clock.nextWake() != Long.MAX_VALUE);
        long tries = clock.parks(mailbox.reader());
        clock.advanceMillis(1_000);
        await().until(() -> clock.parks(mailbox.reader()) > tries);
        redis.heal();
        clock.advanceMillis(1_000);
        await().until(() -> reopened.get() == 1);
    }

    @Test
    void subscriptionForWhichSomebodyHadTooLittleTime_isThereForTheNext() throws InterruptedException {
        CountDownLatch answer = new CountDownLatch(1);
        Redis far = (Redis)
                Proxy.newProxyInstance(getClass().getClassLoader(), new Class<?>[] {Redis.class}, (p, method, args) -> {
                    if (method.getName().equals("subscribe")) {
                        answer.await();
                    }
                    return method.invoke(redis, args);
                });
        Mailbox distant = mailbox("far", far, () -> {});
        assertThatThrownBy(() -> distant.open(1_000_000)).isInstanceOf(RedisException.Unanswered.class);
        assertThat(distant.isOpen()).isFalse();
        answer.countDown();
        await().until(distant::isOpen);
        distant.close();
        distant.reader().join();
    }

    @Test
    void whoWaitsForASubscriptionThatIsRefused_isToldWhy() {
        redis.down(true);
        assertThatThrownBy(() -> mailbox.open(TIMEOUT_NANOS)).isInstanceOf(RedisException.class);
        mailbox.close();
        assertThatThrownBy(() -> mailbox.open(TIMEOUT_NANOS)).hasMessageContaining("closed");
    }
}
