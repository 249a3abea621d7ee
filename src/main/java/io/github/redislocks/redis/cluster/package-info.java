/** The masters of a cluster, which slots each has, and how a call finds its way when slots move. */
@NullMarked
package io.github.redislocks.redis.cluster;

import org.jspecify.annotations.NullMarked;
