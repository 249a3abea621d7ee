package io.github.redislocks.bench.work;

import io.github.redislocks.bench.Bench;
import io.github.redislocks.bench.Results;
import io.github.redislocks.bench.contender.Contender.Trait;
import io.github.redislocks.bench.contender.Use;
import io.github.redislocks.bench.crew.Loop.How;
import java.util.List;

/** A use of locks that is measured. */
public interface Work {

    /** The name on the command line. */
    String name();

    void run(Bench bench);

    /** All works, in the order in which they run. */
    static List<Work> all() {
        return List.of(
                Throughput.alone("w1", "uncontended, 1 thread", How.LOCK, 1, Trait.LOCKS),
                Throughput.alone("w1x8", "uncontended, 8 threads, a lock each", How.LOCK, 8, Trait.LOCKS),
                Throughput.alone("w2", "inner lock of one that is held", How.REENTER, 1, Trait.REENTERS),
                Throughput.alone("names", "1,000 names and more, each once, 1 thread", How.FRESH, 1, Trait.LOCKS),
                Throughput.together("w3", "one lock, 8 threads of one JVM", How.LOCK, 1, 8, Trait.WAITS),
                Throughput.together(
                        "w4", "one lock, 4 JVMs of 2 threads", How.LOCK, 4, 2, Trait.WAITS, Trait.CROSSES_JVMS),
                Throughput.together(
                        "w4work",
                        "one lock that guards a number in Redis, 4 JVMs of 2 threads",
                        How.WORK,
                        4,
                        2,
                        Trait.WAITS,
                        Trait.CROSSES_JVMS),
                new Handoff(),
                new Renewal(),
                new Crowd(),
                new Several(),
                Throughput.used("read", "reading only, 8 threads of one JVM", Use.READ, How.LOCK, 1, 8, Trait.SHARES),
                Throughput.used(
                        "read-apart",
                        "reading only, 1 ms between two reads, 8 threads of one JVM",
                        Use.READ,
                        How.APART,
                        1,
                        8,
                        Trait.SHARES),
                ofJvms("read4", "reading only, 4 JVMs of 2 threads", Use.READ, How.LOCK, 2, Trait.SHARES),
                ofJvms("read99", "99 % reading, 4 JVMs of 2 threads", Use.READ_99, How.LOCK, 2, Trait.MIXES),
                ofJvms("read90", "90 % reading, 4 JVMs of 2 threads", Use.READ_90, How.LOCK, 2, Trait.MIXES),
                ofJvms(
                        "read99ms",
                        "99 % reading, 1 ms each, 4 JVMs of 2 threads",
                        Use.READ_99,
                        How.STAY_1,
                        2,
                        Trait.MIXES),
                ofJvms(
                        "read90ms",
                        "90 % reading, 1 ms each, 4 JVMs of 2 threads",
                        Use.READ_90,
                        How.STAY_1,
                        2,
                        Trait.MIXES),
                new LastReader(),
                Throughput.used("permit", "a permit, uncontended, 1 thread", Use.PERMIT, How.LOCK, 1, 1, Trait.PERMITS),
                ofJvms("permits", "8 permits, 4 JVMs of 4 threads", Use.PERMIT, How.LOCK, 4, Trait.PERMITS),
                ofJvms(
                        "permits10ms",
                        "8 permits, 10 ms each, 4 JVMs of 4 threads",
                        Use.PERMIT,
                        How.STAY_10,
                        4,
                        Trait.PERMITS),
                Throughput.votes("quorum", "five masters, uncontended, 1 thread", 1),
                Throughput.votes("quorumx8", "five masters, uncontended, 8 threads, a lock each", 8),
                Throughput.votesTogether("quorum-contended", "five masters, one lock, 2 JVMs of 4 threads", 2, 4),
                new Growth(),
                new Breakdown());
    }

    private static Work ofJvms(String name, String title, Use use, How how, int threads, Trait trait) {
        return Throughput.used(name, title, use, how, 4, threads, trait, Trait.CROSSES_JVMS);
    }

    /** The figures of a work in this run. Runs the work now if it has not run yet. */
    static Results.Section measured(Bench bench, String name) {
        if (bench.results().section(name).isEmpty()) {
            all().stream()
                    .filter(work -> work.name().equals(name))
                    .findFirst()
                    .orElseThrow()
                    .run(bench);
        }
        return bench.results().section(name).orElseThrow();
    }
}
