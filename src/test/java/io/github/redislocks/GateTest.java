package io.github.redislocks;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class GateTest {

    private final Gate gate = new Gate();
    private final Keys keys = Keys.of("p", "a");
    private long numbers;

    private Attempt attempt() {
        return new Attempt(
                ++numbers, keys, "owner" + numbers, new Attempt.Wish(30_000, true, false), Patience.endless());
    }

    @Test
    void enter_first_hasTheTurnAndOthersWaitInOrder() {
        Attempt first = attempt();
        Attempt second = attempt();
        Attempt third = attempt();
        assertThat(gate.enter(first)).isTrue();
        assertThat(gate.enter(second)).isFalse();
        assertThat(gate.enter(third)).isFalse();
        gate.exit(keys, first.number);
        assertThat(second.turn).isTrue();
        assertThat(third.turn).isFalse();
        gate.exit(keys, second.number);
        assertThat(third.turn).isTrue();
        gate.exit(keys, third.number);
        assertThat(gate.size()).isZero();
    }

    @Test
    void exit_byOneWithoutTheTurn_changesNothing() {
        Attempt first = attempt();
        Attempt second = attempt();
        gate.enter(first);
        gate.enter(second);
        gate.exit(keys, second.number);
        gate.exit(keys, 99);
        assertThat(second.turn).isFalse();
        assertThat(gate.heir(keys, first.number)).isSameAs(second);
        assertThat(gate.heir(keys, second.number)).isNull();
    }

    @Test
    void leave_waiting_isUndoneAlone_contendingKeepsTheTurn() {
        Attempt first = attempt();
        Attempt second = attempt();
        gate.enter(first);
        gate.enter(second);
        assertThat(gate.leave(second)).isEqualTo(Gate.Left.WAITING);
        assertThat(gate.leave(second)).isEqualTo(Gate.Left.NOWHERE);
        assertThat(gate.leave(first)).isEqualTo(Gate.Left.CONTENDING);
        assertThat(gate.size()).isEqualTo(1);
        gate.exit(keys, first.number);
        assertThat(gate.size()).isZero();
    }

    @Test
    void inherit_heirThatHasGone_isRefusedAndTheTurnStays() {
        Attempt first = attempt();
        Attempt heir = attempt();
        gate.enter(first);
        gate.enter(heir);
        gate.leave(heir);
        assertThat(gate.inherit(first.number, heir)).isFalse();
        assertThat(heir.turn).isFalse();
        Attempt next = attempt();
        gate.enter(next);
        assertThat(gate.inherit(first.number, next)).isTrue();
        assertThat(next.turn).isTrue();
    }

    @Test
    void inherit_again_isTrueForTheOneThatHasTheTurn() {
        Attempt first = attempt();
        Attempt heir = attempt();
        gate.enter(first);
        gate.enter(heir);
        gate.exit(keys, first.number);
        assertThat(gate.inherit(first.number, heir)).isTrue();
    }
}
