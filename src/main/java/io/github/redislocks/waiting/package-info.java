/**
 * How a thread comes to a lock that it does not hold: asking, standing in line here and in Redis, being told, and
 * handing on. Knows holds and their loss, and not how locks are entered again or released.
 */
@NullMarked
package io.github.redislocks.waiting;

import org.jspecify.annotations.NullMarked;
