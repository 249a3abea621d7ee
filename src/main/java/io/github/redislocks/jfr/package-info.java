/**
 * Tells Java Flight Recorder what happens to locks, by events of its own. Knows what users are told, and nothing else
 * of the library; whoever tells the user's listeners tells this one too.
 */
@NullMarked
package io.github.redislocks.jfr;

import org.jspecify.annotations.NullMarked;
