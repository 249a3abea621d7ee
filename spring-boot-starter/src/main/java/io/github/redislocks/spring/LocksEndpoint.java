package io.github.redislocks.spring;

import io.github.redislocks.LockInspection;
import io.github.redislocks.LockUnavailableException;
import io.github.redislocks.RedisLocks;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;

/**
 * The endpoint {@code locks} of the Actuator. It shows locks that are held or waited for, and cannot force a lock open.
 */
@Endpoint(id = "locks")
class LocksEndpoint {

    /** The most names of held locks, and of locks that are waited for, in an answer. */
    private static final int MOST_NAMES = 1_000;

    final RedisLocks locks;

    LocksEndpoint(RedisLocks locks) {
        this.locks = locks;
    }

    /** Shows the locks that this client holds and waits for. Asks no server. */
    @ReadOperation
    public Client client() {
        return new Client(
                locks.clientId(),
                locks.countHeld(),
                locks.countRead(),
                locks.countPermits(),
                locks.countWaitingCalls(),
                locks.countResident(),
                first(locks.heldNames()),
                first(locks.waitedForNames()),
                locks.isClosed());
    }

    /** Shows the state of one lock in Redis. A name may have slashes. */
    @ReadOperation
    public Object lock(@Selector(match = Selector.Match.ALL_REMAINING) String... name) {
        return answer(name(name), lock -> Lock.of(locks.inspect(lock)));
    }

    /** Returns what {@code ask} returns. If Redis is away, returns the status 503 and the reason. */
    static Object answer(String name, Function<String, Object> ask) {
        try {
            return ask.apply(name);
        } catch (LockUnavailableException e) {
            return new WebEndpointResponse<>(
                    Map.of("name", name, "error", String.valueOf(e.getMessage())),
                    WebEndpointResponse.STATUS_SERVICE_UNAVAILABLE);
        }
    }

    private static List<String> first(Collection<String> names) {
        return names.stream().limit(MOST_NAMES).toList();
    }

    static String name(String... parts) {
        return String.join("/", parts);
    }

    /**
     * The locks of this client, in numbers and by name.
     *
     * @param held the number of locks that the client holds: each lock under which it reads counts once, and each
     *     handle of permits
     * @param read the number of locks under which the client reads
     * @param permits the number of permits that the client has
     * @param waiting the number of the client's calls that are acquiring a lock
     * @param resident the number of locks that the client keeps by its residency and that none of its threads holds
     * @param heldHere the names of the locks that the client holds, 1,000 at most
     * @param waitedForHere the names of the locks that the client's calls are acquiring, 1,000 at most
     */
    public record Client(
            String client,
            long held,
            long read,
            long permits,
            long waiting,
            long resident,
            List<String> heldHere,
            List<String> waitedForHere,
            boolean closed) {}

    /**
     * The state of a lock over all JVMs.
     *
     * @param holder the holder; null if there is none
     * @param keptForMillis how much longer the lock is unavailable without a holder, after a releaseAfter; null if it
     *     is held or free
     * @param queue the first entries of the queue
     * @param queueLength the length of the queue
     */
    public record Lock(
            String name,
            @Nullable Holder holder,
            @Nullable Long keptForMillis,
            List<Waiter> queue,
            int queueLength,
            List<Condition> conditions) {

        static Lock of(LockInspection inspection) {
            return new Lock(
                    inspection.lockName(),
                    inspection.holder().map(Holder::of).orElse(null),
                    inspection.keptFor().map(java.time.Duration::toMillis).orElse(null),
                    inspection.queue().stream().map(Waiter::of).toList(),
                    inspection.queueLength(),
                    inspection.conditions().stream().map(Condition::of).toList());
        }
    }

    /**
     * The holder of a lock.
     *
     * @param thread the name of the thread; null if the holder is no thread of this client
     * @param residence whether the holder is a whole client, which keeps the lock for its threads
     * @param token the fencing token, as a text, because JavaScript cannot represent all numbers of that size
     * @param since when the hold began, as a text in ISO 8601
     */
    public record Holder(
            String owner,
            @Nullable String thread,
            boolean residence,
            int holds,
            String token,
            String since,
            long remainingLeaseMillis) {

        static Holder of(LockInspection.Holder holder) {
            return new Holder(
                    holder.owner().toString(),
                    holder.owner().threadName().orElse(null),
                    holder.owner().isResidence(),
                    holder.holds(),
                    Long.toString(holder.token()),
                    holder.since().toString(),
                    holder.remainingLease().toMillis());
        }
    }

    /**
     * An entry of the queue, or a thread in a Condition.
     *
     * @param thread the name of the thread; null if the waiter is no thread of this client
     */
    public record Waiter(String owner, @Nullable String thread, long ageMillis) {

        static Waiter of(LockInspection.Waiter waiter) {
            return new Waiter(
                    waiter.owner().toString(),
                    waiter.owner().threadName().orElse(null),
                    waiter.age().toMillis());
        }
    }

    /** A Condition in which threads wait. */
    public record Condition(String name, List<Waiter> waiters) {

        static Condition of(LockInspection.Waiting waiting) {
            return new Condition(
                    waiting.condition(),
                    waiting.waiters().stream().map(Waiter::of).toList());
        }
    }
}
