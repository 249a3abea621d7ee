/**
 * Knows whether a server replies and can grant locks, and creates the exceptions that say why not. Knows the scripts,
 * but no waiters.
 */
@NullMarked
package io.github.redislocks.health;

import org.jspecify.annotations.NullMarked;
