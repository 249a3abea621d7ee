package io.github.redislocks.shared;

import io.github.redislocks.LockLost;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressMeta;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.L_Result;

/**
 * Claim: if a share is lost while a thread enters or leaves, then the thread never was inside, or has left, or has lost
 * the lock; never two of these.
 *
 * <pre>
 *   java -jar target/jcstress.jar -t 'LossRacesRead'
 *
 *   lost and left   FORBIDDEN   the listener hears of a loss, and unlock() returns
 *   unseen          FORBIDDEN   a thread reads under a share that was lost, and nobody is told
 *   lost for it     FORBIDDEN   the thread did not get in, and has a loss
 *   lost            acceptable  the loss was faster than the unlock
 *   left            acceptable  the unlock was faster
 *   not in          acceptable  the loss was faster than the entry
 * </pre>
 *
 * The broken twin of {@code LossRacesUnlock} has the same shape.
 */
@Outcome(id = "lost and left", expect = Expect.FORBIDDEN, desc = "Two ends.")
@Outcome(id = "unseen", expect = Expect.FORBIDDEN, desc = "No end.")
@Outcome(id = "lost for it", expect = Expect.FORBIDDEN, desc = "A thread that got nothing has lost something.")
@Outcome(id = "lost", expect = Expect.ACCEPTABLE, desc = "The loss came first.")
@Outcome(id = "left", expect = Expect.ACCEPTABLE, desc = "The unlock came first.")
@Outcome(id = "not in", expect = Expect.ACCEPTABLE, desc = "The loss came before the entry.")
public class LossRacesRead {

    /** A share and one reader. */
    static class Reader {
        private final EntryRacesEnd.Reads reads = new EntryRacesEnd.Reads();
        private boolean entered;
        private boolean left;

        void enter() {
            entered = reads.sharer.enter(reads.one, EntryRacesEnd.NOW) != null;
        }

        void leave() {
            left = reads.one.leave(reads.share);
        }

        void lose() {
            reads.share.hold.lose(LockLost.Reason.TAKEN);
            reads.sharer.lost(reads.share.hold, LockLost.Reason.TAKEN);
        }

        String end() {
            boolean lost = reads.one.loss() != null;
            if (!entered) {
                return lost ? "lost for it" : "not in";
            } else if (left) {
                return lost ? "lost and left" : "left";
            }
            return lost ? "lost" : "unseen";
        }
    }

    @JCStressTest
    @JCStressMeta(LossRacesRead.class)
    @State
    public static class CoreEnters {
        private final Reader reader = new Reader();

        @Actor
        public void reader() {
            reader.enter();
        }

        @Actor
        public void watchdog() {
            reader.lose();
        }

        @Arbiter
        public void look(L_Result r) {
            r.r1 = reader.end();
        }
    }

    @JCStressTest
    @JCStressMeta(LossRacesRead.class)
    @State
    public static class CoreLeaves {
        private final Reader reader = new Reader();

        public CoreLeaves() {
            reader.enter();
        }

        @Actor
        public void reader() {
            reader.leave();
        }

        @Actor
        public void watchdog() {
            reader.lose();
        }

        @Arbiter
        public void look(L_Result r) {
            r.r1 = reader.end();
        }
    }
}
