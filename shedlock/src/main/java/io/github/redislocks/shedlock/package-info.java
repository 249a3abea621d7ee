/** Locks for ShedLock; optional. Knows the public types of the library, and nothing else of it. */
@NullMarked
package io.github.redislocks.shedlock;

import org.jspecify.annotations.NullMarked;
