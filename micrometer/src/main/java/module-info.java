/** Metrics and observations of locks for Micrometer. */
module io.github.redislocks.micrometer {
    requires transitive io.github.redislocks;
    requires transitive micrometer.core;
    requires transitive micrometer.observation;

    exports io.github.redislocks.micrometer;
}
