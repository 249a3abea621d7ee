package io.github.redislocks;

import io.github.redislocks.concurrent.Shown;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/**
 * The state of a lock in Redis at one moment: its holder and its waiters, over all JVMs. An inspection is meant for
 * people and dashboards. Code must not decide by it, since it may be out of date when it arrives.
 *
 * <pre>{@code
 * System.out.println(locks.inspect("inventory:sku-42"));
 * }</pre>
 *
 * @since 0.1.0
 */
public final class LockInspection {

    /** The most waiters of each kind in an inspection: {@value}. So an inspection never blocks the server for long. */
    public static final int MAX_WAITERS = 1_000;

    private final String lockName;
    private final Optional<Holder> holder;
    private final Optional<Duration> keptFor;
    private final List<Waiter> queue;
    private final int queueLength;
    private final List<Waiting> conditions;

    private LockInspection(
            String lockName,
            Optional<Holder> holder,
            Optional<Duration> keptFor,
            List<Waiter> queue,
            int queueLength,
            List<Waiting> conditions) {
        this.lockName = Objects.requireNonNull(lockName, "lockName");
        this.holder = Objects.requireNonNull(holder, "holder");
        this.keptFor = Objects.requireNonNull(keptFor, "keptFor");
        this.queue = List.copyOf(queue);
        this.queueLength = queueLength;
        this.conditions = List.copyOf(conditions);
    }

    /**
     * Makes an inspection, for tests of code that inspects locks.
     *
     * @param keptFor how much longer the lock is unavailable without a holder; empty if it is held or free
     */
    public static LockInspection of(
            String lockName,
            Optional<Holder> holder,
            Optional<Duration> keptFor,
            List<Waiter> queue,
            int queueLength,
            List<Waiting> conditions) {
        return new LockInspection(lockName, holder, keptFor, queue, queueLength, conditions);
    }

    /** The name of the lock. */
    public String lockName() {
        return lockName;
    }

    /** The hold; empty if the lock is free, or unavailable without a holder ({@link #keptFor}). */
    public Optional<Holder> holder() {
        return holder;
    }

    /**
     * How much longer the lock is unavailable without a holder, after a {@link LockHandle#releaseAfter}; empty if the
     * lock is held or free.
     */
    public Optional<Duration> keptFor() {
        return keptFor;
    }

    /**
     * The first entries of the queue, at most {@value #MAX_WAITERS}. For a fair lock, each waiting thread has an entry.
     * For any other lock, all waiting threads of a client share one entry.
     */
    public List<Waiter> queue() {
        return queue;
    }

    /** The length of the queue, including entries that {@link #queue()} leaves out. */
    public int queueLength() {
        return queueLength;
    }

    /**
     * The threads that wait in the lock's Conditions, at most {@value #MAX_WAITERS} in all. Threads that have been
     * signalled are in the queue instead.
     */
    public List<Waiting> conditions() {
        return conditions;
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof LockInspection that
                && lockName.equals(that.lockName)
                && holder.equals(that.holder)
                && keptFor.equals(that.keptFor)
                && queue.equals(that.queue)
                && queueLength == that.queueLength
                && conditions.equals(that.conditions);
    }

    @Override
    public int hashCode() {
        return Objects.hash(lockName, holder, keptFor, queue, queueLength, conditions);
    }

    /** Describes the hold of a lock in one line. */
    static String state(String lockName, Optional<Holder> holder, Optional<Duration> keptFor) {
        String state = holder.isPresent()
                ? how(holder.get().owner()) + holder.get()
                : keptFor.isPresent()
                        ? "released, but unavailable for another "
                                + keptFor.get().toMillis() + " ms"
                        : "free";
        return "Lock \"" + Shown.of(lockName) + "\" " + state;
    }

    private static String how(LockOwner owner) {
        return owner.isReaders() ? "read by " : owner.isResidence() ? "kept by " : "held by ";
    }

    /** Describes the lock: one line for the hold, for each entry of the queue, and for each Condition. */
    @Override
    public String toString() {
        StringBuilder text = new StringBuilder(state(lockName, holder, keptFor));
        for (int i = 0; i < queue.size(); i++) {
            text.append("\n  ").append(i + 1).append(". ").append(queue.get(i));
        }
        if (queueLength > queue.size()) {
            text.append("\n  and ").append(queueLength - queue.size()).append(" more");
        }
        for (Waiting waiting : conditions) {
            text.append("\n  in Condition ").append(waiting);
        }
        return text.toString();
    }

    /**
     * A hold of a lock.
     *
     * @since 0.1.0
     */
    public static final class Holder {

        private final LockOwner owner;
        private final int holds;
        private final long token;
        private final Duration remainingLease;
        private final Instant since;

        private Holder(LockOwner owner, int holds, long token, Duration remainingLease, Instant since) {
            this.owner = Objects.requireNonNull(owner, "owner");
            this.holds = holds;
            this.token = token;
            this.remainingLease = Objects.requireNonNull(remainingLease, "remainingLease");
            this.since = Objects.requireNonNull(since, "since");
        }

        /** Makes a hold, for tests of code that inspects locks. It began at the time that its token contains. */
        public static Holder of(LockOwner owner, int holds, long token, Duration remainingLease) {
            return new Holder(owner, holds, token, remainingLease, Instant.EPOCH.plus(token, ChronoUnit.MICROS));
        }

