/**
 * Where scripts run: the port to Redis and its implementations. Knows nothing of locks, and is the only place that
 * knows Jedis. Not exported.
 */
@NullMarked
package io.github.redislocks.redis;

import org.jspecify.annotations.NullMarked;
