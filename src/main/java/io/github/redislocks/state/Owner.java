package io.github.redislocks.state;

/**
 * A thread as the owner of what it holds: as a rule one object for all of it, since a process may hold very many locks.
 */
public final class Owner {

    /** The thread, as Redis knows it. */
    public final String id;

    public final Thread thread = Thread.currentThread();

    /** What it looks for among the holds; of the thread. */
    public final HoldKey.Wanted wanted = new HoldKey.Wanted(thread);

    /** The calling thread. */
    public Owner(String id) {
        this.id = id;
    }
}
