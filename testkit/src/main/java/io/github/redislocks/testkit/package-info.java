/**
 * Locks without a Redis, for the tests of applications: real clients on a Redis in memory that runs the library's own
 * scripts, with a clock that a test moves on. Begin at {@link io.github.redislocks.testkit.InMemoryLocks}.
 */
@NullMarked
package io.github.redislocks.testkit;

import org.jspecify.annotations.NullMarked;
