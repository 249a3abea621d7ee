/**
 * Residency, a layer above the engine: a client keeps a lock in Redis, and its threads pass it on among themselves
 * without a request.
 */
@NullMarked
package io.github.redislocks.residency;

import org.jspecify.annotations.NullMarked;
