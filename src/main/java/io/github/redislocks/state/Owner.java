package io.github.redislocks.state;

import io.github.redislocks.concurrent.Shown;
import io.github.redislocks.concurrent.Threads;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * A thread, a {@link HandleOwner handle}, or a client for its threads, that holds locks or wants them. As a rule a
 * thread has one object for all its locks, since a process may hold very many locks.
 */
public class Owner {

    /** The owner's id in Redis. */
    public final String id;

    /** The owner's part of the key of a hold, beside the lock: the thread, or this object if it is none. */
    public final Object holder;

    /** The key for lookups among the holds. Used by the owner's thread only. */
    public final HoldKey.Lookup wanted;

    /** Makes the calling thread an owner. */
    public Owner(String id) {
        this.id = id;
        this.holder = Thread.currentThread();
        this.wanted = new HoldKey.Lookup(holder);
    }

    /** Makes an owner that is no thread. The parameter {@code kind} only distinguishes the constructors. */
    protected Owner(String id, Class<? extends Owner> kind) {
        this.id = id;
        this.holder = this;
        this.wanted = new HoldKey.Lookup(this);
    }

    /** The thread that holds the lock or waits for it; null if none does. */
    @Nullable
    public Thread thread() {
        return (Thread) holder;
    }

    /** Wakes the thread or task that waits for a change of the owner's attempt, unless that is the calling thread. */
    public void wake() {
        Thread thread = thread();
        if (thread != Thread.currentThread()) {
            LockSupport.unpark(thread);
        }
    }

    /** Whether the owner's holds can still be released: its thread runs, or its handle is referred to. */
    public boolean isAlive() {
        Thread thread = thread();
        return thread != null && thread.isAlive();
    }

    /** How long after the beginning of its hold the lock stays taken, in ms; 0 if the release frees it. */
    public long keepsMillis() {
        return 0;
    }

    /** Called when Redis has replied that it has the owner's hold, to a request that was sent at {@code sentNanos}. */
    public void confirmed(long sentNanos) {}

    /** The last token that the owner gave out under its hold; 0 if it gave out none. */
    public long lastToken() {
        return 0;
    }

    /** Returns true if the owner gives its hold up when others ask, so that renewals test whether messages arrive. */
    public boolean givesWay() {
        return false;
    }

    /** The lease for which a renewal asks now, if it usually asks for {@code renewedMillis}. */
    public long leaseMillis(long renewedMillis) {
        return renewedMillis;
    }

    /** Returns true if the owner is a client that shares the lock with other clients, as readers do. */
    public boolean isShared() {
        return false;
    }

    /** Called if another client waits in Redis for the lock that the owner acquired by {@code attempt}. */
    public void wanted(long attempt) {}

    /**
     * Called after a renewal of the hold that the owner acquired by {@code attempt}.
     *
     * @param wanted whether another client waits in Redis for the lock
     * @param sentNanos when the renewal was sent
     */
    public void renewed(long attempt, boolean wanted, long sentNanos) {
        if (wanted) {
            wanted(attempt);
        }
    }

    /** Called before the hold is made; {@code found} says whether others may wait in Redis for the lock. */
    public void foundOthers(boolean found) {}

    /** Called before the hold is made, with what the grant of {@link Attempt.Grant#numbers} permits says. */
    public void granted(String numbers) {}

    /** The owner in words for logs and messages. */
    public String description() {
        Thread thread = thread();
        return "thread " + Shown.of(thread == null ? id : Threads.name(thread));
    }
}
