package io.github.redislocks.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.lang.ref.WeakReference;
import org.junit.jupiter.api.Test;

class TestTimeTest {

    private final TestTime time = new TestTime();

    private WeakReference<Thread> threadThatParkedAndEnded() throws InterruptedException {
        Thread thread = new Thread(() -> time.park(this, time.nanos() + 1));
        thread.start();
        thread.join();
        assertThat(time.parks(thread)).isEqualTo(1);
        return new WeakReference<>(thread);
    }

    @Test
    void park_ofAThreadThatHasEnded_keepsNothingOfIt() throws InterruptedException {
        WeakReference<Thread> ended = threadThatParkedAndEnded();
        await().until(() -> {
            System.gc();
            return ended.get() == null;
        });
    }
}
