/**
 * Knows whether a server replies and can grant locks, and creates the exceptions that say why not. Knows the scripts,
 * and nothing of the room waiting.
 */
@NullMarked
package io.github.redislocks.health;

import org.jspecify.annotations.NullMarked;
