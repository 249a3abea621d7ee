package io.github.redislocks.script;

import io.github.redislocks.LockOwner;
import io.github.redislocks.PermitsInspection;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.redis.Script;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.PermitOwner;
import io.github.redislocks.state.PermitPool;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Makes the calls for permits: one method for each script. {@link Scripts} calls the methods for attempts and holds
 * whose keys are those of permits; all other calls are the same as for locks.
 */
public final class PermitScripts {

    private static final Script ACQUIRE = script("permits_acquire");
    private static final Script RELEASE = script("permits_release");
    private static final Script RENEW = script("permits_renew");
    private static final Script LEAVE = script("permits_leave");
    private static final Script RESIZE = script("permits_resize");
    private static final Script SHOW = script("permits_show");

    private PermitScripts() {}

    private static Script script(String name) {
        return Script.load(PermitScripts.class, name);
    }

    /** Takes permits, or a place in the queue. */
    static Call acquire(Attempt attempt, Call.NotAfter notAfter, boolean takePlace) {
        return ask(attempt, notAfter, attempt.leaseMillis, takePlace);
    }

    /** Renews a place in the queue, or takes the permits for a claim. */
    static Call heartbeat(Attempt attempt, Call.NotAfter notAfter) {
        return ask(attempt, notAfter, Scripts.claim(attempt), true);
    }

    private static Call ask(Attempt attempt, Call.NotAfter notAfter, long leaseMillis, boolean takePlace) {
        PermitOwner owner = (PermitOwner) attempt.owner;
        List<String> args = List.of(
                owner.id,
                Long.toString(attempt.number),
                Long.toString(leaseMillis),
                Scripts.DATED,
                takePlace ? Long.toString(Scripts.claim(attempt)) : Scripts.NO_PLACE,
                Integer.toString(owner.count),
                Integer.toString(owner.pool().size()),
                owner.pool().isToCheck() ? "1" : "0");
        return new Call(ACQUIRE, attempt.keys.all(), args).dated(3, notAfter);
    }

    static Call release(LockKeys keys, String ownerId, long attempt) {
        return new Call(RELEASE, keys.all(), List.of(ownerId, Long.toString(attempt)));
    }

    /** Extends the lease of permits. */
    static Call renew(Hold hold, long leaseMillis) {
        List<String> args = List.of(
                hold.owner.id, Long.toString(hold.attempt), Long.toString(leaseMillis), Long.toString(hold.token));
        return new Call(RENEW, hold.keys().all(), args);
    }

    /** Extends a claim to the lease that the attempt wants. */
    static Call confirm(Attempt attempt, long token) {
        List<String> args = List.of(
                attempt.owner.id,
                Long.toString(attempt.number),
                Long.toString(attempt.leaseMillis),
                Long.toString(token));
        return new Call(RENEW, attempt.keys.all(), args);
    }

    /** Removes the place or the permits of an attempt from Redis. */
    static Call leave(LockKeys keys, String ownerId, long attempt, boolean returned) {
        return new Call(
                LEAVE, keys.all(), List.of(ownerId, Long.toString(attempt), returned ? "1" : "0", Scripts.DATED));
    }

    /** Sets how many permits there are. */
    public static Call resize(LockKeys keys, int size, Call.NotAfter notAfter) {
        return new Call(RESIZE, keys.all(), List.of(Integer.toString(size), Scripts.DATED)).dated(1, notAfter);
    }

    /** Reads the reply to {@link #show}. */
    public static PermitsInspection inspection(PermitPool pool, Reply reply) {
        int size = (int) reply.number(0);
        int end = 2 + 4 * (int) reply.number(1);
        List<PermitsInspection.Held> held = new ArrayList<>();
        for (int i = 2; i < end; i += 4) {
            List<Integer> numbers = Arrays.stream(reply.text(i + 1).split(" "))
                    .map(Integer::valueOf)
                    .toList();
            held.add(PermitsInspection.Held.of(
                    owner(reply.text(i)), numbers, reply.number(i + 2), Duration.ofMillis(reply.number(i + 3))));
        }
        List<PermitsInspection.Waiting> waiting = new ArrayList<>();
        for (int i = end; i < reply.values().size(); i += 2) {
            waiting.add(PermitsInspection.Waiting.of(owner(reply.text(i)), (int) reply.number(i + 1)));
        }
        return PermitsInspection.of(pool.name(), size == 0 ? pool.size() : size, held, waiting);
    }

    /** The owner of a place, which is followed by the number of the attempt. */
    private static LockOwner owner(String place) {
        return LockOwner.parse(place.substring(0, place.lastIndexOf(':')));
    }

    /** Shows who has permits, and who waits for some. */
    public static Call show(LockKeys keys) {
        return new Call(SHOW, keys.all(), List.of());
    }
}
