package io.github.redislocks.bench;

import java.util.concurrent.Callable;
import org.openjdk.jmh.profile.GCProfiler;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** Measures what a lock and unlock cost without a request to Redis. */
@Command(
        name = "jmh",
        mixinStandardHelpOptions = true,
        description = "Measures what a lock and unlock cost without a request to Redis, by JMH.")
final class Jmh implements Callable<Integer> {

    @Parameters(arity = "0..1", description = "Only benchmarks whose names match this.", paramLabel = "PATTERN")
    private String pattern = ".*";

    @Override
    public Integer call() throws RunnerException {
        new Runner(new OptionsBuilder()
                        .include(pattern)
                        .addProfiler(GCProfiler.class)
                        .shouldFailOnError(true)
                        .build())
                .run();
        return 0;
    }
}
