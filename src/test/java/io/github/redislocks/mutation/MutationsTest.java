package io.github.redislocks.mutation;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.junit.jupiter.api.Test;

class MutationsTest {

    private static List<String> changes(String lua) {
        return Mutations.of("some", lua).stream().map(Mutant::toString).toList();
    }

    @Test
    void of_eachKindOfPlace_changesIt() {
        assertThat(changes("call('del', KEYS[1])\n")).containsExactly("some.lua:1 call('del', KEYS[1]) -> nothing");
        assertThat(changes("-- a comment\nx = 1\n"))
                .containsExactly("some.lua:2 1 -> 2", "some.lua:2 x = 1 -> nothing");
        assertThat(changes("if a < b then\n    return 'x'\nend\n"))
                .containsExactly("some.lua:1 < -> <=", "some.lua:1 a < b -> not (a < b)");
        assertThat(changes("return a == b and not c\n"))
                .containsExactly(
                        "some.lua:1 == -> ~=",
                        "some.lua:1 not c -> c",
                        "some.lua:1 a == b and not c -> a == b",
                        "some.lua:1 a == b and not c -> not c");
        assertThat(changes("return x .. '+', y + z[2]\n"))
                .containsExactly("some.lua:1 x .. '+' -> x", "some.lua:1 + -> -");
        assertThat(changes("local a, b = f(c, d)\n")).containsExactly("some.lua:1 , d -> nothing");
    }

    @Test
    void of_aPlace_leavesTheRestOfTheFile() {
        Mutant mutant = Mutations.of("some", "local a = 1\nlocal b = 1\n").get(1);
        assertThat(mutant.whole()).isEqualTo("local a = 1\nlocal b = 2\n");
        assertThat(mutant.name()).isEqualTo("some.lua | local b = 1 | 1 -> 2");
    }

    @Test
    void of_whatItDoesNotUnderstand_isRefused() {
        assertThatThrownBy(() -> changes("goto = [[text]]\n")).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> changes("if a then\n")).isInstanceOf(IllegalArgumentException.class);
    }
}
