package io.github.redislocks;

import io.github.redislocks.concurrent.Shown;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * What Redis knows of a lock at one moment: who holds it and who waits, over all JVMs. For people and dashboards. The
 * answer is history when it arrives, and no ground to act on.
 *
 * <pre>{@code
 * System.out.println(locks.inspect("inventory:sku-42"));
 * }</pre>
 *
 * @since 0.1.0
 */
public final class LockInspection {

    /** {@value}: the most waiters of each kind that an inspection shows, so that it never holds up the server. */
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

    /** Returns a value as the library makes it, for tests of code that looks at locks. */
    public static LockInspection of(
            String lockName, Optional<Holder> holder, List<Waiter> queue, int queueLength, List<Waiting> conditions) {
        return of(lockName, holder, Optional.empty(), queue, queueLength, conditions);
    }

    /** As above, of a lock that may be kept by nobody. */
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

    /** The hold; empty if the lock is free, or kept by nobody. */
    public Optional<Holder> holder() {
        return holder;
    }

    /** How much longer the lock stays taken by nobody, after {@link LockHandle#releaseAfter}; empty if it does not. */
    public Optional<Duration> keptFor() {
        return keptFor;
    }

    /**
     * The first places of the queue, at most {@value #MAX_WAITERS}. All threads of a JVM that wait for a lock that is
     * not fair have one place together.
     */
    public List<Waiter> queue() {
        return queue;
    }

    /** How many places the queue has. */
    public int queueLength() {
        return queueLength;
    }

    /**
     * The threads that wait in the lock's Conditions, at most {@value #MAX_WAITERS} in all. Signalled threads are in
     * the queue.
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

    /** A line for the hold of a lock. */
    static String state(String lockName, Optional<Holder> holder, Optional<Duration> keptFor) {
        String state = holder.isPresent()
                ? (holder.get().owner().isResidence() ? "kept by " : "held by ") + holder.get()
                : keptFor.isPresent() ? "kept by nobody, for " + keptFor.get().toMillis() + " ms" : "free";
        return "Lock \"" + Shown.of(lockName) + "\" " + state;
    }

    /** A line for the hold, one for each place in the queue, and one for each Condition. */
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
     * A thread of some JVM, or a {@link LockHandle}.
     *
     * @since 0.1.0
     */
    public static final class Owner {

        private static final String HANDLE = "h";
        private static final String RESIDENCE = "r";
        private static final Pattern FORM = Pattern.compile("(?s).*[^:]:[hr]?\\d{1,18}");

        private final String clientId;
        private final String id;
        private final @Nullable String threadName;

        private Owner(String clientId, String id, @Nullable String threadName) {
            this.clientId = Objects.requireNonNull(clientId, "clientId");
            this.id = id;
            this.threadName = threadName;
        }

        /** A thread, as the library makes it; for tests of code that looks at locks. */
        public static Owner of(String clientId, long threadId) {
            return new Owner(clientId, Long.toString(threadId), null);
        }

        /**
         * A thread or a handle, by its text: {@code host:pid:random:7}, {@code host:pid:random:h7};
         * {@code host:pid:random:r7} is that of a client that keeps a lock.
         *
         * @throws IllegalArgumentException if it is none of them
         */
        public static Owner parse(String text) {
            if (!FORM.matcher(text).matches()) {
                throw new IllegalArgumentException("\"" + Shown.of(text) + "\" is no owner of a lock, which has the"
                        + " form host:pid:random:thread or host:pid:random:h7. If it is in the key of a lock, another"
                        + " program uses that key: give the locks another keyPrefix.");
            }
            int colon = text.lastIndexOf(':');
            return new Owner(text.substring(0, colon), text.substring(colon + 1), null);
        }

        /** The same, with the name of its thread. */
        public Owner withThreadName(String name) {
            return new Owner(clientId, id, Objects.requireNonNull(name, "name"));
        }

        /** The id of its {@link RedisLocks}, as {@link Locks#clientId()} returns it. */
        public String clientId() {
            return clientId;
        }

        /** Whether it is a handle, and no thread. */
        public boolean isHandle() {
            return id.startsWith(HANDLE);
        }

        /**
         * Whether it is a whole client, which keeps the lock for its threads by its {@link RedisLocks.Builder#residency
         * residency}. Only that client knows whether one of them has it.
         */
        public boolean isResidence() {
            return id.startsWith(RESIDENCE);
        }

        /** Its {@code Thread.threadId()}; empty if it is a handle or a residence. */
        public OptionalLong threadId() {
            return isHandle() || isResidence() ? OptionalLong.empty() : OptionalLong.of(Long.parseLong(id));
        }

        /**
         * The name of its thread; empty if it is one of another client than the one that was asked, since Redis knows
         * none, or a handle. Two that differ in this are equal.
         */
        public Optional<String> threadName() {
            return Optional.ofNullable(threadName);
        }

        /** The name that {@link RedisLocks.Builder#clientName} gave its client; empty if it gave none. */
        public Optional<String> clientName() {
            int start = clientId.lastIndexOf(':') + 1;
            int end = clientId.lastIndexOf('.');
            return end < start ? Optional.empty() : Optional.of(clientId.substring(start, end));
        }

