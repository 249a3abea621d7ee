package io.github.redislocks;

import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.events.EventNotifier;
import io.github.redislocks.lease.Losses;
import io.github.redislocks.residency.Residence;
import io.github.redislocks.residency.ThreadHold;
import io.github.redislocks.residency.ThreadLosses;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Holds;
import io.github.redislocks.state.Owner;
import io.github.redislocks.state.WaitLimit;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressMeta;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.L_Result;

/**
 * Claim: if the lease of a residence is lost while a thread acquires or releases the lock under it, then the thread
 * does not have the lock, or the loss is reported to it. In both cases the turn is free again.
 *
 * <pre>
 *   java -jar target/jcstress.jar -t 'LossRacesThreadHold'
 *
 *   unseen        FORBIDDEN   a thread has the lock under a lease that was lost, and nobody is told
 *   stuck         FORBIDDEN   no thread can get the turn any more
 *   two ends      FORBIDDEN   the thread has released the lock, and gets a loss reported
 *   ended for it  FORBIDDEN   the thread gets no lock, but its turn ends, or a loss is reported
 *   lost          acceptable  the thread is told
 *   released      acceptable  the thread was faster
 *   not taken     acceptable  the loss was faster
 * </pre>
 *
 * The broken twin does not check the lease again after the thread is visible as the holder.
 */
@Outcome(id = "unseen", expect = Expect.FORBIDDEN, desc = "A lost lease under a thread that has the lock.")
@Outcome(id = "stuck", expect = Expect.FORBIDDEN, desc = "The turn is never free again.")
@Outcome(id = "two ends", expect = Expect.FORBIDDEN, desc = "Released and lost.")
@Outcome(id = "ended for it", expect = Expect.FORBIDDEN, desc = "A thread that gets nothing has lost something.")
@Outcome(id = "lost", expect = Expect.ACCEPTABLE, desc = "The thread is told.")
@Outcome(id = "released", expect = Expect.ACCEPTABLE, desc = "The thread was faster.")
@Outcome(id = "not taken", expect = Expect.ACCEPTABLE, desc = "The loss was faster.")
public class LossRacesThreadHold {

    private static final EventNotifier EVENTS = new EventNotifier(List.of());
    static final HandClock CLOCK = new HandClock();

    /** A residence with a lease, and a thread that may hold the lock under it. */
    static class Kept {
        final Owner owner = new Owner("client:7");
        final Losses losses = new Losses(CLOCK, (keys, attempt) -> {}, EVENTS, () -> {});
        final ThreadLosses threadLosses = new ThreadLosses(losses);
        final Residence residence =
                new Residence(Clock.SYSTEM, "client:r1", OnTwin.keys("n"), threadLosses, new Holds());
        final Hold lease = lease(residence);

        @Nullable
        ThreadHold local;

        boolean released;
        private boolean endedForIt;

        Kept() {
            residence.begin(lease);
        }

        private static Hold lease(Residence residence) {
            Attempt attempt = new Attempt(
                    7, residence.keys, residence, new Attempt.Request(30_000, true, false), WaitLimit.endless());
            long deadline = CLOCK.nanoTime() + 1_000_000_000;
            return new Hold(attempt, new Attempt.Grant(5, false, deadline, 0, true), 0, Long.MAX_VALUE, null);
        }

        void take() {
            if (residence.turn.tryTake()) {
                local = residence.take(lease, owner, CLOCK.nanoTime());
                if (local == null) {
                    endedForIt = residence.turn.isFree();
                    residence.turn.end();
                } else {
                    threadLosses.begun(local);
                }
            }
        }

        void release() {
            if (local != null && local.beginRelease(CLOCK.nanoTime()) != 0) {
                released = true;
                residence.passOn(local, 1);
            }
        }

        void lose() {
            losses.lose(lease, LockLost.Reason.TAKEN);
        }

        String end() {
            if (!residence.turn.tryTakeFirst()) {
                return "stuck";
            }
            if (local == null) {
                return endedForIt || losses.lastLostAttempt() != 0 ? "ended for it" : "not taken";
            }
            if (local.isLost()) {
                return released ? "two ends" : "lost";
            }
            return released ? "released" : "unseen";
        }
    }

    @JCStressTest
    @JCStressMeta(LossRacesThreadHold.class)
    @State
    public static class Core {
        private final Kept kept = new Kept();

        @Actor
        public void thread() {
            kept.take();
        }

        @Actor
        public void watchdog() {
            kept.lose();
        }

        @Arbiter
        public void look(L_Result r) {
            r.r1 = kept.end();
        }
    }

    @JCStressTest
    @JCStressMeta(LossRacesThreadHold.class)
    @State
    public static class CoreReleases {
        private final Kept kept = new Kept();

        @Actor
        public void thread() {
            kept.take();
            kept.release();
        }

        @Actor
        public void watchdog() {
            kept.lose();
        }

        @Arbiter
        public void look(L_Result r) {
            r.r1 = kept.end();
        }
    }

    @JCStressTest
    @JCStressMeta(LossRacesThreadHold.class)
    @State
    public static class CoreBroken {
        private final Gap gap = new Gap();
        private volatile boolean open = true;
        private volatile boolean holds;
        private boolean took;
        private boolean told;

        @Actor
        public void thread() {
            if (open) {
                gap.pass();
                holds = true;
                took = true;
            }
        }

        @Actor
        public void watchdog() {
            open = false;
            told = holds;
        }

        @Arbiter
        public void look(L_Result r) {
            r.r1 = !took ? "not taken" : told ? "lost" : "unseen";
        }
    }
}
