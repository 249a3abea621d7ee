/** Locks without a Redis, for the tests of applications. */
module io.github.redislocks.testkit {
    requires transitive io.github.redislocks;
    requires static transitive org.junit.jupiter.api;

    exports io.github.redislocks.testkit;
}
