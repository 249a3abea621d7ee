package io.github.redislocks.torture;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The workload and the checker against locks that are wrong: each must be caught, and for its own fault. */
@Tag("once")
@Timeout(120)
@Tag("server")
class BrokenLocksTest {

    private static final int RUN_MILLIS = 3_000;

    private static Report run(TestLocks.Brand brand, Fault fault) throws InterruptedException {
        try (Arena arena = new Arena("broken-" + brand, brand, 2, 1)) {
            Nemesis nemesis = new Nemesis(arena, 1);
            nemesis.sleep(RUN_MILLIS / 2, RUN_MILLIS / 2);
            nemesis.strikeHolder(fault);
            nemesis.sleep(RUN_MILLIS / 2, RUN_MILLIS / 2);
            Report report = arena.finish(brand.name());
            System.out.println(Report.head() + System.lineSeparator() + report.line());
            return report;
        }
    }

    @Test
    void lockOfOneJvm_amongTwo_overlapsAndLosesUpdates() throws InterruptedException {
        Report report = run(TestLocks.Brand.LOCAL, Fault.NOTHING);
        assertThat(report.overlaps).isPositive();
        assertThat(report.lostWithoutTokens).isPositive();
        assertThat(report.violations()).anyMatch(text -> text.contains("overlap"));
    }

    @Test
    void lockWithoutWakeUps_isFreeWhileSomebodyWaits() throws InterruptedException {
        Report report = run(TestLocks.Brand.DEAF, Fault.NOTHING);
        assertThat(report.violations()).anyMatch(text -> text.contains("was free while somebody waited"));
        assertThat(report.overlaps).isZero();
        assertThat(report.badTokens).isZero();
    }

    @Test
    void lockThatRepeatsTokens_isToldFromOneThatDoesNot() throws InterruptedException {
        Report report = run(TestLocks.Brand.REPEATING, Fault.NOTHING);
        assertThat(report.badTokens).isPositive();
        assertThat(report.overlaps).isZero();
    }

    @Test
    void lockThatHidesLossesFromTheNext_isFound() throws InterruptedException {
        Report report = run(TestLocks.Brand.DISCREET, Fault.KILL_WORKER);
        assertThat(report.violations()).anyMatch(text -> text.contains("was not told of the loss of"));
    }

    @Test
    void lockThatForgetsItsCount_isFound() throws InterruptedException {
        Report report = run(TestLocks.Brand.COUNTLESS, Fault.NOTHING);
        assertThat(report.violations()).anyMatch(text -> text.contains("counts 1 after reenter, not 2"));
    }

    @Test
    void lockThatRefusesThoughItIsFree_isFound() throws InterruptedException {
        Report report = run(TestLocks.Brand.GRUDGING, Fault.NOTHING);
        assertThat(report.violations()).anyMatch(text -> text.contains("was refused though nobody had"));
    }

    @Test
    void severalLocksOfWhichOneIsTaken_overlap() throws InterruptedException {
        Report report = run(TestLocks.Brand.PARTIAL, Fault.NOTHING);
        assertThat(report.overlaps).isPositive();
        assertThat(report.lostWithoutTokens).isPositive();
    }

    @Test
    void lockThatHidesLosses_hasTwoHoldersWhenOneWasPaused() throws InterruptedException {
        Report report = run(TestLocks.Brand.SILENT, Fault.PAUSE_WORKER);
        assertThat(report.overlaps).isPositive();
    }
}
