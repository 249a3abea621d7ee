/**
 * The knowledge of a client: its holds, attempts, keys and settings. Values without a network.
 *
 * <p>The words that all rooms use:
 *
 * <ul>
 *   <li><i>attempt</i>: one call that wants a lock. Its <i>verdict</i> is a grant, a failure, or the departure of the
 *       caller
 *   <li><i>owner</i>: a thread, a handle, or a client that keeps a lock for its threads
 *   <li><i>hold</i>: an owner's possession of one lock, with all its re-entries
 *   <li><i>lease</i>: how long Redis keeps a hold without a renewal. The <i>deadline</i>, until which the client relies
 *       on the hold, is earlier
 *   <li><i>claim</i>: the short lease of a grant that is not confirmed yet
 *   <li><i>place</i>: the position of an attempt in the queue in Redis
 *   <li><i>local turn</i>: the right of one attempt of a client to ask Redis for a lock. The attempt has the turn until
 *       its hold ends; the other attempts of the client wait in the <i>local queue</i>
 *   <li><i>leave</i>: the request that removes from Redis what an ended attempt has there
 *   <li><i>in doubt</i>: said of an attempt of which an unanswered request may still run
 *   <li><i>stranded</i>: said of an attempt or a hold whose thread was stopped by an error; the watchdog ends it
 * </ul>
 */
@NullMarked
package io.github.redislocks.state;

import org.jspecify.annotations.NullMarked;
