/**
 * The one thread that looks after everything that is due, the threads that send it in batches, and commands that are
 * repeated until they are answered. Knows tasks and jobs, and not what they are for.
 */
@NullMarked
package io.github.redislocks.watchdog;

import org.jspecify.annotations.NullMarked;
