package io.github.redislocks.script;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Request;
import io.github.redislocks.redis.Script;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Owner;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * Makes the calls for shares: a share is the hold of a client that reads together with other clients. Its owner
 * {@linkplain Owner#isShared() is shared}, and has the id of the client.
 */
public final class ShareScripts {

    private static final Script SHARE = script("share");
    private static final Script UNSHARE = script("unshare");
    private static final Script RENEW_SHARES = script("renew_shares");
    private static final Script DOWNGRADE = script("downgrade");
    private static final Script VERSION = script("version");

    private ShareScripts() {}

    private static Script script(String name) {
        return Script.load(ShareScripts.class, name);
    }

    /**
     * Takes a share, or a place.
     *
     * @param takePlace whether the share waits if it cannot go in at once
     * @param asks whether a try asks the client that keeps the lock
     */
    static Call share(Attempt attempt, Call.NotAfter notAfter, boolean takePlace, boolean asks) {
        String claim = takePlace ? Long.toString(Scripts.claim(attempt)) : Scripts.NO_PLACE;
        List<String> args = wanted(attempt, attempt.leaseMillis, claim);
        if (asks) {
            args.add(Scripts.TRY);
        }
        return share(attempt, args, notAfter);
    }

    /** Renews the place of a share. If the share can go in, it does so for a claim only. */
    static Call heartbeat(Attempt attempt, Call.NotAfter notAfter) {
        long claim = Scripts.claim(attempt);
        return share(attempt, wanted(attempt, claim, Long.toString(claim)), notAfter);
    }

    private static List<String> wanted(Attempt attempt, long leaseMillis, String claim) {
        return new ArrayList<>(List.of(
                attempt.owner.id,
                Long.toString(attempt.number),
                Long.toString(leaseMillis),
                Scripts.DATED,
                claim,
                Long.toString(attempt.sentNanos())));
    }

    private static Call share(Attempt attempt, List<String> args, Call.NotAfter notAfter) {
        return new Call(Request.OfOneServer.SHARE, SHARE, attempt.keys.all(), args).dated(3, notAfter);
    }

    /** Ends the share or the place of an attempt. Unanswered requests of the attempt may still run. */
    static Call leave(Attempt attempt) {
        return unshare(attempt.keys, attempt.owner.id, attempt.number).dated(2, attempt::mayRunUntilMicros);
    }

    /** Ends the share or the place of an attempt of which no request may still run. */
    static Call unshare(LockKeys keys, String clientId, long number) {
        return new Call(UNSHARE, keys.all(), List.of(clientId, Long.toString(number), Scripts.DATED));
    }

    static Call renew(LockKeys keys, String clientId, long number, long leaseMillis) {
        return new Call(
                Request.OfOneServer.RENEW_SHARES,
                RENEW_SHARES,
                keysOf(keys),
                List.of(clientId, Long.toString(leaseMillis), Long.toString(number)));
    }

    private static List<String> keysOf(LockKeys keys) {
        return List.of(keys.lock(), keys.fence(), keys.queue(), keys.waiters());
    }

    /** Renews shares of this client whose keys are all in one slot. */
    public static Call renewAll(List<Hold> shares, long leaseMillis) {
        List<String> keys = new ArrayList<>(4 * shares.size());
        List<String> args = new ArrayList<>(2 + shares.size());
        args.add(shares.get(0).owner.id);
        args.add(Long.toString(leaseMillis));
        for (Hold share : shares) {
            keys.addAll(keysOf(share.keys()));
            args.add(Long.toString(share.attempt));
        }
        return new Call(Request.OfOneServer.RENEW_SHARES, RENEW_SHARES, keys, args);
    }

    /** Turns the hold of a writer into the share that the hold names as its successor. */
    static Call downgrade(Hold hold) {
        Attempt share = Objects.requireNonNull(hold.successor(), "successor");
        List<String> args = new ArrayList<>(List.of(
                hold.owner.id,
                Long.toString(hold.attempt),
                share.owner.id,
                Long.toString(share.number),
                Long.toString(share.leaseMillis)));
        String last = Scripts.lastToken(hold);
        if (!last.isEmpty()) {
            args.add(last);
        }
        return new Call(DOWNGRADE, hold.keys().all(), args);
    }

    /** Asks for the token of the last writer; the reply has 0 while a writer has the lock. */
    public static Call version(LockKeys keys) {
        return new Call(VERSION, keys.all(), List.of());
    }
}
