package io.github.redislocks.concurrent;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Tests how often a trouble that comes and goes is logged. */
class TroubleNewsTest {

    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);

    private final TroubleNews news = new TroubleNews();

    @Test
    void trouble_isToldOnceAndEndsOnce() {
        assertThat(news.end()).as("there was none").isZero();
        assertThat(news.isToBeTold(1 * SECOND, 2 * SECOND)).isTrue();
        assertThat(news.isToBeTold(1 * SECOND, 3 * SECOND)).isFalse();
        assertThat(news.isToBeTold(1 * SECOND, 60 * SECOND)).as("it goes on").isFalse();
        assertThat(news.end()).isEqualTo(1 * SECOND);
        assertThat(news.end()).isZero();
    }

    @Test
    void troubleThatComesBackSoon_isToldWhenItHasLasted() {
        assertThat(news.isToBeTold(1 * SECOND, 1 * SECOND)).isTrue();
        assertThat(news.end()).isEqualTo(1 * SECOND);
        assertThat(news.isToBeTold(2 * SECOND, 3 * SECOND)).isFalse();
        assertThat(news.end()).as("nobody was told of it").isZero();
        assertThat(news.isToBeTold(4 * SECOND, 11 * SECOND - 1)).isFalse();
        assertThat(news.isToBeTold(4 * SECOND, 11 * SECOND)).isTrue();
        assertThat(news.end()).as("since it began").isEqualTo(4 * SECOND);
    }
}
