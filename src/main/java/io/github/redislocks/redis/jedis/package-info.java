/**
 * A server through Jedis: connections, requests that end in time whatever the network does, batches and subscriptions.
 */
@NullMarked
package io.github.redislocks.redis.jedis;

import org.jspecify.annotations.NullMarked;
