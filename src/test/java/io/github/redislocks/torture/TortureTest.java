package io.github.redislocks.torture;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Three JVMs hammer five locks while one fault after the other is done to them, to the network and to the server. The
 * short form is a few faults, once each; {@code mvn -B verify -Ptorture} runs all of them, many times. Either takes
 * {@code -Dtorture.faults=KILL_ALL,PAUSE_SERVER}, {@code -Dtorture.strikes=} and {@code -Dtorture.seed=}.
 */
@Tag("once")
@Tag("server")
class TortureTest {

    private static final String FEW = "KILL_WORKER,PAUSE_WORKER,PAUSE_SERVER,KILL_ALL,FLUSHALL,SCRIPT_FLUSH";

    private static final long SEED = Long.getLong("torture.seed", 1);

    @Test
    void faults_few_keepThePromises() throws InterruptedException {
        runAll(System.getProperty("torture.faults", FEW), Integer.getInteger("torture.strikes", 1));
    }

    @Test
    @Tag("torture")
    void faults_all_keepThePromises() throws InterruptedException {
        List<String> all = Arrays.stream(Fault.values()).map(Enum::name).toList();
        runAll(System.getProperty("torture.faults", String.join(",", all)), Integer.getInteger("torture.strikes", 20));
    }

    @Test
    @Tag("torture")
    void faults_inRandomOrder_keepThePromises() throws InterruptedException {
        Duration time = Duration.ofMinutes(Integer.getInteger("torture.minutes", 10));
        conclude(List.of(Round.mixed(time, SEED).run()));
    }

    private static void runAll(String names, int strikes) throws InterruptedException {
        List<Report> reports = new ArrayList<>();
        for (String name : names.split(",", -1)) {
            reports.add(Round.of(Fault.valueOf(name), strikes, SEED).run());
        }
        conclude(reports);
    }

    private static void conclude(List<Report> reports) {
        System.out.println(Report.head());
        reports.forEach(report -> System.out.println(report.line()));
        assertThat(reports)
                .as("seed %d; the logs are in target/torture", SEED)
                .flatExtracting(Report::violations)
                .isEmpty();
    }
}
