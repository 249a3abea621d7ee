package io.github.redislocks;

import io.github.redislocks.client.Inside;
import io.github.redislocks.client.LockClient;
import io.github.redislocks.engine.Sync;
import io.github.redislocks.lease.Renewals;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Timing;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressMeta;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.L_Result;

/**
 * Claim: if the deadline of a hold passes while the owner re-enters, the hold is either re-entered and goes on, or
 * lost. After a loss the owner gets a new hold, and the unlocks of the lost hold report the loss.
 *
 * <pre>
 *   java -jar target/jcstress.jar -t 'ExpiryRacesReentry'
 *
 *   re-entered and lost    FORBIDDEN   the listener heard of a loss, the owner goes on
 *   neither                FORBIDDEN   refused for a loss that nobody declared
 *   wrong unlocks          FORBIDDEN   the unlocks do not say what happened
 *   re-entered             acceptable  the re-entry came first
 *   lost                   acceptable  the deadline came first
 * </pre>
 *
 * {@code Core*} tests {@code Hold} alone; in {@code Twin} the second actor moves the clock to the deadline and does the
 * watchdog's inspection. The broken twin reads and writes in two steps.
 */
@Outcome(
        id = ExpiryRacesReentry.BOTH,
        expect = Expect.FORBIDDEN,
        desc = "The listener heard of a loss, the owner goes on.")
@Outcome(id = ExpiryRacesReentry.NEITHER, expect = Expect.FORBIDDEN, desc = "Refused for a loss that nobody declared.")
@Outcome(id = ExpiryRacesReentry.REENTERED, expect = Expect.ACCEPTABLE, desc = "The re-entry came first.")
@Outcome(id = ExpiryRacesReentry.LOST, expect = Expect.ACCEPTABLE, desc = "The deadline came first.")
public class ExpiryRacesReentry {

    static final String BOTH = "re-entered and lost";
    static final String NEITHER = "neither";
    private static final String WRONG = "wrong unlocks";
    static final String REENTERED = "re-entered";
    static final String LOST = "lost";

    private static String words(boolean reentered, boolean lost) {
        if (reentered) {
            return lost ? BOTH : REENTERED;
        }
        return lost ? LOST : NEITHER;
    }

    @JCStressTest
    @JCStressMeta(ExpiryRacesReentry.class)
    @State
    public static class Core {
        private final Hold hold = LossRacesUnlock.hold(100);
        private boolean reentered;
        private boolean lost;

        @Actor
        public void owner() {
            reentered = hold.extend(99, 200);
        }

        @Actor
        public void watchdog() {
            lost = hold.loseIfPast(100);
        }

        @Arbiter
        public void look(L_Result r) {
            r.r1 = words(reentered, lost);
        }
    }

    @JCStressTest
    @JCStressMeta(ExpiryRacesReentry.class)
    @State
    public static class CoreBroken {
        private final Gap gap = new Gap();
        private volatile long state = 100;

        private boolean change(long ifAtLeast, long ifAtMost, long to) {
            long old = state;
            if (old < ifAtLeast || old > ifAtMost) {
                return false;
            }
            gap.pass();
            state = to;
            return true;
        }

        private boolean reentered;
        private boolean lost;

        @Actor
        public void owner() {
            reentered = change(100, Long.MAX_VALUE, 200);
        }

        @Actor
        public void watchdog() {
            lost = change(1, 100, -10);
        }

        @Arbiter
        public void look(L_Result r) {
            r.r1 = words(reentered, lost);
        }
    }

    @JCStressTest
    @Outcome(id = BOTH, expect = Expect.FORBIDDEN, desc = "The listener heard of a loss, the owner goes on.")
    @Outcome(id = NEITHER, expect = Expect.FORBIDDEN, desc = "Refused for a loss that nobody declared.")
    @Outcome(id = WRONG, expect = Expect.FORBIDDEN, desc = "The unlocks do not say what happened.")
    @Outcome(id = REENTERED, expect = Expect.ACCEPTABLE, desc = "The re-entry came first.")
    @Outcome(id = LOST, expect = Expect.ACCEPTABLE, desc = "The deadline came first.")
    @State
    public static class Twin {
        private final String name = OnTwin.name();
        private final HandClock clock = new HandClock();
        private final LockClient client = OnTwin.Still.client(clock);
        private final Inside inside = Inside.of(client);
        private final Sync sync = client.lock(name, false);
        private volatile Hold first;
        private boolean reentered;
        private int unlocked;
        private int thrown;

        @Actor
        public void owner() {
            sync.lock();
            Hold held = sync.hold();
            // Advance the clock: otherwise a re-entry would have the same deadline as the first lock.
            clock.advanceTo(1_000_000);
            first = held;
            sync.lock();
            reentered = inside.holds().get(sync.keys(), Thread.currentThread()) == held;
            unlock();
            unlock();
        }

        private void unlock() {
            try {
                sync.unlock();
                unlocked++;
            } catch (LockLostException e) {
                thrown++;
            }
        }

        @Actor
        public void watchdog() {
            while (first == null) {
                Thread.onSpinWait();
            }
            clock.advanceTo(1 + Timing.validityNanos(30_000));
            inside.renewals(Renewals.LOSSES).inspect(clock.nanoTime(), clock.nanoTime(), (key, job) -> {});
        }

        @Arbiter
        public void look(L_Result r) {
            boolean right = unlocked == (reentered ? 2 : 1) && thrown == (reentered ? 0 : 1);
            boolean empty =
                    inside.holds().all().isEmpty() && inside.localQueue().size() == 0;
            r.r1 = right && empty ? words(reentered, first.lossReason() != null) : WRONG;
            OnTwin.Still.forget(name);
        }
    }
}
