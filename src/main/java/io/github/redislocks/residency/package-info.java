/**
 * Residency: a client keeps a lock in Redis, and its threads pass it on among themselves without a request. Stands
 * above the engine, which does not know it.
 */
@NullMarked
package io.github.redislocks.residency;

import org.jspecify.annotations.NullMarked;
