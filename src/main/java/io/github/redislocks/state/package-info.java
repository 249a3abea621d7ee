/** The knowledge of a client: its holds, attempts, keys and settings. Values without a network. */
@NullMarked
package io.github.redislocks.state;

import org.jspecify.annotations.NullMarked;
