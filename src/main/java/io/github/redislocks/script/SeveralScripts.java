package io.github.redislocks.script;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Request;
import io.github.redislocks.redis.Script;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.Hold;
import java.util.ArrayList;
import java.util.List;

/** Makes the calls that take or end several locks at once. */
public final class SeveralScripts {

    private static final Script TAKE_ALL = Script.load(Scripts.class, "take_all");
    private static final Script FREE_ALL = Script.load(Scripts.class, "free_all");
    private static final Script GIVE_UP = Script.load(Scripts.class, "give_up");

    private SeveralScripts() {}

    /**
     * Takes the locks of several attempts if all are free and nobody waits; otherwise takes none. The attempts have one
     * owner and want the same lease.
     *
     * @param recalls whether clients that keep one of the locks should give it up, since the caller waits
     */
    public static Call takeAll(List<Attempt> attempts, Call.NotAfter notAfter, boolean recalls) {
        Attempt first = attempts.get(0);
        List<String> keys = new ArrayList<>(2 * attempts.size());
        List<String> args = new ArrayList<>(3 + attempts.size());
        args.add(first.owner.id);
        args.add(Long.toString(first.leaseMillis));
        args.add(Scripts.DATED);
        for (Attempt attempt : attempts) {
            keys.add(attempt.keys.lock());
            keys.add(attempt.keys.fence());
            args.add(Long.toString(attempt.number));
        }
        if (!recalls) {
            args.add(Scripts.SILENT);
        }
        return new Call(Request.OfOneServer.TAKE_ALL, TAKE_ALL, keys, args).dated(2, notAfter);
    }

    /** Releases holds of an owner, except those with waiters. */
    public static Call freeAll(List<Hold> holds) {
        List<String> keys = new ArrayList<>(2 * holds.size());
        List<String> args = new ArrayList<>(1 + holds.size());
        args.add(holds.get(0).owner.id);
        for (Hold hold : holds) {
            keys.add(hold.lock());
            keys.add(hold.keys().fence());
            args.add(Long.toString(hold.attempt));
        }
        return new Call(FREE_ALL, keys, args);
    }

    /** Releases locks that this client keeps, except those with waiters. */
    public static Call giveUp(List<Hold> holds) {
        List<String> keys = new ArrayList<>(2 * holds.size());
        List<String> args = new ArrayList<>(3 * holds.size());
        for (Hold hold : holds) {
            keys.add(hold.lock());
            keys.add(hold.keys().fence());
            args.add(hold.owner.id);
            args.add(Long.toString(hold.attempt));
            args.add(Scripts.lastToken(hold));
        }
        return new Call(GIVE_UP, keys, args);
    }
}
