/**
 * The client, which makes all parts and closes them, and what a lock object does: acquire, re-enter, release,
 * Conditions, queries, handles, several locks. The engine knows the rooms below it; a room above attaches to it as a
 * {@link io.github.redislocks.engine.Layer}.
 */
@NullMarked
package io.github.redislocks.engine;

import org.jspecify.annotations.NullMarked;
