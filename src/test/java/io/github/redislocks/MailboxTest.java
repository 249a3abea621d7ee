package io.github.redislocks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.fixture.twin.InMemoryRedis;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The mailbox's subscription when it is cut, on a clock that stands still until the test moves it. */
@Timeout(20)
class MailboxTest {

    private static final long TIMEOUT_NANOS = TimeUnit.SECONDS.toNanos(2);

    private final FakeClock clock = new FakeClock();
    private final InMemoryRedis redis = new InMemoryRedis(clock.server());
    private final AtomicInteger reopened = new AtomicInteger();
    private final Mailbox mailbox = new Mailbox(
            "mailbox", redis, clock, TIMEOUT_NANOS, new ConcurrentHashMap<>(), reopened::incrementAndGet, number -> {});

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
}
