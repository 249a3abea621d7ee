package io.github.redislocks.script;

import io.github.redislocks.LockInspection;
import io.github.redislocks.LockOwner;
import io.github.redislocks.LockSummary;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.redis.Request;
import io.github.redislocks.redis.Script;
import io.github.redislocks.state.LockKeys;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** Makes the calls that look at locks, also at those of other clients, and reads the replies. */
public final class Inspections {

    private static final Script CHECK = script("check");
    private static final Script LOCKED = script("locked");
    private static final Script INSPECT = script("inspect");
    private static final Script FORCE = script("force");
    private static final Script COUNT = script("count");
    private static final Script LIST = script("list");

    /** Enough that a node which has most slots of a cluster hardly ever passes for one that has all. */
    private static final int SLOTS_CHECKED = 128;

    private Inspections() {}

    private static Script script(String name) {
        return Script.load(Inspections.class, name);
    }

    /** A hold that {@link #locked} found. */
    public record Held(String owner, long attempt, long token) {}

    /** Asks who holds a lock. */
    public static Call locked(LockKeys keys) {
        return new Call(Request.Plain.LOCKED, LOCKED, List.of(keys.lock()), List.of());
    }

    /** Reads keys in many slots, which no user can name, to check whether one server has all slots. */
    public static List<Call> checkSlots(String keyPrefix) {
        return IntStream.range(0, SLOTS_CHECKED)
                .mapToObj(number -> locked(LockKeys.ofNobody(keyPrefix, number)))
                .toList();
    }

    /** Asks a new server for its properties, its permissions and its time. */
    public static Call check(String keyPrefix, String mailbox) {
        return new Call(Request.Plain.CHECK, CHECK, LockKeys.ofNobody(keyPrefix).all(), List.of(mailbox));
    }

    /** Ends a hold that {@link #locked} found. */
    public static Call force(LockKeys keys, Held seen) {
        Request request = new Request.Force(seen.owner(), seen.attempt());
        return new Call(
                request, FORCE, keys.all(), List.of(Long.toString(seen.token()), Long.toString(seen.attempt())));
    }

    /** Asks for the holder and the waiters of a lock. */
    public static Call inspect(LockKeys keys) {
        return inspect(keys, LockInspection.MAX_WAITERS);
    }

    /** Asks for the holder of a lock and for at most {@code most} waiters of each kind; {@code most} is 1 or more. */
    public static Call inspect(LockKeys keys, int most) {
        List<String> shown = List.of(keys.lock(), keys.queue(), keys.conditions());
        return new Call(Request.Plain.INSPECT, INSPECT, shown, List.of(Integer.toString(most)));
    }

    /** Counts the names whose last token a server remembers, in the part that starts at a cursor. */
    public static Call countTokens(String keyPrefix, String cursor) {
        return new Call(COUNT, List.of(), List.of(cursor, LockKeys.fences(keyPrefix)));
    }

    /** Lists the locks of a server that are in use, in the part that starts at a cursor. */
    public static Call list(String keyPattern, String cursor) {
        return new Call(LIST, List.of(), List.of(cursor, keyPattern));
    }

    /** Reads the reply to {@link #locked}: the hold, or null if there is none. */
    public static @Nullable Held held(Reply reply) {
        return reply.is("LOCKED") ? new Held(reply.text(0), reply.number(1), reply.number(2)) : null;
    }

    public static LockInspection of(String lockName, Reply reply) {
        Optional<LockInspection.Holder> holder = reply.is("HELD") || reply.is("SHARED")
                ? Optional.of(LockInspection.Holder.of(
                        LockOwner.parse(reply.text(0)),
                        (int) reply.number(1),
                        reply.number(2),
                        Duration.ofMillis(Math.max(0, reply.number(3)))))
                : Optional.empty();
        int shown = (int) reply.number(5);
        int end = 6 + 2 * shown;
        List<LockInspection.Waiter> queue = new ArrayList<>(shown);
        for (int i = 6; i < end; i += 2) {
            queue.add(waiter(reply, i));
        }
        Map<String, List<LockInspection.Waiter>> conditions = new LinkedHashMap<>();
        for (int i = end; i < reply.values().size(); i += 3) {
            conditions.computeIfAbsent(reply.text(i), id -> new ArrayList<>()).add(waiter(reply, i + 1));
        }
        List<LockInspection.Waiting> waiting = new ArrayList<>();
        conditions.forEach(
                (id, waiters) -> waiting.add(LockInspection.Waiting.of(LockKeys.conditionName(id), waiters)));
        Optional<Duration> keptFor =
                reply.is("KEPT") ? Optional.of(Duration.ofMillis(Math.max(0, reply.number(3)))) : Optional.empty();
        return LockInspection.of(lockName, holder, keptFor, queue, (int) reply.number(4), waiting);
    }

    /** Reads the locks of one part of a list. Leaves out hashes without an owner, which are not locks. */
    public static List<LockSummary> list(Reply reply) {
        List<LockSummary> locks = new ArrayList<>();
        for (int i = 2; i < reply.values().size(); i += 8) {
            try {
                if (!LockKeys.arePermits(reply.text(i))) {
                    locks.add(summary(reply, i));
                }
            } catch (IllegalArgumentException noOwner) {
                // Ignored: the hash belongs to another program.
            }
        }
        return locks;
    }

    /** Reads the pools of permits of one part of a list. */
    public static List<LockKeys> pools(Reply reply) {
        List<LockKeys> pools = new ArrayList<>();
        for (int i = 2; i < reply.values().size(); i += 8) {
            if (LockKeys.arePermits(reply.text(i))) {
                pools.add(new LockKeys(reply.text(i)));
            }
        }
        return pools;
    }

    private static LockSummary summary(Reply reply, int i) {
        boolean kept = reply.number(i + 5) == 1;
        Duration lasts = Duration.ofMillis(Math.max(0, reply.number(i + 4)));
        String owner = reply.text(i + 1);
        Optional<LockInspection.Holder> holder = owner.isEmpty() || kept
                ? Optional.empty()
                : Optional.of(LockInspection.Holder.of(
                        LockOwner.parse(owner), (int) reply.number(i + 2), reply.number(i + 3), lasts));
        return LockSummary.of(
                new LockKeys(reply.text(i)).name(),
                holder,
                kept ? Optional.of(lasts) : Optional.empty(),
                (int) reply.number(i + 6),
                (int) reply.number(i + 7));
    }

    /** Reads the owner and age at an index of the reply. */
    private static LockInspection.Waiter waiter(Reply reply, int index) {
        return LockInspection.Waiter.of(
                LockOwner.parse(reply.text(index)), Duration.ofNanos(reply.number(index + 1) * 1_000));
    }
}
