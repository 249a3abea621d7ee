/**
 * Whether a server answers and can do what locks need, and what users are told if not. Knows the scripts, but no
 * waiters.
 */
@NullMarked
package io.github.redislocks.health;

import org.jspecify.annotations.NullMarked;
