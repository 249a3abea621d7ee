/** Threads, clocks, waits, backoff and logs, for any purpose. Knows nothing else of the library. */
@NullMarked
package io.github.redislocks.concurrent;

import org.jspecify.annotations.NullMarked;
