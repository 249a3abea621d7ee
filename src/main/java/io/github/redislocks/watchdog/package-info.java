/**
 * The thread that watches deadlines, the threads that send jobs in batches, and pending commands, which are sent until
 * Redis answers. Knows tasks and jobs, but not their purpose.
 */
@NullMarked
package io.github.redislocks.watchdog;

import org.jspecify.annotations.NullMarked;
