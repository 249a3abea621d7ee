/** Notifies the user's listeners of what happens to locks and servers. No listener delays or breaks the library. */
@NullMarked
package io.github.redislocks.events;

import org.jspecify.annotations.NullMarked;
