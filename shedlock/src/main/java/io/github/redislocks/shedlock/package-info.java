/** Locks for ShedLock. This package uses only public types of the library. */
@NullMarked
package io.github.redislocks.shedlock;

import org.jspecify.annotations.NullMarked;
