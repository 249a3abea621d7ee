package io.github.redislocks.concurrent;

import java.util.concurrent.atomic.AtomicLong;

/**
 * Makes what a holder wrote visible to the next holder in this JVM. Sockets give no happens-before edge; a
 * read-modify-write before the release and one after the acquisition do.
 */
public final class MemoryEdge {

    private static final AtomicLong EDGE = new AtomicLong();

    private MemoryEdge() {}

    /** Makes the edge. Call before every release and after every acquisition. */
    public static void publish() {
        EDGE.getAndIncrement();
    }
}
