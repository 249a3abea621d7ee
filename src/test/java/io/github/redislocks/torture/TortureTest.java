package io.github.redislocks.torture;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * The short form: a few faults, once each. Another choice by {@code -Dtorture.faults=KILL_ALL,PAUSE_SERVER},
 * {@code -Dtorture.strikes=} and {@code -Dtorture.seed=}; {@code mvn verify -Ptorture} runs all of them for long.
 */
@Timeout(600)
class TortureTest {

    private static final String SHORT_LIST = "KILL_WORKER,PAUSE_WORKER,PAUSE_SERVER,KILL_ALL,SCRIPT_FLUSH";

    @Test
    void faults_fewOfThem_harmNobodyForLong() throws InterruptedException {
        long seed = Long.getLong("torture.seed", 1);
        int strikes = Integer.getInteger("torture.strikes", 1);
        List<Fault> faults = Arrays.stream(
                        System.getProperty("torture.faults", SHORT_LIST).split(","))
                .map(Fault::valueOf)
                .toList();
        List<String> lines = new ArrayList<>(List.of(Report.head()));
        List<String> violations = new ArrayList<>();
        for (Fault fault : faults) {
            Report report = Round.of(fault, strikes, seed).run();
            lines.add(report.line());
            violations.addAll(report.violations());
        }
        System.out.println(String.join(System.lineSeparator(), lines));
        assertThat(violations).as("seed %d; logs in target/torture", seed).isEmpty();
    }
}
