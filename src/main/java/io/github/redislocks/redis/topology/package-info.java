/** How servers that know where the masters are, Sentinels or the nodes of a cluster, are asked again and again. */
@NullMarked
package io.github.redislocks.redis.topology;

import org.jspecify.annotations.NullMarked;
