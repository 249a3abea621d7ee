/**
 * Runs users' actions under handles: an action with one handle, and the work of a leader. Knows how a handle is used,
 * and nothing of how a lock is acquired.
 */
@NullMarked
package io.github.redislocks.actions;

import org.jspecify.annotations.NullMarked;
