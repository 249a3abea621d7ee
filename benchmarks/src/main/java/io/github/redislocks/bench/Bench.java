package io.github.redislocks.bench;

import io.github.redislocks.bench.crew.Crew;

/** The environment that all works share. */
public record Bench(Settings settings, Server server, Results results) {

    /** Starts child JVMs. */
    public Crew crew(int size) {
        return new Crew(size, settings.jvmArguments());
    }
}
