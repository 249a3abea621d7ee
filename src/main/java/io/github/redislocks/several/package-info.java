/** Several locks of one owner, acquired all or none and released together. */
@NullMarked
package io.github.redislocks.several;

import org.jspecify.annotations.NullMarked;
