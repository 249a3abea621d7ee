package io.github.redislocks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.state.Settings;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The names of held locks and their number are one thing, by whatever way the locks are held. */
class HeldNamesTest extends FakeTime {

    @Override
    Settings options() {
        return Settings.DEFAULTS.withResidency(Duration.ofMinutes(1));
    }

    private void assertHeld(String... names) {
        assertThat(locks.heldNames()).containsExactly(names);
        assertThat(locks.countHeld()).isEqualTo(names.length);
    }

    @Test
    void heldNames_areThoseThatCountHeldCounts() throws InterruptedException {
        assertHeld();
        lock.lock();
        lock.lock();
        LockHandle handle = locks.reentrantLock("handle").acquire();
        MultiLock several = locks.multiLock(List.of("a", "b"));
        several.lock();
        assertHeld("a", "b", "handle", "job");
        several.unlock();
        lock.unlock();
        assertHeld("handle", "job");
        // A lock is kept only if others can ask for it.
        await().until(() -> inside.mailbox().isOpen());
        lock.unlock();
        assertThat(locks.countResident()).as("kept, and held by nobody").isOne();
        assertHeld("handle");
        others.reentrantLock("handle").forceUnlock();
        pass(20_000);
        assertHeld();
        assertThat(handle.release()).isFalse();
    }
}
