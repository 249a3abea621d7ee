package io.github.redislocks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.fixture.Logged;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.testkit.InMemoryLocks;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.locks.Condition;
import java.util.regex.Pattern;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;

/** No name of a lock or a thread begins a line of a log or a message, nor controls a terminal. */
@Isolated
class ShownNameTest {

    private static final String NAME = "job\nFORGED \u001b[31m \u2028 \u202e";
    private static final Pattern CONTROL = Pattern.compile("[\\p{Cc}\\p{Cf}\\u2028\\u2029]");

    private final InMemoryLocks kit = InMemoryLocks.start(settings -> settings.retryFor(Duration.ZERO));
    private final RedisLocks locks = kit.client();
    private final RedisReentrantLock lock = locks.reentrantLock(NAME);
    private final String before = Thread.currentThread().getName();

    @AfterEach
    void close() {
        Thread.currentThread().setName(before);
        kit.close();
    }

    private static void controlsNothing(Object shown) {
        assertThat(shown.toString()).contains("job\\u000aFORGED").doesNotContainPattern(CONTROL);
    }

    private static void saysIt(ThrowingCallable mistake) {
        controlsNothing(String.valueOf(catchThrowable(mistake).getMessage()));
    }

    @Test
    void textOfAnyPart_controlsNothing() throws InterruptedException {
        controlsNothing(lock);
        controlsNothing(lock.newCondition(NAME));
        controlsNothing(locks.inspect(NAME));
        controlsNothing(locks.multiLock(List.of(NAME, "usual")));
        lock.lock();
        controlsNothing(lock);
        controlsNothing(locks.inspect(NAME));
        controlsNothing(locks.list("job*").findFirst().orElseThrow());
        lock.unlock();
        try (LockHandle handle = locks.reentrantLock(NAME).acquire()) {
            controlsNothing(handle);
        }
    }

    @Test
    void textOfAnyEvent_controlsNothing() {
        Duration time = Duration.ofSeconds(1);
        controlsNothing(LockAcquired.of(NAME, 1, time, false, false));
        controlsNothing(LockExpiring.of(NAME, 1, "thread x", time));
        controlsNothing(LockForced.of(NAME, 1, "thread x"));
        controlsNothing(LockGivenUp.of(NAME, LockGivenUp.Reason.CLOSED, time, 1));
        controlsNothing(LockLost.of(NAME, 1, "thread x", LockLost.Reason.TAKEN));
        controlsNothing(LockNotAcquired.of(NAME, time, LockNotAcquired.Outcome.BUSY));
        controlsNothing(LockReleased.of(NAME, 1, time, Duration.ZERO));
    }

    @Test
    void nameOfAThread_controlsNothing() {
        Thread.currentThread().setName(NAME);
        RedisReentrantLock usual = locks.reentrantLock("usual");
        saysIt(usual::unlock);
        usual.lock();
        controlsNothing(usual);
        controlsNothing(locks.inspect("usual"));
        usual.unlock();
    }

    @Test
    void messageOfAnyException_controlsNothing() {
        saysIt(lock::unlock);
        Condition others = locks.reentrantLock("usual").newCondition(NAME);
        saysIt(() -> lock.hasWaiters(others));
        lock.lock();
        kit.lose(NAME);
        saysIt(lock::unlock);
        kit.unavailable();
        saysIt(lock::lock);
        saysIt(lock::tryLock);
        saysIt(() -> locks.inspect(NAME));
        kit.available();
    }

    @Test
    void messageAboutAName_controlsNothing() {
        saysIt(() -> LockKeys.of("p", NAME + "\ud83d"));
        saysIt(() -> LockKeys.of("p", NAME + "x".repeat(LockKeys.MAX_NAME_BYTES)));
        saysIt(() -> LockKeys.condition(NAME + "\ud83d"));
        saysIt(() -> locks.list(NAME + "\ud83d"));
    }

    @Test
    void lineOfTheLog_isOne() {
        lock.lock();
        String logged = Logged.by(() -> {
            kit.lose(NAME);
            await().until(() -> Logged.soFar().contains("was lost"));
        });
        assertThat(logged.lines()).anyMatch(line -> line.contains("job\\u000aFORGED"));
        assertThat(logged.lines()).noneMatch(line -> line.startsWith("FORGED"));
    }
}
