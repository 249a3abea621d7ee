package io.github.redislocks.torture;

import java.util.List;

/** Some faults, one after the other, against one set of workers, with time to recover between them. */
record Round(String name, List<Fault> faults, long seed, int workers) {

    private static final int WARM_UP_MILLIS = 1_500;
    private static final int PAUSE_MILLIS = 500;

    static Round of(Fault fault, int strikes, long seed) {
        return new Round(fault.name(), java.util.Collections.nCopies(strikes, fault), seed, 3);
    }

    /** Runs it on the library's locks; how to run the same again is printed first. */
    Report run() throws InterruptedException {
        System.out.println("Torture: -Dtorture.seed=" + seed + " -Dtorture.faults=" + name);
        try (Arena arena = new Arena(name, TestLocks.Brand.LIBRARY, workers, seed)) {
            Nemesis nemesis = new Nemesis(arena, seed);
            nemesis.sleep(WARM_UP_MILLIS, WARM_UP_MILLIS);
            for (Fault fault : faults) {
                nemesis.strike(fault);
                nemesis.sleep(fault.recoveryMillis + PAUSE_MILLIS, fault.recoveryMillis + 2 * PAUSE_MILLIS);
            }
            return arena.finish(name);
        }
    }
}
