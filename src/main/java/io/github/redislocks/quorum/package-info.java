/**
 * A Redis that is a majority of several: each call becomes a vote of all masters. Uses the scripts and the health of
 * servers; knows nothing of the client that asks.
 */
@NullMarked
package io.github.redislocks.quorum;

import org.jspecify.annotations.NullMarked;
