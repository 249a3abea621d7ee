package io.github.redislocks.concurrent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class StepsTest {

    private final List<String> done = new ArrayList<>();

    private static void fail(Throwable with) {
        Steps.rethrow(with);
    }

    @Test
    void steps_areDoneInTheirOrder() {
        new Steps(() -> done.add("a"), () -> done.add("b")).run();
        assertThat(done).containsExactly("a", "b");
    }

    @Test
    void stepsBehindAnError_areDone_andTheFirstErrorIsThrown() {
        Error first = new InternalError("first");
        Steps steps = new Steps(
                () -> done.add("a"),
                () -> fail(first),
                () -> done.add("b"),
                () -> fail(new IllegalStateException("second")),
                () -> done.add("c"));
        assertThatThrownBy(steps::run).isSameAs(first);
        assertThat(done).containsExactly("a", "b", "c");
    }

    @Test
    void exception_isThrownToo() {
        RuntimeException met = new IllegalStateException("met");
        assertThatThrownBy(() -> new Steps(() -> fail(met)).run()).isSameAs(met);
    }
}
