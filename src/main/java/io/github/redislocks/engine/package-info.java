/**
 * The engine of one lock object: acquires, re-enters and releases the lock in Redis, and waits in Conditions. The rooms
 * above add handles, several locks at once, and locks that a client keeps for its threads. The package {@code state}
 * defines the words.
 */
@NullMarked
package io.github.redislocks.engine;

import org.jspecify.annotations.NullMarked;
