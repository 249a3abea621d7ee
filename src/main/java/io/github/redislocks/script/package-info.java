/**
 * The Lua scripts, in the resource folder {@code lua}, a method for each script, and the typed replies. Knows the
 * values of {@code state} and the port to Redis.
 */
@NullMarked
package io.github.redislocks.script;

import org.jspecify.annotations.NullMarked;
