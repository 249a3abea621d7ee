/**
 * How a thread acquires a lock that it does not hold: asking Redis, waiting in the local queue and in the queue in
 * Redis, receiving a grant, and handing the lock on. Knows holds and their loss, but not how locks are re-entered or
 * released. The package {@code state} defines the words.
 */
@NullMarked
package io.github.redislocks.waiting;

import org.jspecify.annotations.NullMarked;
