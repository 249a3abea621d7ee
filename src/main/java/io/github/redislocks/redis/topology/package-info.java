/** The thread that asks Sentinels or cluster nodes again and again where the masters are. */
@NullMarked
package io.github.redislocks.redis.topology;

import org.jspecify.annotations.NullMarked;
