package io.github.redislocks;

import io.github.redislocks.client.LockClient;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.Owner;
import io.github.redislocks.state.WaitLimit;
import io.github.redislocks.waiting.LocalQueue;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressMeta;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.L_Result;

/**
 * Claim: if the time of a waiter ends while the lock is handed to it, the waiter either gets the lock, or leaves; then
 * the lock is free for the next waiter at once.
 *
 * <pre>
 *   jcstress-tests/run GrantRacesTimeout
 *
 *   nobody's         FORBIDDEN   both have gone, and the lock or a place in its line is not free
 *   both             FORBIDDEN   it was granted, and has left
 *   had it           acceptable  the grant came first
 *   left             acceptable  the timeout came first
 * </pre>
 *
 * {@code CoreVerdict} tests the verdict of {@code Attempt} alone, {@code CoreGate} tests {@code LocalQueue}. The broken
 * ones read and write in two steps. In {@code TwinBroken} a waiter that gives up does not tell Redis.
 */
@Outcome(id = Handover.ORPHANED, expect = Expect.FORBIDDEN, desc = "Both have gone, and the lock is not free.")
@Outcome(id = Handover.HAD, expect = Expect.ACCEPTABLE, desc = "The grant came first.")
@Outcome(id = Handover.LEFT, expect = Expect.ACCEPTABLE, desc = "The timeout came first.")
public class GrantRacesTimeout {

    private static final String BOTH = "both";
    private static final long PATIENCE_NANOS = 1_000_000;

    private static Attempt attempt(long number) {
        return new Attempt(
                number,
                OnTwin.keys("n"),
                new Owner("owner"),
                new Attempt.Request(30_000, true, false),
                WaitLimit.endless());
    }

    private static String words(boolean granted, boolean left) {
        if (granted) {
            return left ? BOTH : Handover.HAD;
        }
        return left ? Handover.LEFT : Handover.ORPHANED;
    }

    @JCStressTest
    @Outcome(id = Handover.ORPHANED, expect = Expect.FORBIDDEN, desc = "Refused twice.")
    @Outcome(id = BOTH, expect = Expect.FORBIDDEN, desc = "It was granted, and has left.")
    @Outcome(id = Handover.HAD, expect = Expect.ACCEPTABLE, desc = "The grant came first.")
    @Outcome(id = Handover.LEFT, expect = Expect.ACCEPTABLE, desc = "The timeout came first.")
    @State
    public static class CoreVerdict {
        private final Attempt attempt = attempt(1);
        private boolean granted;
        private boolean left;

        @Actor
        public void mailbox() {
            granted = attempt.decide(new Attempt.Grant(5, false, 0, 0, false));
        }

        @Actor
        public void waiter() {
            left = attempt.leave(null);
        }

        @Arbiter
        public void look(L_Result r) {
            r.r1 = words(granted, left);
        }
    }

    @JCStressTest
    @Outcome(id = BOTH, expect = Expect.FORBIDDEN, desc = "To be caught: looking and writing are two steps.")
    @Outcome(id = Handover.HAD, expect = Expect.ACCEPTABLE, desc = "The grant came first.")
    @Outcome(id = Handover.LEFT, expect = Expect.ACCEPTABLE, desc = "The timeout came first.")
    @State
    public static class CoreVerdictBroken {
        private final Gap gap = new Gap();
        private volatile Attempt.Verdict verdict;
        private boolean granted;
        private boolean left;

        private boolean decide(Attempt.Verdict news) {
            if (verdict != null) {
                return false;
            }
            gap.pass();
            verdict = news;
            return true;
        }

        @Actor
        public void mailbox() {
            granted = decide(new Attempt.Grant(5, false, 0, 0, false));
        }

        @Actor
        public void waiter() {
            left = decide(Attempt.Left.LEFT);
        }

        @Arbiter
        public void look(L_Result r) {
            r.r1 = words(granted, left);
        }
    }

    /**
     * The contender hands its local turn on while the only waiter behind it leaves. Then the owner of the turn exits.
     */
    @JCStressTest
    @Outcome(id = Handover.ORPHANED, expect = Expect.FORBIDDEN, desc = "The turn is with somebody that has gone.")
    @Outcome(id = Handover.HAD, expect = Expect.ACCEPTABLE, desc = "It had the turn, and handed it on.")
    @Outcome(id = Handover.LEFT, expect = Expect.ACCEPTABLE, desc = "It left before it was its turn.")
    @State
    public static class CoreGate {
        private final LocalQueue localQueue = new LocalQueue();
        private final Attempt contender = attempt(1);
        private final Attempt waiter = attempt(2);
        private String story;

