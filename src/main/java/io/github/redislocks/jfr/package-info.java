/**
 * Writes events of locks into the recordings of Java Flight Recorder. Knows the events of the exported package and
 * nothing else of the library: one more listener beside those of the user.
 */
@NullMarked
package io.github.redislocks.jfr;

import org.jspecify.annotations.NullMarked;
