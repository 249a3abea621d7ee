package io.github.redislocks;

import io.github.redislocks.state.Hold;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressMeta;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.L_Result;

/**
 * Claim: if two threads release one handle at once, exactly one of them releases it, and both return normally. The
 * waiters get the lock one after the other, and none loses it.
 *
 * <pre>
 *   jcstress-tests/run ReleaseRacesRelease
 *
 *   twice          FORBIDDEN   both say that they released it
 *   never          FORBIDDEN   neither does
 *   thrown         FORBIDDEN   one of them did not return normally
 *   robbed         FORBIDDEN   the next had the lock, and the second release took it away
 *   nobody's       FORBIDDEN   a waiter did not get the lock, or something of it is left
 *   once           acceptable
 * </pre>
 *
 * The broken twin checks whether the handle was released, and marks it in a second step.
 */
@Outcome(id = ReleaseRacesRelease.TWICE, expect = Expect.FORBIDDEN, desc = "Both say that they released it.")
@Outcome(id = ReleaseRacesRelease.NEVER, expect = Expect.FORBIDDEN, desc = "Neither does.")
@Outcome(id = ReleaseRacesRelease.THROWN, expect = Expect.FORBIDDEN, desc = "One did not return normally.")
@Outcome(id = ReleaseRacesRelease.ROBBED, expect = Expect.FORBIDDEN, desc = "The next lost the lock.")
@Outcome(id = HandleLine.ORPHANED, expect = Expect.FORBIDDEN, desc = "A waiter did not get the lock.")
@Outcome(id = ReleaseRacesRelease.ONCE, expect = Expect.ACCEPTABLE, desc = "Exactly one released it.")
public class ReleaseRacesRelease {

    static final String TWICE = "twice";
    static final String NEVER = "never";
    static final String THROWN = "thrown";
    static final String ROBBED = "robbed";
    static final String ONCE = "once";

    private static String words(boolean one, boolean other) {
        if (one) {
            return other ? TWICE : ONCE;
        }
        return other ? ONCE : NEVER;
    }

    private static String story(HandleLine line, String words) {
        for (CompletableFuture<LockHandle> waiter : List.of(line.first, line.second)) {
            LockHandle next = HandleLine.await(waiter, OnTwin.Slow.LIMIT);
            if (next == null) {
                return HandleLine.ORPHANED;
            }
            boolean alone = line.isWith(next) && (waiter == line.second || !line.second.isDone());
            if (!alone || !next.release()) {
                return ROBBED;
            }
        }
        return line.isFree(OnTwin.Slow.LIMIT) ? words : HandleLine.ORPHANED;
    }

    @JCStressTest
    @JCStressMeta(ReleaseRacesRelease.class)
    @State
    public static class Twin {
        private final HandleLine line = new HandleLine(OnTwin.Slow.HERE, OnTwin.Slow.THERE);
        private boolean one;
        private boolean other;

        @Actor
        public void one() {
            one = line.held.release();
        }

        @Actor
        public void other() {
            other = line.held.release();
        }

        @Arbiter
        public void look(L_Result r) {
            r.r1 = story(line, words(one, other));
        }
    }

    /** The second thread does not wait. */
    @JCStressTest
    @JCStressMeta(ReleaseRacesRelease.class)
    @State
    public static class TwinAsync {
        private final HandleLine line = new HandleLine(OnTwin.Slow.HERE, OnTwin.Slow.HERE);
        private final CompletableFuture<Boolean> other = new CompletableFuture<>();
        private boolean one;

        @Actor
        public void one() {
            one = line.held.release();
        }

        @Actor
        public void other() {
            line.held.releaseAsync().thenAccept(other::complete);
        }

        @Arbiter
        public void look(L_Result r) {
            boolean told = Aside.await(OnTwin.Slow.LIMIT.toNanos(), other::isDone);
            r.r1 = told ? story(line, words(one, other.join())) : THROWN;
        }
    }

    @JCStressTest
    @JCStressMeta(ReleaseRacesRelease.class)
    @State
    public static class TwinBroken {
        private final Gap gap = new Gap();
        private final HandleLine line = new HandleLine(OnTwin.Slow.HERE, OnTwin.Slow.THERE);
        private final Hold hold = HandleLine.hold(OnTwin.Slow.HERE, line.held);
        private volatile boolean ended;
        private volatile boolean thrown;
        private boolean one;
        private boolean other;

        private boolean release() {
            if (ended) {
                return false;
            }
            gap.pass();
            ended = true;
            try {
                line.held.sync().releaseHandle(hold, 0);
            } catch (IllegalMonitorStateException e) {
                thrown = true;
            }
            return true;
        }

        @Actor
        public void one() {
            one = release();
        }

        @Actor
        public void other() {
            other = release();
        }

        @Arbiter
        public void look(L_Result r) {
            String story = story(line, words(one, other));
            r.r1 = thrown ? THROWN : story;
        }
    }
}
