package io.github.redislocks.script;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Request;
import io.github.redislocks.redis.Script;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Holds;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Owner;
import io.github.redislocks.state.Timing;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Makes the calls: one method for each script, with its keys and arguments. The header of each script explains the
 * replies.
 */
public final class Scripts {

    private static final Script TAKE = script("take");
    private static final Script FREE = script("free");
    private static final Script ACQUIRE = script("acquire");
    private static final Script REENTER = script("reenter");
    private static final Script RELEASE = script("release");
    private static final Script RELEASE_AFTER = script("release_after");
    private static final Script RELEASE_INNER = script("release_inner");
    private static final Script RENEW = script("renew");
    private static final Script RENEW_ALL = script("renew_all");
    private static final Script HEARTBEAT = script("heartbeat");
    private static final Script LEAVE = script("leave");
    private static final Script ANSWER = script("answer");
    private static final Script AWAIT = script("await");
    private static final Script SIGNAL = script("signal");
    private static final Script REJOIN = script("rejoin");
    private static final Script HELD = script("held");

    /** The mode of a try: if a client keeps the lock, the script asks that client to answer. */
    static final String TRY = "try";
    /** The mode of a try: even if a client keeps the lock, the script does not ask that client. */
    static final String SILENT = "silent";

    static final String NO_PLACE = "";
    /**
     * A placeholder for {@code notAfter}, which is known only when the call is sent. In a leave that stays undated, 0
     * says that no request of the attempt may still run.
     */
    static final String DATED = "0";
    /** The arguments if there is no successor, in place of a successor's owner, attempt, lease and claim. */
    private static final List<String> NOBODY = List.of("", "", "", NO_PLACE);
    /** A lease and its encoded argument. */
    private record Lease(long millis, String text) {}

    /** The last encoded lease: most requests name the same lease. */
    private static volatile Lease lastLease = new Lease(0, "0");

    /** The shortest lease with which the last token has to be remembered for longer than by default. */
    private static final long LONG_LEASE_MILLIS = 10_000_000;

    private Scripts() {}

    private static Script script(String name) {
        return Script.load(Scripts.class, name);
    }

    /** As {@link #acquire}, but shorter, for a free lock without waiters. With {@code asks}, a try asks its keeper. */
    public static Call take(Attempt attempt, Call.NotAfter notAfter, boolean asks) {
        String number = Long.toString(attempt.number);
        String lease = lease(attempt.leaseMillis);
        return new Call(
                Request.OfOneServer.TAKE,
                TAKE,
                List.of(attempt.keys.lock(), attempt.keys.fence()),
                attempt.waits
                        ? List.of(attempt.owner.id, number, lease, DATED)
                        : List.of(attempt.owner.id, number, lease, DATED, asks ? TRY : SILENT),
                null,
                notAfter,
                3);
    }

    private static String lease(long millis) {
        Lease last = lastLease;
        if (last.millis != millis) {
            last = new Lease(millis, Long.toString(millis));
            lastLease = last;
        }
        return last.text;
    }

    /**
     * Takes the lock, or a place in the queue.
     *
     * @param lastLostAttempt the highest attempt whose hold was lost after lock() had returned; 0 if there is none
     */
    public static Call acquire(Attempt attempt, Call.NotAfter notAfter, boolean takePlace, long lastLostAttempt) {
        if (attempt.owner.isShared()) {
            return ShareScripts.share(attempt, notAfter, takePlace, false);
        }
        if (attempt.keys.arePermits()) {
            return PermitScripts.acquire(attempt, notAfter, takePlace);
        }
        String mode = attempt.fair ? "queue" : "barge";
        return acquire(attempt, takePlace, lastLostAttempt, mode).dated(3, notAfter);
    }

    private static Call acquire(Attempt attempt, boolean takePlace, long lastLostAttempt, String mode) {
        long claim = takePlace ? claim(attempt) : 0;
        List<String> args = List.of(
                attempt.owner.id,
                Long.toString(attempt.number),
                Long.toString(attempt.leaseMillis),
                DATED,
                takePlace ? Long.toString(claim) : NO_PLACE,
                Long.toString(lastLostAttempt),
                mode);
        return new Call(
                new Request.Acquire(attempt.owner.id, attempt.number, attempt.leaseMillis, claim, lastLostAttempt),
                ACQUIRE,
                attempt.keys.all(),
                withLastToken(attempt.owner, args));
    }

