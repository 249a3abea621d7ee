/** Handles: holds of locks that belong to no thread, acquired with or without waiting. */
@NullMarked
package io.github.redislocks.handles;

import org.jspecify.annotations.NullMarked;