        /** Returns a copy of this hold with another beginning. */
        public Holder withSince(Instant begin) {
            return new Holder(owner, holds, token, remainingLease, begin);
        }

        /** The thread, handle or client that has the lock. */
        public LockOwner owner() {
            return owner;
        }

        /**
         * The hold count: the number of unlocks that are still due. If readers are the owner, the number of clients.
         */
        public int holds() {
            return holds;
        }

        /** The fencing token of the hold; of readers, the token of the last writer. */
        public long token() {
            return token;
        }

        /**
         * When the hold began, by the clock of the server. The time is computed from the fencing token, which is the
         * time of the grant in µs, or a little more if the clock was set back. If the owner is a client that
         * {@link LockOwner#isResidence keeps} the lock for its threads, this is when the client acquired the lock. An
         * inspection by that client itself names the thread that holds the lock as the owner, and this is when the
         * thread acquired the lock. If readers are the owner, this is when the last writer acquired the lock.
         */
        public Instant since() {
            return since;
        }

        /**
         * How long Redis keeps the hold if nobody renews it. A client that keeps the lock for its threads renews the
         * hold; only that client knows for how long it does so while no thread uses the lock.
         */
        public Duration remainingLease() {
            return remainingLease;
        }

        @Override
        public boolean equals(@Nullable Object other) {
            return other instanceof Holder that
                    && owner.equals(that.owner)
                    && holds == that.holds
                    && token == that.token
                    && remainingLease.equals(that.remainingLease)
                    && since.equals(that.since);
        }

        @Override
        public int hashCode() {
            return Objects.hash(owner, holds, token, remainingLease, since);
        }

        @Override
        public String toString() {
            if (owner.isReaders()) {
                return (holds == 1 ? "one client" : holds + " clients") + ", token of the last writer " + token
                        + ", lease " + remainingLease.toMillis() + " ms";
            }
            String how = owner.isResidence()
                    ? " for its threads, since " + since
                    : holds == 1 ? ", once" : ", " + holds + " times";
            return owner.description() + how + ", token " + token + ", lease " + remainingLease.toMillis() + " ms";
        }
    }

    /**
     * An entry of the queue, or a thread that waits in a Condition.
     *
     * @since 0.1.0
     */
    public static final class Waiter {

        private final LockOwner owner;
        private final Duration age;
        private final int threads;

        private Waiter(LockOwner owner, Duration age, int threads) {
            this.owner = Objects.requireNonNull(owner, "owner");
            this.age = Objects.requireNonNull(age, "age");
            this.threads = threads;
        }

        /** Makes a waiter whose {@link #threads} are not known, for tests of code that inspects locks. */
        public static Waiter of(LockOwner owner, Duration age) {
            return new Waiter(owner, age, 0);
        }

        /** Makes a waiter, for tests of code that inspects locks. */
        public static Waiter of(LockOwner owner, Duration age, int threads) {
            return new Waiter(owner, age, threads);
        }

        /** The thread or handle to which Redis grants the lock when this entry is first. */
        public LockOwner owner() {
            return owner;
        }

        /**
         * The number of threads and asynchronous acquisitions that share this entry: one if the lock is fair, otherwise
         * all of the entry's client. Only the entry's client knows the number: it is empty in an inspection by another
         * client. Equality ignores this number.
         */
        public OptionalInt threads() {
            return threads == 0 ? OptionalInt.empty() : OptionalInt.of(threads);
        }

        /** About how long the entry has been in the queue. If another thread takes over the entry, the age goes on. */
        public Duration age() {
            return age;
        }

        @Override
        public boolean equals(@Nullable Object other) {
            return other instanceof Waiter that && owner.equals(that.owner) && age.equals(that.age);
        }

        @Override
        public int hashCode() {
            return Objects.hash(owner, age);
        }

        @Override
        public String toString() {
            String others = threads > 1 ? ", and " + (threads - 1) + " more behind it" : "";
            return owner.description() + ", for " + age.toMillis() + " ms" + others;
        }
    }

    /**
     * A Condition and the threads that wait in it.
     *
     * @since 0.1.0
     */
    public static final class Waiting {

        private final String condition;
        private final List<Waiter> waiters;

        private Waiting(String condition, List<Waiter> waiters) {
            this.condition = Objects.requireNonNull(condition, "condition");
            this.waiters = List.copyOf(waiters);
        }

        /** Makes a value for tests of code that inspects locks. */
        public static Waiting of(String condition, List<Waiter> waiters) {
            return new Waiting(condition, waiters);
        }

        /** The name of the Condition. The first Condition without a name is {@code #1}. */
        public String condition() {
            return condition;
        }

        /** The threads in the order in which they will be signalled. */
        public List<Waiter> waiters() {
            return waiters;
        }

        @Override
        public boolean equals(@Nullable Object other) {
            return other instanceof Waiting that && condition.equals(that.condition) && waiters.equals(that.waiters);
        }

        @Override
        public int hashCode() {
            return Objects.hash(condition, waiters);
        }

        @Override
        public String toString() {
            return Shown.of(condition) + " " + waiters;
        }
    }
}
