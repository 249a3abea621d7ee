/**
 * What the object of one lock does: acquire, re-enter and release the lock, and Conditions. Knows holds in Redis only:
 * how a client keeps a lock for its threads, handles, and several locks stand above.
 */
@NullMarked
package io.github.redislocks.engine;

import org.jspecify.annotations.NullMarked;