        public CoreGate() {
            localQueue.enter(contender);
            localQueue.enter(waiter);
        }

        @Actor
        public void contender() {
            localQueue.exit(contender.keys, contender.number);
        }

        @Actor
        public void waiter() {
            if (localQueue.leave(waiter) == LocalQueue.Left.CONTENDING) {
                localQueue.exit(waiter.keys, waiter.number);
                story = Handover.HAD;
            } else {
                story = Handover.LEFT;
            }
        }

        @Arbiter
        public void look(L_Result r) {
            r.r1 = localQueue.size() == 0 ? story : Handover.ORPHANED;
        }
    }

    /** A queue that looks its first waiter up in one step, and removes it or gives it the turn in another step. */
    @JCStressTest
    @Outcome(id = Handover.ORPHANED, expect = Expect.FORBIDDEN, desc = "To be caught: two steps.")
    @Outcome(id = Handover.HAD, expect = Expect.ACCEPTABLE, desc = "It had the turn, and handed it on.")
    @Outcome(id = Handover.LEFT, expect = Expect.ACCEPTABLE, desc = "It left before it was its turn.")
    @State
    public static class CoreGateBroken {
        private final Gap gap = new Gap();
        private volatile int turn = 1;
        private volatile int waiting = 2;
        private String story;

        @Actor
        public void contender() {
            int first = waiting;
            gap.pass();
            turn = first;
        }

        @Actor
        public void waiter() {
            if (turn == 2) {
                turn = 0;
                story = Handover.HAD;
            } else {
                waiting = 0;
                gap.pass();
                story = Handover.LEFT;
            }
        }

        @Arbiter
        public void look(L_Result r) {
            r.r1 = turn == 0 ? story : Handover.ORPHANED;
        }
    }

    @JCStressTest
    @JCStressMeta(GrantRacesTimeout.class)
    @State
    public static class TwinTwoClients {
        private final Handover race = new Handover(OnTwin.Hand.HERE, OnTwin.Hand.THERE);
        private String story;

        @Actor
        public void holder() {
            unlockInTime(race);
        }

        @Actor
        public void waiter() {
            story = race.await(sync -> sync.tryLock(PATIENCE_NANOS));
        }

        @Arbiter
        public void look(L_Result r) {
            r.r1 = race.isFree() ? story : Handover.ORPHANED;
        }
    }

    private static void unlockInTime(Handover race) {
        race.hold();
        OnTwin.Hand.CLOCK.advance(PATIENCE_NANOS);
        race.unlock();
    }

    @JCStressTest
    @JCStressMeta(GrantRacesTimeout.class)
    @State
    public static class TwinOneClient {
        private final Handover race = new Handover(OnTwin.Hand.HERE, OnTwin.Hand.HERE);
        private String story;

        @Actor
        public void holder() {
            unlockInTime(race);
        }

        @Actor
        public void waiter() {
            story = race.await(sync -> sync.tryLock(PATIENCE_NANOS));
        }

        @Arbiter
        public void look(L_Result r) {
            r.r1 = race.isFree() ? story : Handover.ORPHANED;
        }
    }

    @JCStressTest
    @JCStressMeta(GrantRacesTimeout.class)
    @State
    public static class TwinBroken {
        private static final LockClient SILENT =
                OnTwin.Still.client("silent", OnTwin.Hand.CLOCK, redis -> Tampered.without(redis, "leave", "DONE"));
        private final Handover race = new Handover(OnTwin.Hand.HERE, SILENT);
        private String story;

        @Actor
        public void holder() {
            race.hold();
            OnTwin.Hand.CLOCK.advance(PATIENCE_NANOS);
            race.dawdle();
            race.unlock();
        }

        @Actor
        public void waiter() {
            story = race.await(sync -> sync.tryLock(PATIENCE_NANOS));
        }

        @Arbiter
        public void look(L_Result r) {
            r.r1 = race.isFree() ? story : Handover.ORPHANED;
        }
    }
}
