package io.github.redislocks;

import io.github.redislocks.client.LockClient;
import io.github.redislocks.engine.Sync;
import io.github.redislocks.redis.Redis;
import java.util.function.UnaryOperator;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressMeta;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.L_Result;

/**
 * Claim: if a client is closed while the lock is handed to its waiter, the waiter gets the lock and unlocks it, or gets
 * the lock and loses it, or throws an exception. When {@code close()} has returned, the lock is free for the next
 * waiter.
 *
 * <pre>
 *   jcstress-tests/run GrantRacesClose
 *
 *   nobody's             FORBIDDEN   all have gone, and the lock or a place in its line is not free
 *   had it               acceptable  the grant came first, and the unlock before the end
 *   had it, and lost it  acceptable  the grant came first, and the end before the unlock
 *   left                 acceptable  the close came first
 * </pre>
 *
 * In {@code TwinBroken} the client closes without a request to Redis.
 */
@Outcome(id = Handover.ORPHANED, expect = Expect.FORBIDDEN, desc = "All have gone, and the lock is not free.")
@Outcome(id = Handover.HAD, expect = Expect.ACCEPTABLE, desc = "The grant came first, and the unlock then.")
@Outcome(id = Handover.LOST, expect = Expect.ACCEPTABLE, desc = "The grant came first, and the end then.")
@Outcome(id = Handover.LEFT, expect = Expect.ACCEPTABLE, desc = "The close came first.")
public class GrantRacesClose {

    private static LockClient client(UnaryOperator<Redis> tampering) {
        return OnTwin.Still.client("closing", new HandClock(), tampering);
    }

    private static boolean lock(Sync sync) {
        sync.lock();
        return true;
    }

    @JCStressTest
    @JCStressMeta(GrantRacesClose.class)
    @State
    public static class TwinTwoClients {
        private final LockClient closing = client(redis -> redis);
        private final Handover race = new Handover(OnTwin.Hand.HERE, closing);
        private String story;

        @Actor
        public void holder() {
            race.hold();
            Aside.Task close = Aside.start(closing::close);
            race.unlock();
            close.join();
        }

        @Actor
        public void waiter() {
            story = race.await(GrantRacesClose::lock);
        }

        @Arbiter
        public void look(L_Result r) {
            r.r1 = race.isFree() ? story : Handover.ORPHANED;
        }
    }

    /** The holder belongs to the closing client: its hold is lost, or its unlock hands the lock to the waiter. */
    @JCStressTest
    @JCStressMeta(GrantRacesClose.class)
    @State
    public static class TwinOneClient {
        private final LockClient closing = client(redis -> redis);
        private final Handover race = new Handover(closing, closing);
        private String story;

        @Actor
        public void holder() {
            race.hold();
            Aside.Task close = Aside.start(closing::close);
            try {
                race.unlock();
            } catch (LockLostException e) {
                // Ignored: the close came first.
            }
            close.join();
        }

        @Actor
        public void waiter() {
            story = race.await(GrantRacesClose::lock);
        }

        @Arbiter
        public void look(L_Result r) {
            r.r1 = race.isFree() ? story : Handover.ORPHANED;
        }
    }

    /** Nobody waits: the unlock itself meets the close. */
    @JCStressTest
    @JCStressMeta(GrantRacesClose.class)
    @State
    public static class TwinAlone {
        private final LockClient closing = client(redis -> redis);
        private final Handover race = new Handover(closing, closing);
        private String story;

        @Actor
        public void holder() {
            story = race.visit();
        }

        @Actor
        public void closer() {
            race.awaitHolder();
            closing.close();
        }

        @Arbiter
        public void look(L_Result r) {
            r.r1 = race.isFree() ? story : Handover.ORPHANED;
        }
    }

    @JCStressTest
    @JCStressMeta(GrantRacesClose.class)
    @State
    public static class TwinBroken {
        private final LockClient closing = client(redis -> Tampered.without(redis, "leave", "DONE"));
        private final Handover race = new Handover(OnTwin.Hand.HERE, closing);
        private String story;

        @Actor
        public void holder() {
            race.hold();
            closing.close();
            race.dawdle();
            race.unlock();
        }

        @Actor
        public void waiter() {
            story = race.await(GrantRacesClose::lock);
        }

        @Arbiter
        public void look(L_Result r) {
            r.r1 = race.isFree() ? story : Handover.ORPHANED;
        }
    }
}
