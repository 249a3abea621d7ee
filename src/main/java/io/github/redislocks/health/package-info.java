/**
 * Whether a server answers, can do what locks need, and what users are told if not. Knows the scripts, and no waiter.
 */
@NullMarked
package io.github.redislocks.health;

import org.jspecify.annotations.NullMarked;
