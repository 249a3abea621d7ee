/** A Redis of a cluster: its masters, the slots of each, and how a call finds its master while slots move. */
@NullMarked
package io.github.redislocks.redis.cluster;

import org.jspecify.annotations.NullMarked;
