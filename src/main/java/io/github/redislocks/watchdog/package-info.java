/**
 * The thread that watches what is due, the threads that send it in batches, and pending commands, which are repeated
 * until they are answered. Knows tasks and jobs, but not what they are for.
 */
@NullMarked
package io.github.redislocks.watchdog;

import org.jspecify.annotations.NullMarked;
