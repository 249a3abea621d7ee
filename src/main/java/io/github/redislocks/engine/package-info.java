/**
 * The engine of one lock object: to acquire, re-enter and release the lock in Redis, and Conditions. Rooms above keep
 * locks for threads, and have handles and several locks.
 */
@NullMarked
package io.github.redislocks.engine;

import org.jspecify.annotations.NullMarked;
