package io.github.redislocks;

import io.github.redislocks.client.Inside;
import io.github.redislocks.client.LockClient;
import io.github.redislocks.engine.Sync;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Owner;
import io.github.redislocks.state.WaitLimit;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressMeta;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.L_Result;

/**
 * Claim: if a hold is declared lost while its owner unlocks, the hold ends once. Either the loss is reported and
 * {@code unlock()} throws, or {@code unlock()} returns and no loss is reported.
 *
 * <pre>
 *   java -jar target/jcstress.jar -t 'LossRacesUnlock'
 *
 *   lost and released    FORBIDDEN   the listener heard of a loss, the owner of none
 *   neither              FORBIDDEN   the owner was thrown at for a loss that nobody declared
 *   lost                 acceptable  the loss came first
 *   released             acceptable  the unlock came first
 * </pre>
 *
 * {@code Core*} tests {@code Hold} alone, {@code Twin*} a complete unlock. The broken twin reads the state and writes
 * it in two steps.
 */
@Outcome(
        id = LossRacesUnlock.BOTH,
        expect = Expect.FORBIDDEN,
        desc = "The listener heard of a loss, the owner of none.")
@Outcome(id = LossRacesUnlock.NEITHER, expect = Expect.FORBIDDEN, desc = "A loss that nobody declared.")
@Outcome(id = LossRacesUnlock.LOST, expect = Expect.ACCEPTABLE, desc = "The loss came first.")
@Outcome(id = LossRacesUnlock.RELEASED, expect = Expect.ACCEPTABLE, desc = "The unlock came first.")
public class LossRacesUnlock {

    static final String BOTH = "lost and released";
    static final String NEITHER = "neither";
    static final String LOST = "lost";
    static final String RELEASED = "released";

    static String words(boolean lost, boolean released) {
        if (lost) {
            return released ? BOTH : LOST;
        }
        return released ? RELEASED : NEITHER;
    }

    /** Makes an open hold of the calling thread, which is in no map. */
    static Hold hold(long deadlineNanos) {
        Attempt attempt = new Attempt(
                7, OnTwin.keys("n"), new Owner("owner"), new Attempt.Request(30_000, true, false), WaitLimit.endless());
        return new Hold(attempt, new Attempt.Grant(5, false, deadlineNanos, 0, true), 0, Long.MAX_VALUE, null);
    }

    @JCStressTest
    @JCStressMeta(LossRacesUnlock.class)
    @State
    public static class Core {
        private final Hold hold = hold(100);
        private boolean lost;
        private boolean released;

        @Actor
        public void owner() {
            if (hold.beginRelease(50) != 0) {
                released = true;
            }
        }

        @Actor
        public void watchdog() {
            lost = hold.lose(LockLost.Reason.TAKEN);
        }

        @Arbiter
        public void look(L_Result r) {
            boolean agrees = lost == (hold.lossReason() != null) && !hold.isOpen() && released == hold.isReleasing();
            r.r1 = agrees ? words(lost, released) : "the state tells another story";
        }
    }

    @JCStressTest
    @JCStressMeta(LossRacesUnlock.class)
    @State
    public static class CoreBroken {
        private final Gap gap = new Gap();
        private volatile long state = 100;
        private boolean lost;
        private boolean released;

        private boolean end(long ended) {
            if (state <= 0) {
                return false;
            }
            gap.pass();
            state = ended;
            return true;
        }

        @Actor
        public void owner() {
            released = end(-1);
        }

        @Actor
        public void watchdog() {
            lost = end(-11);
        }

        @Arbiter
        public void look(L_Result r) {
            r.r1 = words(lost, released);
        }
    }

    @JCStressTest
    @JCStressMeta(LossRacesUnlock.class)
    @State
    public static class Twin {
        private final String name = OnTwin.name();
        private final LockClient client = OnTwin.Still.client(new HandClock());
        private final Inside inside = Inside.of(client);
        private final Sync sync = client.lock(name, false);
        private volatile boolean held;
        private boolean lost;
        private boolean released;

        @Actor
        public void owner() {
            sync.lock();
            held = true;
            try {
                sync.unlock();
                released = true;
            } catch (LockLostException e) {
                released = false;
            }
        }

        @Actor
        public void watchdog() {
            while (!held) {
                Thread.onSpinWait();
            }
            for (Hold hold : inside.holds().all()) {
                lost |= inside.losses().lose(hold, LockLost.Reason.TAKEN);
            }
        }

        @Arbiter
        public void look(L_Result r) {
            boolean clean =
                    inside.holds().all().isEmpty() && inside.localQueue().size() == 0;
            r.r1 = clean ? words(lost, released) : "something stays behind in the client";
            OnTwin.Still.forget(name);
        }
    }
}
