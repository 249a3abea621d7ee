package io.github.redislocks.bench.work;

import io.github.redislocks.bench.Bench;
import io.github.redislocks.bench.contender.Contender;
import io.github.redislocks.bench.contender.Contender.Trait;
import io.github.redislocks.bench.crew.Loop.How;
import java.util.List;

/** Something that is done with locks and measured. */
public interface Work {

    /** What the command line calls it. */
    String name();

    void run(Bench bench);

    /** All, in the order in which they run. */
    static List<Work> all() {
        return List.of(
                new Throughput(
                        "w1", "uncontended, 1 thread", How.LOCK, 1, 1, Throughput.Keys.OWN, Contender.FLOOR_EVAL),
                new Throughput(
                        "w1x8",
                        "uncontended, 8 threads, a lock each",
                        How.LOCK,
                        1,
                        8,
                        Throughput.Keys.OWN,
                        Contender.FLOOR_EVAL),
                new Throughput(
                        "w2",
                        "inner lock of one that is held",
                        How.REENTER,
                        1,
                        1,
                        Throughput.Keys.OWN,
                        Contender.FLOOR_EVAL,
                        Trait.REENTERS));
    }
}
