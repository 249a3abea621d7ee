/**
 * How holds stay valid, and how their loss is noticed and reported. Knows the watchdog, and nothing of the room
 * waiting.
 */
@NullMarked
package io.github.redislocks.lease;

import org.jspecify.annotations.NullMarked;
