package io.github.redislocks.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Tables with many rows, with long texts, and on a terminal that has less room. */
class TableTest {

    @Test
    void lines_manyRows_takeTimeInProportion() {
        Table table = new Table("LOCK", "STATE", "HOLDER");
        IntStream.range(0, 50_000).forEach(i -> table.add("lock-" + i, "held", "host:1:abc:" + i));
        List<String> lines = assertTimeoutPreemptively(Duration.ofSeconds(20), table::lines);
        assertThat(lines).hasSize(50_001).last().isEqualTo("lock-49999  held   host:1:abc:49999");
    }

    @Test
    void lines_longText_isWhole_andMovesNoOtherRow() {
        String name = "x".repeat(300);
        Table table = new Table("LOCK", "STATE");
        table.add("short", "held");
        table.add(name, "kept");
        assertThat(table.lines()).containsExactly("LOCK   STATE", "short  held", name + "  kept");
    }

    @Test
    void screen_ofMoreAndLongerLinesThanTheTerminalHas_showsTheFirstCutAtItsEdge() {
        List<String> lines =
                IntStream.range(0, 9).mapToObj(i -> "line " + i + " goes on").toList();
        assertThat(new SmallTerminal(4, 8).show(TopCommand.screen(lines)))
                .containsExactly("line 0 n", "line 1 n", "line 2 n", "line 3 n");
        assertThat(new SmallTerminal(10, 20).show(TopCommand.screen(lines)))
                .startsWith("line 0 goes on", "line 1 goes on")
                .endsWith("line 8 goes on", "");
    }
}
