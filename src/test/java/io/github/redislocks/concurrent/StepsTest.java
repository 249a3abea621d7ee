package io.github.redislocks.concurrent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class StepsTest {

    private final List<String> done = new ArrayList<>();

    private static void fail(Throwable with) {
        Steps.rethrow(with);
    }

    @Test
    void run_runsTheStepsInOrder() {
        new Steps(() -> done.add("a"), () -> done.add("b")).run();
        assertThat(done).containsExactly("a", "b");
    }

    /** The heap may be full, and the steps free memory. */
    @Test
    void run_allocatesNothing() {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        Steps steps = new Steps(() -> {}, () -> {});
        long before = threads.getCurrentThreadAllocatedBytes();
        for (int i = 0; i < 10_000; i++) {
            steps.run();
        }
        assertThat(threads.getCurrentThreadAllocatedBytes() - before)
                .as("less than an object for each")
                .isLessThan(10_000);
    }

    @Test
    void run_withErrors_runsAllSteps_andThrowsTheFirstError() {
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
    void run_withAnException_throwsIt() {
        RuntimeException met = new IllegalStateException("met");
        assertThatThrownBy(() -> new Steps(() -> fail(met)).run()).isSameAs(met);
    }
}
