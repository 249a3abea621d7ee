/** Metrics and observations for Micrometer. This package uses only public types of the library. */
@NullMarked
package io.github.redislocks.micrometer;

import org.jspecify.annotations.NullMarked;
