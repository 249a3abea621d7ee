package io.github.redislocks;

import io.github.redislocks.redis.Reply;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * What Redis knows of a lock at one moment: who holds it and who waits, over all JVMs. For people and dashboards; it is
 * history when it arrives, and no ground to act on.
 *
 * @param lockName the name of the lock
 * @param holder who holds it; empty if it is free
 * @param queue the first places in line, at most {@value #MAX_WAITERS}; all waiting threads of a JVM are one place,
 *     except for those of fair locks
 * @param queueLength how many places there are
 * @param conditions who waits in the lock's Conditions, at most {@value #MAX_WAITERS} in all; signalled threads are in
 *     the queue
 */
public record LockInspection(
        String lockName, Optional<Holder> holder, List<Waiter> queue, int queueLength, List<Waiting> conditions) {

    /** {@value}: how many waiters of a kind an inspection shows at most, so that it never holds up the server. */
    public static final int MAX_WAITERS = 1_000;

    /**
     * A thread of some JVM.
     *
     * @param clientId the id of its {@link RedisLocks}: {@code host:pid:random}
     * @param threadId its {@code Thread.threadId()}
     */
    public record Owner(String clientId, long threadId) {

        static Owner parse(String text) {
            int colon = text.lastIndexOf(':');
            return new Owner(text.substring(0, colon), Long.parseLong(text.substring(colon + 1)));
        }

        /** The name of its host. */
        public String host() {
            return clientId.substring(0, clientId.indexOf(':'));
        }

        /** The number of its process. */
        public long pid() {
            int start = clientId.indexOf(':') + 1;
            return Long.parseLong(clientId.substring(start, clientId.indexOf(':', start)));
        }
    }

    /**
     * A hold.
     *
     * @param owner the thread that holds the lock
     * @param holds how often
     * @param token its fencing token
     * @param remainingLease how long Redis keeps it if it is not renewed
     */
    public record Holder(Owner owner, int holds, long token, Duration remainingLease) {}

    /**
     * A place in line.
     *
     * @param owner the thread that takes it next
     * @param age since when, about, the place has been waiting; a thread that inherits a place inherits its age
     */
    public record Waiter(Owner owner, Duration age) {}

    /**
     * Who waits in a Condition.
     *
     * @param condition its name, or {@code #1} for the first that was only numbered
     * @param waiters in the order in which they will be signalled
     */
    public record Waiting(String condition, List<Waiter> waiters) {

        /** Copies the list. */
        public Waiting {
            waiters = List.copyOf(waiters);
        }
    }

    /** Copies the lists. */
    public LockInspection {
        queue = List.copyOf(queue);
        conditions = List.copyOf(conditions);
    }

    static LockInspection of(String lockName, Reply reply) {
        Optional<Holder> holder = reply.is("HELD")
                ? Optional.of(new Holder(
                        Owner.parse(reply.text(0)),
                        (int) reply.number(1),
                        reply.number(2),
                        Duration.ofMillis(Math.max(0, reply.number(3)))))
                : Optional.empty();
        int shown = (int) reply.number(5);
        int end = 6 + 2 * shown;
        List<Waiter> queue = new ArrayList<>(shown);
        for (int i = 6; i < end; i += 2) {
            queue.add(waiter(reply, i));
        }
        Map<String, List<Waiter>> conditions = new LinkedHashMap<>();
        for (int i = end; i < reply.values().size(); i += 3) {
            conditions.computeIfAbsent(reply.text(i), id -> new ArrayList<>()).add(waiter(reply, i + 1));
        }
        List<Waiting> waiting = new ArrayList<>();
        conditions.forEach((id, waiters) -> waiting.add(new Waiting(Keys.conditionName(id), waiters)));
        return new LockInspection(lockName, holder, queue, (int) reply.number(4), waiting);
    }

    /** An owner and its age, at a position of the reply. */
    private static Waiter waiter(Reply reply, int index) {
        return new Waiter(Owner.parse(reply.text(index)), Duration.ofNanos(reply.number(index + 1) * 1_000));
    }
}
