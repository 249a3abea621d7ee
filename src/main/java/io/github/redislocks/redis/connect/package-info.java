/** From an address that a user writes to the Redis that it names. */
@NullMarked
package io.github.redislocks.redis.connect;

import org.jspecify.annotations.NullMarked;