        /** The name of its host. */
        public String host() {
            return part(0);
        }

        /**
         * The number of its process.
         *
         * @throws IllegalStateException if the id of its client names none, as no client of this library has it
         */
        public long pid() {
            String number = part(1);
            if (!number.matches("\\d{1,18}")) {
                throw new IllegalStateException(
                        "The owner \"" + Shown.of(toString()) + "\" names no process: its client"
                                + " is none of this library, whose ids have the form host:pid:random.");
            }
            return Long.parseLong(number);
        }

        private String part(int index) {
            String[] parts = clientId.split(":", -1);
            return index < parts.length ? parts[index] : "";
        }

        @Override
        public boolean equals(@Nullable Object other) {
            return other instanceof Owner that && clientId.equals(that.clientId) && id.equals(that.id);
        }

        @Override
        public int hashCode() {
            return Objects.hash(clientId, id);
        }

        /** As it is written in Redis: {@code host:pid:random:thread}, or {@link LockHandle#owner()}. */
        @Override
        public String toString() {
            return clientId + ':' + id;
        }

        /** With the name of its thread, if that is known. */
        private String description() {
            return Shown.of(threadName == null ? toString() : this + " (\"" + threadName + "\")");
        }
    }

    /**
     * A hold.
     *
     * @since 0.1.0
     */
    public static final class Holder {

        private final Owner owner;
        private final int holds;
        private final long token;
        private final Duration remainingLease;
        private final Instant since;

        private Holder(Owner owner, int holds, long token, Duration remainingLease, Instant since) {
            this.owner = Objects.requireNonNull(owner, "owner");
            this.holds = holds;
            this.token = token;
            this.remainingLease = Objects.requireNonNull(remainingLease, "remainingLease");
            this.since = Objects.requireNonNull(since, "since");
        }

        /** Returns a value as the library makes it, for tests of code that looks at locks. */
        public static Holder of(Owner owner, int holds, long token, Duration remainingLease) {
            return of(owner, holds, token, remainingLease, Instant.EPOCH.plus(token, ChronoUnit.MICROS));
        }

        /** As above, of a hold that began at another time than its token says. */
        public static Holder of(Owner owner, int holds, long token, Duration remainingLease, Instant since) {
            return new Holder(owner, holds, token, remainingLease, since);
        }

        /** The thread that holds the lock. */
        public Owner owner() {
            return owner;
        }

        /** How often it holds the lock. */
        public int holds() {
            return holds;
        }

        /** The fencing token of the hold. */
        public long token() {
            return token;
        }

        /**
         * Since when the lock is held, by the clock of the server: the fencing token is the time of the grant in µs, or
         * a little more if the clock was set back. If a whole client {@link Owner#isResidence keeps} the lock, since
         * when that has it. Of a thread of the client that was asked, which has the lock under that, since when the
         * thread has it, as this client measured it.
         */
        public Instant since() {
            return since;
        }

        /**
         * How long Redis keeps the hold if nobody renews it. A client that keeps a lock renews it; for how long it goes
         * on to do so without a use only that client knows.
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
            String how = owner.isResidence()
                    ? " for its threads, since " + since
                    : holds == 1 ? ", once" : ", " + holds + " times";
            return owner.description() + how + ", token " + token + ", lease " + remainingLease.toMillis() + " ms";
        }
    }

    /**
     * A place in the queue.
     *
     * @since 0.1.0
     */
    public static final class Waiter {

        private final Owner owner;
        private final Duration age;
        private final int threads;

        private Waiter(Owner owner, Duration age, int threads) {
            this.owner = Objects.requireNonNull(owner, "owner");
            this.age = Objects.requireNonNull(age, "age");
            this.threads = threads;
        }

        /** Returns a value as the library makes it, for tests of code that looks at locks. */
        public static Waiter of(Owner owner, Duration age) {
            return new Waiter(owner, age, 0);
        }

        /** As above, of a place for which it is known how many wait behind it. */
        public static Waiter of(Owner owner, Duration age, int threads) {
            return new Waiter(owner, age, threads);
        }

        /** The thread that takes the place next. */
        public Owner owner() {
            return owner;
        }

        /**
         * For how many threads and asynchronous acquisitions of its client the place stands: for one if it is that of a
         * fair lock, else for all of them. Empty if it is one of another client than the one that was asked, which
         * alone knows. Two that differ in this are equal.
         */
        public OptionalInt threads() {
            return threads == 0 ? OptionalInt.empty() : OptionalInt.of(threads);
        }

        /** About how long the place has been waiting. A thread that takes over a place takes over its age. */
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
     * The threads that wait in a Condition.
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

        /** Returns a value as the library makes it, for tests of code that looks at locks. */
        public static Waiting of(String condition, List<Waiter> waiters) {
            return new Waiting(condition, waiters);
        }

        /** The name of the Condition, or {@code #1} for the first that was only numbered. */
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
