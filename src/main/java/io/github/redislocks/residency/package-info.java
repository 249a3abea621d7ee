/**
 * Residency: a client keeps a lock in Redis, and its threads pass it on among themselves without a request. Stands
 * above the engine, which does not know it. Its words:
 *
 * <ul>
 *   <li>A <i>residence</i> is the client as the owner of one lock in Redis.
 *   <li>The <i>lease</i> is the residence's hold in Redis, not a length of time. The client <i>gives the lease up</i>
 *       when it releases the lease.
 *   <li>The <i>turn</i> is the right to use, acquire or release the lease, which one thread at a time has.
 *   <li>A <i>thread hold</i> is a thread's possession of the lock under the lease.
 *   <li>The <i>usage</i> of a lease is what the threads did under it: tokens and unlocks.
 *   <li>A <i>slice</i> is the millisecond in which a thread may take the turn ahead of waiting threads, and the client
 *       may keep a lease that other clients want.
 *   <li>A waiter of another client <i>recalls</i> the lease by a message. A <i>try</i> is a {@code tryLock()} of
 *       another client, which waits for an answer only.
 * </ul>
 */
@NullMarked
package io.github.redislocks.residency;

import org.jspecify.annotations.NullMarked;
