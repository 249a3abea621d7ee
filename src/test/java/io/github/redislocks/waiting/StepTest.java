package io.github.redislocks.waiting;

import static io.github.redislocks.waiting.Step.ASK;
import static io.github.redislocks.waiting.Step.LEAVE;
import static io.github.redislocks.waiting.Step.State.ASKED;
import static io.github.redislocks.waiting.Step.State.BUSY;
import static io.github.redislocks.waiting.Step.State.DECLINED;
import static io.github.redislocks.waiting.Step.State.LAPSED;
import static io.github.redislocks.waiting.Step.State.TRIED;
import static io.github.redislocks.waiting.Step.State.UNASKED;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.github.redislocks.waiting.Step.Event;
import io.github.redislocks.waiting.Step.Reason;
import io.github.redislocks.waiting.Step.State;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Each decision of an acquisition: every state with every event, and every state with and without time. */
class StepTest {

    /** The columns are the events in their order: ASKS, QUEUED, LINE, BUSY, KEPT, KEPT_UNHEARD, LAPSED. */
    static Stream<Arguments> table() {
        return Stream.of(
                arguments(
                        UNASKED,
                        List.of(ASKED, BUSY, UNASKED, BUSY, BUSY, BUSY, LAPSED),
                        List.of(ASKED, BUSY, UNASKED, DECLINED, TRIED, BUSY, LAPSED)),
                arguments(
                        ASKED,
                        List.of(ASKED, BUSY, UNASKED, BUSY, BUSY, BUSY, LAPSED),
                        List.of(ASKED, BUSY, UNASKED, DECLINED, TRIED, BUSY, LAPSED)),
                arguments(
                        BUSY,
                        List.of(BUSY, BUSY, BUSY, BUSY, BUSY, BUSY, LAPSED),
                        List.of(BUSY, BUSY, BUSY, DECLINED, TRIED, BUSY, LAPSED)),
                arguments(
                        TRIED,
                        List.of(TRIED, BUSY, TRIED, BUSY, BUSY, BUSY, LAPSED),
                        List.of(TRIED, BUSY, TRIED, DECLINED, DECLINED, DECLINED, LAPSED)),
                arguments(
                        DECLINED,
                        List.of(DECLINED, BUSY, DECLINED, BUSY, BUSY, BUSY, LAPSED),
                        List.of(DECLINED, BUSY, DECLINED, DECLINED, TRIED, BUSY, LAPSED)),
                arguments(
                        LAPSED,
                        List.of(LAPSED, BUSY, LAPSED, BUSY, BUSY, BUSY, LAPSED),
                        List.of(LAPSED, BUSY, LAPSED, DECLINED, TRIED, BUSY, LAPSED)));
    }

    @ParameterizedTest
    @MethodSource("table")
    void event_inEachState_leadsToTheStateOfTheTable(State before, List<State> waiting, List<State> trying) {
        assertThat(afterEach(before, true)).isEqualTo(waiting);
        assertThat(afterEach(before, false)).isEqualTo(trying);
    }

    private static List<State> afterEach(State before, boolean waits) {
        return Arrays.stream(Event.values())
                .map(event -> Step.after(before, event, waits))
                .toList();
    }

    @Test
    void table_hasEveryStateAndEvent() {
        assertThat(table().map(row -> row.get()[0])).containsExactly((Object[]) State.values());
        assertThat(table()).allSatisfy(row -> assertThat((List<?>) row.get()[1]).hasSameSizeAs(Event.values()));
    }

    @ParameterizedTest
    @EnumSource(State.class)
    void attemptThatMayAskAndHasTime_asks_unlessItWasDeclined(State state) {
        long expected = state == DECLINED ? LEAVE : ASK;
        assertThat(Step.next(state, true, 0, 1)).isEqualTo(expected);
        assertThat(Step.next(state, true, -5, Long.MAX_VALUE)).isEqualTo(expected);
    }

    @ParameterizedTest
    @EnumSource(State.class)
    void attemptWithoutTime_leaves_unlessItsRequestIsStillToBeSent(State state) {
        assertThat(Step.next(state, true, 0, 0)).isEqualTo(state == UNASKED ? ASK : LEAVE);
        assertThat(Step.next(state, true, 7, 0)).as("not yet").isEqualTo(LEAVE);
        assertThat(Step.next(state, false, 0, -1)).as("behind another").isEqualTo(LEAVE);
    }

    @ParameterizedTest
    @EnumSource(value = State.class, mode = EnumSource.Mode.EXCLUDE, names = "DECLINED")
    void attemptWithTime_pausesForTheShorter(State state) {
        assertThat(Step.next(state, true, 7, 9)).isEqualTo(7);
        assertThat(Step.next(state, true, 9, 7)).isEqualTo(7);
        assertThat(Step.next(state, false, Long.MAX_VALUE, Long.MAX_VALUE)).isEqualTo(Long.MAX_VALUE);
        assertThat(Step.next(state, false, 0, 9)).as("settles at once").isZero();
        assertThat(Step.next(state, false, -3, 9)).isZero();
    }

    @ParameterizedTest
    @EnumSource(State.class)
    void reason_isTheFailover_thenTheLapse_thenWhatIsKnown(State state) {
        boolean lapsed = state == LAPSED;
        assertThat(Step.reason(state, true, true)).isEqualTo(state == DECLINED ? Reason.BUSY : Reason.TOO_SOON);
        assertThat(Step.reason(state, false, true)).isEqualTo(lapsed ? Reason.TOO_FAR : Reason.BUSY);
        assertThat(Step.reason(state, false, false)).isEqualTo(lapsed ? Reason.TOO_FAR : Reason.UNKNOWN);
    }
}
