package io.github.redislocks.failover;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Whether two hold a lock at once when a master dies before its replica knows who holds it: without protection, with
 * {@code replicaAcks} and with {@code failoverGrace}. The short form is two failovers of each; {@code mvn -B verify
 * -Pfailover} runs 100 of each, or as many as {@code -Dfailovers=} says, and leaves the table in target/failovers.md.
 */
@Tag("server")
class FailoverTest {

    @Test
    void failovers_few_areDoubleOnlyWithoutProtection() throws Exception {
        judge(runAll(2));
    }

    @Test
    @Tag("failover")
    void failovers_many_areDoubleOnlyWithoutProtection() throws Exception {
        judge(runAll(Integer.getInteger("failovers", 100)));
    }

    private static void judge(Map<Protection, Report> reports) throws IOException {
        List<String> table = new ArrayList<>(Report.HEAD);
        reports.values().forEach(report -> table.addAll(report.lines()));
        table.forEach(System.out::println);
        Files.write(Path.of("target", "failovers.md"), table);
        assertThat(reports.get(Protection.NONE).doubles())
                .as("the test can see double holds")
                .isPositive();
        assertThat(reports.get(Protection.ACKS).doubles()).isZero();
        assertThat(reports.get(Protection.GRACE).doubles()).isZero();
    }

    /** Runs the three at once, since most of a failover is waiting. */
    private static Map<Protection, Report> runAll(int failovers) throws InterruptedException, ExecutionException {
        ExecutorService threads = Executors.newFixedThreadPool(Protection.values().length);
        try {
            Map<Protection, Future<Report>> running = new EnumMap<>(Protection.class);
            for (Protection protection : Protection.values()) {
                Callable<Report> run = () -> run(protection, failovers);
                running.put(protection, threads.submit(run));
            }
            Map<Protection, Report> reports = new EnumMap<>(Protection.class);
            for (Map.Entry<Protection, Future<Report>> each : running.entrySet()) {
                reports.put(each.getKey(), each.getValue().get());
            }
            return reports;
        } finally {
            threads.shutdownNow();
        }
    }

    /** Half of the holders are blind. With acks, half of the replicas know of the hold, for both kinds of holder. */
    private static Report run(Protection protection, int failovers) throws Exception {
        List<Failover.Outcome> outcomes = new ArrayList<>();
        for (int i = 0; i < failovers; i++) {
            boolean replicated = protection == Protection.ACKS && i % 2 == 1;
            boolean blind = i % 4 == 0 || i % 4 == 3;
            outcomes.add(new Failover(protection, replicated, blind).run());
        }
        return new Report(protection, outcomes);
    }
}
