/**
 * A Redis that is a majority of several masters: each call becomes a vote of all of them. Uses the scripts and the
 * health of servers; knows nothing of the client that asks. Its words:
 *
 * <ul>
 *   <li>A <i>node</i> is one master of the quorum, as this client sees it. Its <i>server</i> is the Redis that answers
 *       at the node's address at present.
 *   <li>A <i>vote</i> is the lock on one node, which the node gives to one attempt for the length of the lease. The
 *       attempt with the votes of a majority has the lock; an attempt with fewer is a <i>candidate</i>.
 *   <li>A <i>ballot</i> is the number of a request for votes. A withdrawal names a ballot, and ends no vote of a later
 *       one.
 *   <li>A <i>poll</i> asks all nodes and finds the result. Its <i>question</i> to one node waits there, and is sent
 *       with others as a <i>batch</i>.
 *   <li>A <i>round</i> is one poll of a call that needs several. A round is <i>split</i> if several candidates got
 *       votes and none a majority.
 *   <li>A <i>quick connection</i> is one on which the calling thread sends, and one thread for all nodes reads.
 * </ul>
 */
@NullMarked
package io.github.redislocks.quorum;

import org.jspecify.annotations.NullMarked;