    /** Takes a free lock, without a place in the queue. If a client keeps the lock, the script asks that client. */
    public static Call acquireOnce(Attempt attempt, Call.NotAfter notAfter, long lastLostAttempt) {
        if (attempt.owner.isShared()) {
            return ShareScripts.share(attempt, notAfter, false, true);
        }
        if (attempt.keys.arePermits()) {
            return PermitScripts.acquire(attempt, notAfter, false);
        }
        String mode = attempt.fair ? "queue " + TRY : TRY;
        return acquire(attempt, false, lastLostAttempt, mode).dated(3, notAfter);
    }

    public static Call heartbeat(Attempt attempt, Call.NotAfter notAfter) {
        if (attempt.owner.isShared()) {
            return ShareScripts.heartbeat(attempt, notAfter);
        }
        if (attempt.keys.arePermits()) {
            return PermitScripts.heartbeat(attempt, notAfter);
        }
        Request request = new Request.Heartbeat(attempt.owner.id, attempt.number, claim(attempt));
        return place(request, HEARTBEAT, attempt, notAfter);
    }

    /**
     * Ends a hold, and takes a place in a Condition.
     *
     * @param keep whether the successor of the hold goes before waiters of other clients
     */
    public static Call await(Hold hold, Attempt waiting, Call.NotAfter notAfter, boolean keep) {
        List<String> args = new ArrayList<>(List.of(
                waiting.owner.id,
                Long.toString(hold.attempt),
                Long.toString(waiting.number),
                DATED,
                Objects.requireNonNull(waiting.condition, "condition"),
                Integer.toString(waiting.holds),
                Long.toString(claim(waiting))));
        args.addAll(next(hold.successor(), true));
        args.add(keep ? "1" : "0");
        if (!hold.owner.id.equals(waiting.owner.id)) {
            args.add(hold.owner.id);
            args.add(Long.toString(Math.max(hold.token, hold.lastToken())));
        }
        return new Call(AWAIT, hold.keys().all(), args).dated(3, notAfter);
    }

    /** Notifies the attempt of another client that it may ask again for a lock that this client kept. */
    public static Call answer(String lock, String clientId, long attempt) {
        return new Call(ANSWER, List.of(lock), List.of(clientId, Long.toString(attempt)));
    }

    public static Call signal(Hold hold, long number, String condition, boolean all) {
        return new Call(
                SIGNAL,
                hold.keys().all(),
                List.of(hold.owner.id, Long.toString(hold.attempt), Long.toString(number), condition, all ? "1" : "0"));
    }

    public static Call rejoin(Attempt waiting, Call.NotAfter notAfter) {
        return place(Request.OfOneServer.REJOIN, REJOIN, waiting, notAfter);
    }

    /**
     * Extends a hold, and counts a re-entry.
     *
     * @param before the hold count before the re-entry, so that Redis counts a repeated call only once; 0 if only the
     *     client counts
     */
    public static Call reenter(Hold hold, int before, long leaseMillis) {
        return new Call(
                new Request.Reenter(hold.owner.id, hold.attempt, leaseMillis, before),
                REENTER,
                lockAndPerhapsFence(hold.keys(), leaseMillis >= LONG_LEASE_MILLIS),
                List.of(
                        hold.owner.id,
                        Long.toString(hold.attempt),
                        Integer.toString(before),
                        Long.toString(leaseMillis)));
    }

    /** Counts an inner unlock; {@code before} is the hold count before the unlock. */
    public static Call releaseInner(Hold hold, int before) {
        return new Call(
                Request.Plain.RELEASE_INNER,
                RELEASE_INNER,
                List.of(hold.lock()),
                List.of(hold.owner.id, Long.toString(hold.attempt), Integer.toString(before)));
    }

    private static List<String> lockAndPerhapsFence(LockKeys keys, boolean fence) {
        return fence ? List.of(keys.lock(), keys.fence()) : List.of(keys.lock());
    }

