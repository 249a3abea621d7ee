package io.github.redislocks.micrometer;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** Counts locks that are kept, and lets entries that are over go. */
class KeptLocksTest {

    private final AtomicLong now = new AtomicLong(Long.MAX_VALUE - 10);
    private final KeptLocks kept = new KeptLocks(now::get);

    private void pass(Duration time) {
        now.addAndGet(time.toNanos());
    }

    @Test
    void count_untilTheTimeIsOver() {
        kept.add("a", Duration.ofSeconds(10));
        kept.add("b", Duration.ofSeconds(20));
        assertThat(kept.count()).isEqualTo(2);
        pass(Duration.ofSeconds(10));
        assertThat(kept.count()).isEqualTo(1);
        pass(Duration.ofSeconds(10));
        assertThat(kept.count()).isZero();
    }

    @Test
    void remove_ofAnAcquiredLock_countsItNoMore() {
        kept.add("a", Duration.ofSeconds(10));
        kept.remove("a");
        kept.remove("b");
        assertThat(kept.count()).isZero();
    }

    /** Also if nobody ever asks for the count. */
    @Test
    void add_ofVeryManyNames_forgetsThoseThatAreOver() {
        for (int i = 0; i < 10_000; i++) {
            kept.add("job:" + i, Duration.ofSeconds(1));
            pass(Duration.ofMillis(100));
        }
        assertThat(kept.size()).isLessThan(100);
    }
}
