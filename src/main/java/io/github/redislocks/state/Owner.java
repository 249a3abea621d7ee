package io.github.redislocks.state;

import io.github.redislocks.concurrent.Shown;
import io.github.redislocks.concurrent.Threads;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * An owner holds a lock or wants it: a thread, or a {@link HandleOwner handle}. As a rule one object for all that a
 * thread holds, since a process may hold very many locks.
 */
public class Owner {

    /** As Redis knows it. */
    public final String id;

    /** By which its holds are found: the thread, or the handle's owner itself. */
    public final Object holder;

    /** The key by which a thread looks among the holds; of the thread. */
    public final HoldKey.Wanted wanted;

    /** Makes the calling thread an owner. */
    public Owner(String id) {
        this.id = id;
        this.holder = Thread.currentThread();
        this.wanted = new HoldKey.Wanted(holder);
    }

    /** An owner that is no thread. The kind only distinguishes the constructors. */
    protected Owner(String id, Class<? extends Owner> kind) {
        this.id = id;
        this.holder = this;
        this.wanted = new HoldKey.Wanted(this);
    }

    /** The thread that holds the lock or waits for it; null if none does. */
    @Nullable
    public Thread thread() {
        return (Thread) holder;
    }

    /** Wakes what waits for the news of its attempt, unless that is the calling thread. */
    public void wake() {
        Thread thread = thread();
        if (thread != Thread.currentThread()) {
            LockSupport.unpark(thread);
        }
    }

    /** Whether anybody is left who can release what it holds. */
    public boolean isAlive() {
        Thread thread = thread();
        return thread != null && thread.isAlive();
    }

    /** How long after the beginning of its hold the release of that keeps the lock taken, in ms; 0 if it does not. */
    public long keepsMillis() {
        return 0;
    }

    /** Redis has answered, to a request of that time, that its hold is there. */
    public void confirmed(long sentNanos) {}

    /** The last token that the owner gave out under its hold; 0 if it gave out none. */
    public long lastToken() {
        return 0;
    }

    /** Returns true if the owner gives its hold up when others ask, so that renewals test whether messages arrive. */
    public boolean givesWay() {
        return false;
    }

    /** Called by a renewal if somebody waits in Redis for the lock that the owner acquired by an attempt. */
    public void wanted(long attempt) {}

    /** Called before the hold is made: says whether others may wait in Redis for the lock. */
    public void foundOthers(boolean found) {}

    /** The owner as people read it. */
    public String description() {
        Thread thread = thread();
        return "thread " + Shown.of(thread == null ? id : Threads.name(thread));
    }
}
