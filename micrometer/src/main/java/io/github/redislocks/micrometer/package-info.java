/** Metrics for Micrometer; optional. Knows the public types of the library, and nothing else of it. */
@NullMarked
package io.github.redislocks.micrometer;

import org.jspecify.annotations.NullMarked;