    /** Renews a hold, and the fence key if {@code fence}; for that key, once an hour is enough. */
    public static Call renew(Hold hold, long leaseMillis, boolean fence) {
        if (hold.owner.isShared()) {
            return ShareScripts.renew(hold.keys(), hold.owner.id, hold.attempt, leaseMillis);
        }
        if (LockKeys.arePermits(hold.lock())) {
            return PermitScripts.renew(hold, leaseMillis);
        }
        return new Call(
                new Request.Renew(hold.owner.id, hold.attempt, leaseMillis),
                RENEW,
                lockAndPerhapsFence(hold.keys(), fence || leaseMillis >= LONG_LEASE_MILLIS),
                List.of(hold.owner.id, Long.toString(hold.attempt), Long.toString(leaseMillis)));
    }

    /** Renews holds whose keys are all in one slot. */
    public static Call renewAll(List<Hold> holds, long leaseMillis) {
        List<String> locks = new ArrayList<>(holds.size());
        List<String> args = new ArrayList<>(1 + 2 * holds.size());
        args.add(Long.toString(leaseMillis));
        for (Hold hold : holds) {
            locks.add(hold.lock());
            args.add(hold.owner.id);
            args.add(Long.toString(hold.attempt));
        }
        return new Call(Request.OfOneServer.RENEW_ALL, RENEW_ALL, locks, args);
    }

    /** A copy of a renewal that also reads the locks, so that the server tracks their keys for this client. */
    public static Call watched(Call renewal) {
        List<String> args = new ArrayList<>(renewal.args());
        args.add("watched");
        return renewal.with(renewal.script(), renewal.keys(), args);
    }

    /** Confirms the grant with a token: extends the claim to the lease that the attempt wants. */
    public static Call confirm(Attempt attempt, long token) {
        if (attempt.owner.isShared()) {
            return ShareScripts.renew(attempt.keys, attempt.owner.id, attempt.number, attempt.leaseMillis);
        }
        if (attempt.keys.arePermits()) {
            return PermitScripts.confirm(attempt, token);
        }
        return new Call(
                new Request.Renew(attempt.owner.id, attempt.number, attempt.leaseMillis),
                RENEW,
                lockAndPerhapsFence(attempt.keys, attempt.leaseMillis >= LONG_LEASE_MILLIS),
                List.of(attempt.owner.id, Long.toString(attempt.number), Long.toString(attempt.leaseMillis)));
    }

    /** Releases a hold if nobody waits for the lock; a shorter script with fewer arguments than {@link #release}. */
    public static Call free(Hold hold) {
        return new Call(
                FREE, List.of(hold.lock(), hold.keys().fence()), List.of(hold.owner.id, Long.toString(hold.attempt)));
    }

    /** Adds the last token that a client gave out to its threads, since the request may end the client's hold. */
    private static List<String> withLastToken(Owner owner, List<String> args) {
        long last = owner.lastToken();
        if (last == 0) {
            return args;
        }
        List<String> all = new ArrayList<>(args);
        all.add(Long.toString(last));
        return all;
    }

    /** The last token that this client gave out under the hold; empty if it is the token of the hold. */
    static String lastToken(Hold hold) {
        long last = hold.lastToken();
        return last == 0 ? "" : Long.toString(last);
    }

    /**
     * Releases a hold.
     *
     * @param keep whether the successor of the hold goes before waiters of other clients
     * @param takePlace whether the successor takes a place if it does not get the lock
     */
    public static Call release(Hold hold, boolean keep, boolean takePlace) {
        if (hold.owner.isShared()) {
            return ShareScripts.unshare(hold.keys(), hold.owner.id, hold.attempt);
        }
        if (LockKeys.arePermits(hold.lock())) {
            return PermitScripts.release(hold.keys(), hold.owner.id, hold.attempt);
        }
        String attempt = Long.toString(hold.attempt);
        Attempt successor = hold.successor();
        if (successor != null && successor.owner.isShared()) {
            return ShareScripts.downgrade(hold);
        }
        List<String> args = successor == null
                ? List.of(hold.owner.id, attempt)
                : List.of(
                        hold.owner.id,
                        attempt,
                        successor.owner.id,
                        Long.toString(successor.number),
                        Long.toString(successor.leaseMillis),
                        takePlace ? Long.toString(claim(successor)) : NO_PLACE,
                        keep ? "1" : "0");
        String lastToken = lastToken(hold);
        if (!lastToken.isEmpty()) {
            args = new ArrayList<>(args);
            while (args.size() < 7) {
                args.add("");
            }
            args.add(lastToken);
        }
        return new Call(
                new Request.Release(hold.owner.id, hold.attempt),
                RELEASE,
                hold.keys().all(),
                args);
    }

