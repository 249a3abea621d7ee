/** Looks through the servers: lists the locks in use, and counts the names whose tokens they remember. */
@NullMarked
package io.github.redislocks.inspection;

import org.jspecify.annotations.NullMarked;
