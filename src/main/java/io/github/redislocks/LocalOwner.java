package io.github.redislocks;

/**
 * A thread as the owner of what it holds: as a rule one object for all of it, since a process may hold very many locks.
 */
final class LocalOwner {

    /** The thread, as Redis knows it. */
    final String id;

    final Thread thread = Thread.currentThread();

    /** What it looks for among the holds; of the thread. */
    final Holds.Wanted wanted = new Holds.Wanted(thread);

    /** The calling thread. */
    LocalOwner(String id) {
        this.id = id;
    }
}
