package io.github.redislocks.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.LockInspection;
import io.github.redislocks.LockInspection.Holder;
import io.github.redislocks.LockInspection.Waiter;
import io.github.redislocks.LockOwner;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Circles of owners that wait, some of which are clients that keep locks. */
class WaitGraphTest {

    private static final Duration A_WHILE = Duration.ofSeconds(9);

    private final WaitGraph graph = new WaitGraph();

    private void wait(String waiter, String lock, String holder) {
        Holder held = Holder.of(LockOwner.parse(holder), 1, 7, A_WHILE);
        List<Waiter> queue = List.of(Waiter.of(LockOwner.parse(waiter), A_WHILE));
        graph.add(LockInspection.of(lock, Optional.of(held), Optional.empty(), queue, 1, List.of()));
    }

    @Test
    void circles_ofThreads_areCertain() {
        wait("a:1:x:5", "L2", "b:1:y:6");
        wait("b:1:y:6", "L1", "a:1:x:5");
        assertThat(graph.circles()).singleElement().asString().startsWith("Deadlock: ");
    }

    @Test
    void circles_ofClientsThatKeepBothLocks_areFound() {
        wait("a:1:x:r2", "L2", "b:1:y:r1");
        wait("b:1:y:r2", "L1", "a:1:x:r1");
        assertThat(graph.circles())
                .singleElement()
                .asString()
                .startsWith("Deadlock, if ")
                .contains("a:1:x:r2 waits for \"L2\", which b:1:y:r1 holds")
                .contains("b:1:y:r2 waits for \"L1\", which a:1:x:r1 holds");
    }

    @Test
    void circles_ofAClientThatKeepsALockAndAThread_areFound() {
        wait("a:1:x:r2", "L2", "b:1:y:6");
        wait("b:1:y:6", "L1", "a:1:x:5");
        assertThat(graph.circles()).singleElement().asString().startsWith("Deadlock, if ");
    }

    @Test
    void circles_ofWaitsThatLeadNowhere_areNone() {
        wait("a:1:x:r2", "L2", "b:1:y:r1");
        wait("a:1:x:5", "L1", "c:1:z:r1");
        wait("c:1:z:7", "L3", "c:1:z:8");
        wait("d:1:w:r1", "L4", "d:1:w:9");
        assertThat(graph.circles()).isEmpty();
        assertThat(graph.waiters()).isEqualTo(4);
    }
}
