/**
 * Locks without a Redis server, for the tests of applications: real clients of a Redis in memory that runs the
 * library's scripts, with a clock that a test can move. Start at {@link io.github.redislocks.testkit.InMemoryLocks}.
 */
@NullMarked
package io.github.redislocks.testkit;

import org.jspecify.annotations.NullMarked;
