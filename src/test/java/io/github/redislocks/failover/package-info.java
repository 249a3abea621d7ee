/** Failovers of Sentinels, one after the other, in which the last hold may not have reached the replica. */
@NullMarked
package io.github.redislocks.failover;

import org.jspecify.annotations.NullMarked;
