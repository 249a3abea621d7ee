/**
 * The port to Redis: calls of scripts, their replies and failures, and the interface of a Redis. Knows neither locks
 * nor the client library Jedis; the packages below it implement the port.
 */
@NullMarked
package io.github.redislocks.redis;

import org.jspecify.annotations.NullMarked;
