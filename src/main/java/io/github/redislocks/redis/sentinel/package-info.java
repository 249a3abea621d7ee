/** A Redis whose master Sentinels name, and how the client learns the master's address. */
@NullMarked
package io.github.redislocks.redis.sentinel;

import org.jspecify.annotations.NullMarked;
