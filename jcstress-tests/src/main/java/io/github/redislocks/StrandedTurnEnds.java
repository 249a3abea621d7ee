package io.github.redislocks;

import io.github.redislocks.residency.Residence;
import io.github.redislocks.residency.ThreadHold;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressMeta;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.L_Result;

/**
 * Claim: if an error ends a thread's hold under a residence while another thread declares that hold lost, the turn ends
 * once: a thread that takes the turn after the first end keeps it.
 *
 * <pre>
 *   java -jar target/jcstress.jar -t 'StrandedTurnEnds'
 *
 *   taken away    FORBIDDEN   a thread has the turn, and others can take it
 *   stuck         FORBIDDEN   nobody can have the turn any more
 *   kept          acceptable  a thread has the turn
 *   free          acceptable  it came too early
 * </pre>
 *
 * The broken twin checks whether there is a holder, and ends the turn in a second step.
 */
@Outcome(id = "taken away", expect = Expect.FORBIDDEN, desc = "The turn of the next thread is ended.")
@Outcome(id = "stuck", expect = Expect.FORBIDDEN, desc = "The turn is never free again.")
@Outcome(id = "kept", expect = Expect.ACCEPTABLE, desc = "The next thread has the turn.")
@Outcome(id = "free", expect = Expect.ACCEPTABLE, desc = "The next thread came too early.")
public class StrandedTurnEnds {

    private static String said(boolean took, boolean free) {
        if (took) {
            return free ? "taken away" : "kept";
        }
        return free ? "free" : "stuck";
    }

    @JCStressTest
    @JCStressMeta(StrandedTurnEnds.class)
    @State
    public static class Core {
        private final LossRacesThreadHold.Kept kept = new LossRacesThreadHold.Kept();
        private final Residence residence = kept.residence;
        private final ThreadHold local;
        private boolean took;

        public Core() {
            kept.take();
            local = Objects.requireNonNull(kept.local);
        }

        @Actor
        public void thread() {
            residence.lost(local);
            took = residence.turn.tryTake();
        }

        @Actor
        public void error() {
            residence.end(local);
        }

        @Arbiter
        public void look(L_Result r) {
            r.r1 = said(took, residence.turn.isFree());
        }
    }

    @JCStressTest
    @JCStressMeta(StrandedTurnEnds.class)
    @State
    public static class CoreBroken {
        private final Gap gap = new Gap();
        private final AtomicInteger turn = new AtomicInteger(1);
        private volatile boolean holds = true;
        private boolean took;

        @Actor
        public void thread() {
            end();
            took = turn.compareAndSet(0, 2);
        }

        @Actor
        public void watchdog() {
            end();
        }

        private void end() {
            if (holds) {
                gap.pass();
                holds = false;
                turn.set(0);
            }
        }

        @Arbiter
        public void look(L_Result r) {
            r.r1 = said(took, turn.get() == 0);
        }
    }
}
