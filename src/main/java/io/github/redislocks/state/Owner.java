package io.github.redislocks.state;

/**
 * A thread as an owner of locks. Usually all holds of a thread share one object, since a process may hold very many
 * locks.
 */
public final class Owner {

    /** The owner id in Redis: client id and thread id. */
    public final String id;

    public final Thread thread = Thread.currentThread();

    /** The key with which the thread looks up its holds; used by the thread itself only. */
    public final HoldKey.Wanted wanted = new HoldKey.Wanted(thread);

    /** Makes the calling thread an owner. */
    public Owner(String id) {
        this.id = id;
    }
}
