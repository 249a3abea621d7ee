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

/** The endpoint {@code locks} of the Actuator, which shows what is held and waited for, and forces nothing. */
@Endpoint(id = "locks")
class LocksEndpoint {

    /** So many names of each kind are shown at most. */
    private static final int MOST_NAMES = 1_000;

    final RedisLocks locks;

    LocksEndpoint(RedisLocks locks) {
        this.locks = locks;
    }

    /** Returns what this client holds and waits for; asks no server. */
    @ReadOperation
    public Client client() {
        return new Client(
                locks.clientId(),
                locks.countHeld(),
                locks.countWaiting(),
                locks.countResident(),
                first(locks.held()),
                first(locks.waitedFor()),
                locks.isClosed());
    }

    /** What Redis knows of one lock. A name may have slashes. */
    @ReadOperation
    public Object lock(@Selector(match = Selector.Match.ALL_REMAINING) String... name) {
        return answer(name(name), lock -> Lock.of(locks.inspect(lock)));
    }

    /** What Redis says of a lock; while Redis is away, the status 503 and the reason. */
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
     * A client.
     *
     * @param held how many locks it holds
     * @param waiting how many calls of it want a lock
     * @param resident how many locks it keeps for its threads that none of them holds
     * @param heldHere the first names of the locks that it holds
     * @param waitedForHere the first names of those that its calls want
     */
    public record Client(
            String client,
            long held,
            long waiting,
            long resident,
            List<String> heldHere,
            List<String> waitedForHere,
            boolean closed) {}

    /**
     * A lock, in all JVMs.
     *
     * @param holder the owner that holds it, or null
     * @param keptForMillis how much longer it stays taken by nobody, or null
     * @param queue the first places
     * @param queueLength how many there are
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
     * @param thread the name of its thread, if that is one of this client, or null
     * @param residence whether it is a whole client, which keeps the lock for its threads
     * @param token a text, since JavaScript cannot tell numbers of its size apart
     * @param since since when, as a text in ISO 8601
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

    /** A place in line, or a thread in a Condition; with the name of its thread, if that is one of this client. */
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
