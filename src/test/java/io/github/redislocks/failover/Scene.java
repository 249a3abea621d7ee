package io.github.redislocks.failover;

import io.github.redislocks.RedisLocksBuilder;
import java.util.List;
import java.util.concurrent.Callable;

/** Servers of one topology, and the harm that can be done to them. */
interface Scene extends AutoCloseable {

    /**
     * A strike at the servers.
     *
     * @param what the harm in words
     * @param isHarmless whether no hold may be lost by it
     * @param deed does the harm, and returns when it is done
     */
    record Harm(String what, boolean isHarmless, Callable<Boolean> deed) {}

    /** A new client, not yet connected. */
    RedisLocksBuilder clients();

    /** The lock that is fought for. */
    String name();

    /** The name of a lock that the same harm will hit. */
    String anotherName();

    List<Harm> harms();

    /** Waits until the servers have recovered from the last harm. */
    void awaitStable();

    @Override
    void close();
}
