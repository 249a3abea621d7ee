/** Opens the Redis that a URI or a topology names, by Jedis. */
@NullMarked
package io.github.redislocks.redis.connect;

import org.jspecify.annotations.NullMarked;
