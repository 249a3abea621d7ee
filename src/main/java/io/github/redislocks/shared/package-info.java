/**
 * Readers: the threads and handles of a client share a lock with each other and with the readers of other clients. The
 * room stands above the engine, which does not know it. The words of the room:
 *
 * <ul>
 *   <li>A <i>sharer</i> is the client as one of the owners of a lock in Redis.
 *   <li>A <i>share</i> is the sharer's hold in Redis, under which the threads and handles of the client read. A share
 *       is <i>open</i> to every reader until it is <i>closed</i>; then only threads that read under it may enter again,
 *       and it ends when the last of them has left.
 *   <li>A <i>cell</i> is what one thread or handle has of the lock: a share, the loss of one, or a mark that the thread
 *       waits.
 *   <li>A writer that waits in Redis <i>recalls</i> each share by a message.
 *   <li>A share <i>lingers</i> for a moment after its last reader, so that the next reader needs no request.
 * </ul>
 */
@NullMarked
package io.github.redislocks.shared;

import org.jspecify.annotations.NullMarked;
