package io.github.redislocks;

import java.time.Duration;
import java.util.List;
import java.util.Objects;

/**
 * The state of a pool of permits: {@link Permits#inspect}. An inspection is meant for people and dashboards. Code must
 * not decide by it, since it may be out of date when it arrives.
 *
 * @since 0.1.0
 */
public final class PermitsInspection {

    private final String name;
    private final int size;
    private final List<Held> held;
    private final List<Waiting> waiting;

    private PermitsInspection(String name, int size, List<Held> held, List<Waiting> waiting) {
        this.name = Objects.requireNonNull(name, "name");
        this.size = size;
        this.held = List.copyOf(held);
        this.waiting = List.copyOf(waiting);
    }

    /** Makes an inspection, for tests of code that shows it. */
    public static PermitsInspection of(String name, int size, List<Held> held, List<Waiting> waiting) {
        return new PermitsInspection(name, size, held, waiting);
    }

    /** The name of the pool. */
    public String name() {
        return name;
    }

    /** How many permits there are. */
    public int size() {
        return size;
    }

    /** How many permits nobody has; zero if more are held than there are, after a resize. */
    public int available() {
        int taken = held.stream().mapToInt(each -> each.numbers().size()).sum();
        return Math.max(0, size - taken);
    }

    /** The owners of permits, in the order of their smallest numbers. */
    public List<Held> held() {
        return held;
    }

    /** The callers that wait for permits, in the order in which they will be served. */
    public List<Waiting> waiting() {
        return waiting;
    }

    /** Describes the pool in one line, such as {@code encoder: 8 permits, 3 available, 2 waiting}. */
    @Override
    public String toString() {
        return name + ": " + size + " permits, " + available() + " available, " + waiting.size() + " waiting";
    }

    /** The permits of one owner. */
    public static final class Held {

        private final LockOwner owner;
        private final List<Integer> numbers;
        private final long fencingToken;
        private final Duration remainingLease;

        private Held(LockOwner owner, List<Integer> numbers, long fencingToken, Duration remainingLease) {
            this.owner = Objects.requireNonNull(owner, "owner");
            this.numbers = List.copyOf(numbers);
            this.fencingToken = fencingToken;
            this.remainingLease = Objects.requireNonNull(remainingLease, "remainingLease");
        }

        /** Makes the permits of an owner, for tests of code that shows them. */
        public static Held of(LockOwner owner, List<Integer> numbers, long fencingToken, Duration remainingLease) {
            return new Held(owner, numbers, fencingToken, remainingLease);
        }

        /** The handle that has the permits. */
        public LockOwner owner() {
            return owner;
        }

        /** The numbers of the permits, ascending. */
        public List<Integer> numbers() {
            return numbers;
        }

        /** The fencing token of the handle. */
        public long fencingToken() {
            return fencingToken;
        }

        /** How long the permits stay taken if they are not renewed. */
        public Duration remainingLease() {
            return remainingLease;
        }
    }

    /** A caller that waits for permits. */
    public static final class Waiting {

        private final LockOwner owner;
        private final int wanted;

        private Waiting(LockOwner owner, int wanted) {
            this.owner = Objects.requireNonNull(owner, "owner");
            this.wanted = wanted;
        }

        /** Makes a waiting caller, for tests of code that shows it. */
        public static Waiting of(LockOwner owner, int wanted) {
            return new Waiting(owner, wanted);
        }

        /** The handle that will have the permits. */
        public LockOwner owner() {
            return owner;
        }

        /** How many permits the caller wants. */
        public int wanted() {
            return wanted;
        }
    }
}
