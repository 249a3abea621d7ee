/**
 * How holds stay valid, and how their loss is noticed and reported. Knows the watchdog, and nothing of the room
 * {@code waiting}. The package {@code state} defines the words.
 */
@NullMarked
package io.github.redislocks.lease;

import org.jspecify.annotations.NullMarked;
