/** Tells the user's listeners what happens to locks and servers, so that no listener delays or breaks the library. */
@NullMarked
package io.github.redislocks.events;

import org.jspecify.annotations.NullMarked;
