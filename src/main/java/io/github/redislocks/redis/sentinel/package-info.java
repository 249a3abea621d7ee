/** The master that Sentinels name, and how the client learns its address. */
@NullMarked
package io.github.redislocks.redis.sentinel;

import org.jspecify.annotations.NullMarked;
