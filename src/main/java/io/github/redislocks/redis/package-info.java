/**
 * The port to Redis: what a script call is, what comes of it, and what a Redis offers. Knows neither locks nor the
 * client library; the packages inside implement it.
 */
@NullMarked
package io.github.redislocks.redis;

import org.jspecify.annotations.NullMarked;
