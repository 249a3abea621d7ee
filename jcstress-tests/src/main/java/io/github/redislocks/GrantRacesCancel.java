package io.github.redislocks;

import java.time.Duration;
import java.util.concurrent.CancellationException;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressMeta;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.L_Result;

/**
 * Claim: if a future of {@code acquireAsync} is cancelled while the lock is handed to it, the future either delivers a
 * handle that has the lock, or leaves nothing in Redis. In both cases the next in line then gets the lock, without a
 * heartbeat.
 *
 * <pre>
 *   jcstress-tests/run GrantRacesCancel
 *
 *   nobody's             FORBIDDEN   the next does not get the lock, or something of it is left
 *   had it, and lost it  FORBIDDEN   the handle that was delivered does not have the lock
 *   had it               acceptable  the grant came first
 *   left                 acceptable  the cancel came first
 * </pre>
 *
 * In {@code TwinBroken} an acquisition that gives up does not tell Redis.
 */
@Outcome(id = HandleLine.ORPHANED, expect = Expect.FORBIDDEN, desc = "The next does not get the lock.")
@Outcome(id = Handover.LOST, expect = Expect.FORBIDDEN, desc = "The handle does not have the lock.")
@Outcome(id = Handover.HAD, expect = Expect.ACCEPTABLE, desc = "The grant came first.")
@Outcome(id = Handover.LEFT, expect = Expect.ACCEPTABLE, desc = "The cancel came first.")
public class GrantRacesCancel {

    private static String story(HandleLine line, Duration limit) {
        String story = Handover.LEFT;
        try {
            boolean had = line.isWith(line.first.join());
            story = line.first.join().release() && had ? Handover.HAD : Handover.LOST;
        } catch (CancellationException e) {
            // Ignored: the acquisition was cancelled.
        }
        LockHandle next = HandleLine.await(line.second, limit);
        boolean passedOn = next != null && next.release();
        return line.isFree(limit) && passedOn ? story : HandleLine.ORPHANED;
    }

    @JCStressTest
    @JCStressMeta(GrantRacesCancel.class)
    @State
    public static class TwinTwoClients {
        private final HandleLine line = new HandleLine(OnTwin.Slow.HERE, OnTwin.Slow.THERE);

        @Actor
        public void holder() {
            line.held.release();
        }

        @Actor
        public void canceller() {
            HandleLine.aMoment();
            line.first.cancel(false);
        }

        @Arbiter
        public void look(L_Result r) {
            r.r1 = story(line, OnTwin.Slow.LIMIT);
        }
    }

    @JCStressTest
    @JCStressMeta(GrantRacesCancel.class)
    @State
    public static class TwinOneClient {
        private final HandleLine line = new HandleLine(OnTwin.Slow.HERE, OnTwin.Slow.HERE);

        @Actor
        public void holder() {
            line.held.release();
        }

        @Actor
        public void canceller() {
            HandleLine.aMoment();
            line.first.cancel(false);
        }

        @Arbiter
        public void look(L_Result r) {
            r.r1 = story(line, OnTwin.Slow.LIMIT);
        }
    }

    @JCStressTest
    @JCStressMeta(GrantRacesCancel.class)
    @State
    public static class TwinBroken {
        /** The time until the test gives up, since the expected result never comes. */
        private static final Duration A_WHILE = Duration.ofMillis(100);

        private static final RedisLocks SILENT = OnTwin.Slow.client(redis -> Tampered.without(redis, "leave", "DONE"));
        private final HandleLine line = new HandleLine(OnTwin.Slow.HERE, SILENT);

        @Actor
        public void holder() {
            Aside.await(A_WHILE.toNanos(), line.first::isDone);
            line.held.release();
        }

        @Actor
        public void canceller() {
            line.first.cancel(false);
        }

        @Arbiter
        public void look(L_Result r) {
            r.r1 = story(line, A_WHILE);
        }
    }
}
