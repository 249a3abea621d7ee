/** What threads need, whatever they are for. Knows nothing else of the library. */
@NullMarked
package io.github.redislocks.concurrent;

import org.jspecify.annotations.NullMarked;