    /** Releases a hold, but keeps the lock taken until the given time after its acquisition. */
    public static Call releaseAfter(Hold hold) {
        return releaseAfter(hold.keys(), hold.owner.id, hold.attempt, hold.owner.keepsMillis());
    }

    private static Call releaseAfter(LockKeys keys, String ownerId, long attempt, long keptMillis) {
        return new Call(RELEASE_AFTER, keys.all(), List.of(ownerId, Long.toString(attempt), Long.toString(keptMillis)));
    }

    /** Repeats a release, without a successor. */
    public static Call releaseAgain(Holds.Released released) {
        if (released.keptMillis() > 0) {
            return releaseAfter(released.keys(), released.ownerId(), released.attempt(), released.keptMillis());
        }
        if (released.keys().arePermits()) {
            return PermitScripts.release(released.keys(), released.ownerId(), released.attempt());
        }
        String attempt = Long.toString(released.attempt());
        return new Call(
                new Request.Release(released.ownerId(), released.attempt()),
                RELEASE,
                released.keys().all(),
                released.lastToken() == 0
                        ? List.of(released.ownerId(), attempt)
                        : List.of(released.ownerId(), attempt, "", "", "", "", "", "" + released.lastToken()));
    }

    /** Without a successor; {@code returned}: lock() had returned the hold, so that its end counts as a loss. */
    public static Call leave(LockKeys keys, Owner owner, long number, boolean returned) {
        if (owner.isShared()) {
            return ShareScripts.unshare(keys, owner.id, number);
        }
        return leave(keys, owner, new Request.Leave(owner.id, number, returned), NOBODY);
    }

    /** Removes the place or the hold of an attempt from Redis. Unanswered requests of the attempt may still run. */
    public static Call leave(Attempt attempt, boolean returned, @Nullable Attempt successor, boolean takePlace) {
        if (attempt.owner.isShared()) {
            return ShareScripts.leave(attempt);
        }
        Request.Leave request = new Request.Leave(attempt.owner.id, attempt.number, returned);
        return leave(attempt.keys, attempt.owner, request, next(successor, takePlace))
                .dated(3, attempt::mayRunUntilMicros);
    }

    private static Call leave(LockKeys keys, Owner owner, Request.Leave leave, List<String> next) {
        if (keys.arePermits()) {
            return PermitScripts.leave(keys, owner.id, leave.attempt(), leave.returned());
        }
        List<String> args =
                new ArrayList<>(List.of(owner.id, Long.toString(leave.attempt()), leave.returned() ? "1" : "0", DATED));
        args.addAll(next);
        return new Call(leave, LEAVE, keys.all(), withLastToken(owner, args));
    }

    /** The arguments that name a successor, unless that is a share: its owner, attempt, lease and claim. */
    private static List<String> next(@Nullable Attempt successor, boolean takePlace) {
        return successor == null || successor.owner.isShared()
                ? NOBODY
                : List.of(
                        successor.owner.id,
                        Long.toString(successor.number),
                        Long.toString(successor.leaseMillis),
                        takePlace ? Long.toString(claim(successor)) : NO_PLACE);
    }

    /** Checks whether Redis still has a hold. */
    public static Call held(Hold hold) {
        if (hold.owner.isShared()) {
            // Renew for 1 ms only, so that the request does not move the deadline of the share.
            return ShareScripts.renew(hold.keys(), hold.owner.id, hold.attempt, 1);
        }
        if (LockKeys.arePermits(hold.lock())) {
            return PermitScripts.renew(hold, 0);
        }
        return new Call(
                Request.Plain.HELD, HELD, List.of(hold.lock()), List.of(hold.owner.id, Long.toString(hold.attempt)));
    }

    /** Makes a call that renews or creates the place of an attempt. */
    private static Call place(Request request, Script script, Attempt attempt, Call.NotAfter notAfter) {
        List<String> args = List.of(
                attempt.owner.id,
                Long.toString(attempt.number),
                DATED,
                Integer.toString(attempt.holds),
                Long.toString(claim(attempt)));
        return new Call(request, script, attempt.keys.all(), args).dated(2, notAfter);
    }

    static long claim(Attempt attempt) {
        return Timing.claimMillis(attempt.leaseMillis);
    }
}
