package io.github.redislocks;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Events are compared by value, so that the test of a listener can compare them with those that it expects. */
class EventEqualityTest {

    private static final Duration SECOND = Duration.ofSeconds(1);

    /** For each kind an event, and others of which each differs from it in one thing. */
    static List<List<Supplier<Object>>> event_equalsWhatSaysTheSameAlone() {
        return List.of(
                List.of(
                        () -> LockAcquired.of("a", 1, SECOND, false),
                        () -> LockAcquired.of("b", 1, SECOND, false),
                        () -> LockAcquired.of("a", 2, SECOND, false),
                        () -> LockAcquired.of("a", 1, Duration.ZERO, false),
                        () -> LockAcquired.of("a", 1, SECOND, true),
                        () -> LockAcquired.of("a", 1, SECOND, false, true),
                        () -> LockAcquired.of("a", 1, SECOND, false).withMode(LockEvent.Mode.READ)),
                List.of(
                        () -> LockNotAcquired.of("a", SECOND, LockNotAcquired.Outcome.BUSY),
                        () -> LockNotAcquired.of("b", SECOND, LockNotAcquired.Outcome.BUSY),
                        () -> LockNotAcquired.of("a", Duration.ZERO, LockNotAcquired.Outcome.BUSY),
                        () -> LockNotAcquired.of("a", SECOND, LockNotAcquired.Outcome.FAILED),
                        () -> LockNotAcquired.of("a", SECOND, LockNotAcquired.Outcome.BUSY)
                                .withMode(LockEvent.Mode.READ)),
                List.of(
                        () -> LockReleased.of("a", 1, SECOND),
                        () -> LockReleased.of("b", 1, SECOND),
                        () -> LockReleased.of("a", 2, SECOND),
                        () -> LockReleased.of("a", 1, Duration.ZERO),
                        () -> LockReleased.of("a", 1, SECOND, SECOND),
                        () -> LockReleased.of("a", 1, SECOND).withMode(LockEvent.Mode.READ)),
                List.of(
                        () -> LockForced.of("a", 1, "main"),
                        () -> LockForced.of("b", 1, "main"),
                        () -> LockForced.of("a", 2, "main"),
                        () -> LockForced.of("a", 1, "other")),
                List.of(
                        () -> LockLost.of("a", 1, "main", LockLost.Reason.TAKEN),
                        () -> LockLost.of("b", 1, "main", LockLost.Reason.TAKEN),
                        () -> LockLost.of("a", 2, "main", LockLost.Reason.TAKEN),
                        () -> LockLost.of("a", 1, "other", LockLost.Reason.TAKEN),
                        () -> LockLost.of("a", 1, "main", LockLost.Reason.EXPIRED),
                        () -> LockLost.of("a", 1, "main", LockLost.Reason.TAKEN).withMode(LockEvent.Mode.PERMITS)),
                List.of(
                        () -> LockExpiring.of("a", 1, "main", SECOND),
                        () -> LockExpiring.of("b", 1, "main", SECOND),
                        () -> LockExpiring.of("a", 2, "main", SECOND),
                        () -> LockExpiring.of("a", 1, "other", SECOND),
                        () -> LockExpiring.of("a", 1, "main", Duration.ZERO)),
                List.of(
                        () -> LockGivenUp.of("a", LockGivenUp.Reason.RECALLED, SECOND, 1),
                        () -> LockGivenUp.of("b", LockGivenUp.Reason.RECALLED, SECOND, 1),
                        () -> LockGivenUp.of("a", LockGivenUp.Reason.IDLE, SECOND, 1),
                        () -> LockGivenUp.of("a", LockGivenUp.Reason.RECALLED, Duration.ZERO, 1),
                        () -> LockGivenUp.of("a", LockGivenUp.Reason.RECALLED, SECOND, 2),
                        () -> LockGivenUp.recalled("a", SECOND, 1, SECOND)),
                List.of(() -> LocksRenewed.of(1), () -> LocksRenewed.of(2)),
                List.of(
                        () -> RedisOutage.of("a", "cut", SECOND),
                        () -> RedisOutage.of("b", "cut", SECOND),
                        () -> RedisOutage.of("a", "silent", SECOND),
                        () -> RedisOutage.of("a", "cut", Duration.ZERO)));
    }

    /** A test of a listener does not know the owner, whose id is made at random. */
    @Test
    void event_equalsThatOfAnotherOwner() {
        LockReleased event = LockReleased.of("a", 1, SECOND);
        assertThat(event.withOwnerId("host:1:x:7")).isEqualTo(event);
        assertThat(event.withOwnerId("host:1:x:7").ownerId()).isEqualTo("host:1:x:7");
        assertThat(event.ownerId()).isEmpty();
    }

    @Test
    void event_asText_hasNamesUnitsAndNoControlCharacters() {
        assertThat(LockAcquired.of("a\nb", 1, SECOND, true))
                .hasToString(
                        "LockAcquired[lockName=a\\u000ab, mode=WRITE, token=1, waited=1 s, previousHolderLost=true,"
                                + " local=false]");
        assertThat(LockGivenUp.of("a", LockGivenUp.Reason.IDLE, Duration.ofMillis(1_500), 2))
                .hasToString("LockGivenUp[lockName=a, reason=IDLE, lasted=1500 ms, acquisitions=2, sinceRecall=none]");
    }

    @ParameterizedTest
    @MethodSource
    void event_equalsWhatSaysTheSameAlone(List<Supplier<Object>> events) {
        Object event = events.get(0).get();
        Object same = events.get(0).get();
        assertThat(event).isNotSameAs(same).isEqualTo(same).hasSameHashCodeAs(same);
        for (Supplier<Object> other : events.subList(1, events.size())) {
            assertThat(event).isNotEqualTo(other.get());
        }
    }
}
