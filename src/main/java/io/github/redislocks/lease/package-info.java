/** How holds stay valid, and how their loss is noticed and reported. Knows the watchdog, but no waiters. */
@NullMarked
package io.github.redislocks.lease;

import org.jspecify.annotations.NullMarked;
