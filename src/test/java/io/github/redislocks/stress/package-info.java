/** Random ordinary calls of several processes, under random faults of the network and the server. */
@org.jspecify.annotations.NullMarked
package io.github.redislocks.stress;
