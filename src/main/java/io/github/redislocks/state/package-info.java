/**
 * The knowledge of a client: its holds, attempts, keys and settings. Values without a network; may know the port in
 * {@code redis} only.
 */
@NullMarked
package io.github.redislocks.state;

import org.jspecify.annotations.NullMarked;
