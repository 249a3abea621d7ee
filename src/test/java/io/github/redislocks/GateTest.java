package io.github.redislocks;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class GateTest {

    private final FakeClock clock = new FakeClock();
    private final Gate gate = new Gate(clock);
    private final Keys keys = Keys.of("p", "a");
    private long numbers;

    private Attempt attempt() {
        return new Attempt(
                ++numbers,
                keys,
                new LocalOwner("owner" + numbers),
                new Attempt.Wish(30_000, true, false),
                Patience.endless());
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
    void leave_anywhereInTheLine_theOthersKeepTheirOrder() {
        List<Attempt> line =
                new ArrayList<>(Stream.generate(this::attempt).limit(7).toList());
        line.forEach(gate::enter);
        for (int gone : new int[] {3, 5, 1}) {
            // One in the middle, the last, the first that waits.
            assertThat(gate.leave(line.remove(gone))).isEqualTo(Gate.Left.WAITING);
        }
        Attempt last = attempt();
        gate.enter(last);
        line.add(last);
        for (int i = 0; i < line.size(); i++) {
            assertThat(line).filteredOn(attempt -> attempt.turn).hasSize(i + 1).endsWith(line.get(i));
            gate.exit(keys, line.get(i).number);
        }
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

    private void succeed(Attempt holder, Attempt heir) {
        assertThat(gate.inherit(holder.number, heir)).isTrue();
        gate.succeeded(keys, heir.number);
    }

    @Test
    void succeeded_whileTurnsAreQuick_hasTheNextAwake() {
        List<Attempt> line = Stream.generate(this::attempt).limit(6).toList();
        line.forEach(gate::enter);
        succeed(line.get(0), line.get(1));
        assertThat(line).as("nothing is known of turns yet").noneMatch(attempt -> attempt.near);
        succeed(line.get(1), line.get(2));
        assertThat(line.get(3).near).isTrue();
        assertThat(line.get(4).near).isFalse();
        clock.advanceMillis(1);
        succeed(line.get(2), line.get(3));
        assertThat(line.get(4).near).as("that turn took long").isFalse();
    }

    @Test
    void succeeded_ofOneWhoseTurnIsOver_saysNothingOfTurns() {
        List<Attempt> line = Stream.generate(this::attempt).limit(4).toList();
        line.forEach(gate::enter);
        succeed(line.get(0), line.get(1));
        gate.exit(keys, line.get(1).number);
        gate.succeeded(keys, line.get(1).number);
        assertThat(line.get(3).near).isFalse();
    }

    @Test
    void enter_asTheFirstBehindAQuickTurn_staysAwakeForIt() {
        List<Attempt> line = Stream.generate(this::attempt).limit(3).toList();
        line.forEach(gate::enter);
        succeed(line.get(0), line.get(1));
        Attempt behindAnother = attempt();
        gate.enter(behindAnother);
        assertThat(behindAnother.near).isFalse();
        gate.leave(line.get(2));
        gate.leave(behindAnother);
        Attempt first = attempt();
        gate.enter(first);
        assertThat(first.near).isTrue();
        gate.leave(first);
        clock.advanceMillis(1);
        Attempt late = attempt();
        gate.enter(late);
        assertThat(late.near).isFalse();
    }

    @Test
    void exit_toOneThatIsAwakeForItsTurn_hasItAskAtOnce() {
        List<Attempt> line = Stream.generate(this::attempt).limit(4).toList();
        line.forEach(gate::enter);
        succeed(line.get(0), line.get(1));
        succeed(line.get(1), line.get(2));
        assertThat(line.get(3).near).isTrue();
        gate.exit(keys, line.get(2).number);
        assertThat(line.get(3).turn).isTrue();
        assertThat(line.get(3).near).isFalse();
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
