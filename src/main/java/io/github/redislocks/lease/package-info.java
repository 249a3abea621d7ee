/** How holds stay valid, and how their loss is noticed and told. Knows the watchdog, and no waiter. */
@NullMarked
package io.github.redislocks.lease;

import org.jspecify.annotations.NullMarked;
