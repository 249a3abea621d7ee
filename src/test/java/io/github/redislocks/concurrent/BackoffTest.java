package io.github.redislocks.concurrent;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests how a thousand clients spread when their server comes back after an outage. */
class BackoffTest {

    private static final int CLIENTS = 1_000;
    private static final long SECOND = 1_000_000_000;
    private static final int PARTS = 20;

    /** When the clients try again, in ns after the server came back from an outage of the given time. */
    private static List<Long> arrivals(Supplier<Backoff> backoffs, long awayNanos) {
        List<Long> arrivals = new ArrayList<>();
        for (int i = 0; i < CLIENTS; i++) {
            Backoff backoff = backoffs.get();
            long time = backoff.next();
            while (time < awayNanos) {
                time += backoff.next();
            }
            arrivals.add(time - awayNanos);
        }
        return arrivals;
    }

    private static int mostInOnePart(List<Long> arrivals, long nanos) {
        int[] count = new int[PARTS];
        arrivals.forEach(arrival -> count[(int) (arrival * PARTS / nanos)]++);
        return Arrays.stream(count).max().getAsInt();
    }

    @Test
    void subscriptions_cutWithoutAnOutage_areSpreadOver200Ms() {
        checkSpread(arrivals(Backoff::ofSubscriptions, 0), SECOND / 5);
    }

    @ParameterizedTest
    @ValueSource(longs = {2 * SECOND, 60 * SECOND})
    void subscriptions_afterAnOutage_areSpreadOverASecond(long awayNanos) {
        checkSpread(arrivals(Backoff::ofSubscriptions, awayNanos), SECOND);
    }

    @ParameterizedTest
    @ValueSource(longs = {2 * SECOND, 60 * SECOND})
    void requests_afterAnOutage_areSpreadOverHalfASecond(long awayNanos) {
        checkSpread(arrivals(Backoff::ofRequests, awayNanos), SECOND / 2);
    }

    private static void checkSpread(List<Long> arrivals, long nanos) {
        assertThat(arrivals).allMatch(arrival -> arrival < nanos);
        // An even spread has 50 in each part. The first part has twice as many: short pauses are as likely as long
        // ones.
        assertThat(mostInOnePart(arrivals, nanos)).isLessThan(3 * CLIENTS / PARTS);
    }
}
