package io.github.redislocks.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import io.github.redislocks.cli.TimelinePages.Bar;
import io.github.redislocks.cli.TimelinePages.Loss;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The bars that are drawn for the logs of the torture suite. */
class TortureLogTest {

    @TempDir
    private Path folder;

    private final List<Path> files = new ArrayList<>();

    private void log(String name, String... events) throws IOException {
        StringBuilder lines = new StringBuilder();
        for (String event : events) {
            // ms actor kind lock number text
            String[] fields = event.split(" ", -1);
            fields[0] += "000000";
            lines.append(String.join("\t", fields)).append('\n');
        }
        Path file = Files.writeString(folder.resolve(name), lines + "1234\tof a line that was no");
        Files.setLastModifiedTime(file, FileTime.from(Instant.parse("2026-11-25T10:00:00Z")));
        files.add(file);
    }

    private TimelinePages page() throws IOException {
        Path page = folder.resolve("page.html");
        List<String> args = new ArrayList<>(List.of("timeline", "-o", page.toString()));
        files.forEach(file -> args.add(file.toString()));
        Cli made = Cli.run(null, args.toArray(String[]::new));
        assertThat(made.exitCode()).as(made.err()).isZero();
        return TimelinePages.read(page);
    }

    @Test
    void logsOfTwoProcesses_areWaitsHoldsAndHandOffs() throws IOException {
        log(
                "w0.0.log",
                "100 w0.0/t0 ASK x -1 LOCK",
                "101 w0.0/t0 IN x 7 renewed",
                "101 w0.0/t0 HELD x 0 ",
                "150 w0.0/t0 OUT x 0 unlock",
                "152 w0.0/t0 FREED x 0 ");
        log(
                "w1.1.log",
                "120 w1.1/t0 ASK x -1 LOCK",
                "110 w1.1/t1 ASK x 5 TIMED",
                "115 w1.1/t1 NO x 0 ",
                "151 w1.1/t0 ALARM x 0 ",
                "151 w1.1/t0 IN x 8 renewed",
                "170 w1.1/t0 OUT x 0 await",
                "190 w1.1/t0 IN x 9 renewed",
                "199 w1.1/t0 LOST x 0 TAKEN");
        TimelinePages page = page();
        assertThat(page.jvms()).containsExactly("w0.0.log", "w1.1.log");
        assertThat(page.bars())
                .extracting(Bar::lane, Bar::kind, Bar::token, Bar::begin, Bar::length, Bar::afterLoss)
                .containsExactlyInAnyOrder(
                        tuple("w0.0/t0", "acquired", "7", 0L, 1_000L, false),
                        tuple("w0.0/t0", "hold", "7", 1_000L, 49_000L, false),
                        tuple("w1.1/t0", "acquired", "8", 20_000L, 31_000L, true),
                        tuple("w1.1/t0", "hold", "8", 51_000L, 19_000L, false),
                        tuple("w1.1/t0", "acquired", "9", 70_000L, 20_000L, false),
                        tuple("w1.1/t0", "lost", "9", 90_000L, 9_000L, false),
                        tuple("w1.1/t1", "busy", "0", 10_000L, 5_000L, false));
        assertThat(page.grants())
                .extracting(grant -> grant.from().token() + ">" + grant.to().token())
                .containsExactlyInAnyOrder("7>8", "8>9");
        assertThat(page.losses()).extracting(Loss::lane, Loss::reason).containsExactly(tuple("w1.1/t0", "TAKEN"));
        assertThat(page.list("outages")).isEmpty();
    }

    @Test
    void fault_isOfTheProcessThatItHarmed_orOfAll() throws IOException {
        log(
                "nemesis.log",
                "100 nemesis STRIKE  0 CUT",
                "150 nemesis CEASE  0 CUT",
                "200 nemesis STRIKE w1.1 0 KILL_WORKER",
                "201 nemesis CEASE w1.1 0 KILL_WORKER");
        log("w0.0.log", "100 w0.0/t0 ASK x -1 LOCK", "201 w0.0/t0 IN x 7 renewed");
        log("w1.1.log", "100 w1.1/t0 ASK y -1 LOCK", "201 w1.1/t0 FAIL y 0 LockUnavailableException");
        assertThat(page().list("outages"))
                .isEqualTo(List.of(
                        List.of(0, 0, 50_000, "fault CUT", "", 1),
                        List.of(1, 0, 50_000, "fault CUT", "", 1),
                        List.of(2, 0, 50_000, "fault CUT", "", 1),
                        List.of(0, 100_000, 1_000, "fault KILL_WORKER", "", 1),
                        List.of(2, 100_000, 1_000, "fault KILL_WORKER", "", 1)));
    }
}
