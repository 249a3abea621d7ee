package io.github.redislocks.torture;

import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Random;

/**
 * Some faults, one after the other, against one set of workers, with time to recover between them.
 *
 * @param replay the system properties that run the same again
 */
record Round(String name, List<Fault> faults, long seed, String replay) {

    private static final int WORKERS = 3;
    private static final int WARM_UP_MILLIS = 1_500;
    private static final int PAUSE_MILLIS = 500;

    /** A fault, some times. */
    static Round of(Fault fault, int strikes, long seed) {
        return new Round(
                fault.name(),
                Collections.nCopies(strikes, fault),
                seed,
                "-Dtorture.faults=" + fault + " -Dtorture.strikes=" + strikes + " -Dtorture.seed=" + seed);
    }

    /** All faults in random order, for about a time. NARROW_POOL would narrow the pool for all others too. */
    static Round mixed(Duration time, long seed) {
        List<Fault> choice = List.of(Fault.values()).stream()
                .filter(fault -> fault != Fault.NARROW_POOL && fault != Fault.NOTHING)
                .toList();
        // A strike and the time to recover from it.
        int strikes = (int) (time.toMillis() / 5_500);
        List<Fault> faults = new Random(seed)
                .ints(strikes, 0, choice.size())
                .mapToObj(choice::get)
                .toList();
        return new Round("MIXED", faults, seed, "-Dtorture.minutes=" + time.toMinutes() + " -Dtorture.seed=" + seed);
    }

    /** Runs it on the library's locks; how to run the same again is printed first. */
    Report run() throws InterruptedException {
        System.out.println("Torture: " + name + ", again by " + replay);
        try (Arena arena = new Arena(name, TestLocks.Brand.LIBRARY, WORKERS, seed, faults)) {
            Nemesis nemesis = new Nemesis(arena, seed);
            nemesis.sleep(WARM_UP_MILLIS, WARM_UP_MILLIS);
            for (Fault fault : faults) {
                nemesis.strike(fault);
                nemesis.sleep(fault.recoveryMillis + PAUSE_MILLIS, fault.recoveryMillis + 2 * PAUSE_MILLIS);
            }
            Report report = arena.finish(name);
            System.out.println(Report.head() + System.lineSeparator() + report.line());
            System.out.println(report.readersLine());
            System.out.println(report.watchersLine());
            report.violations().forEach(System.out::println);
            return report;
        }
    }
}
