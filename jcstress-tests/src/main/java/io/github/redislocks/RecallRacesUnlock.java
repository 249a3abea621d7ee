package io.github.redislocks;

import io.github.redislocks.client.Inside;
import io.github.redislocks.client.LockClient;
import io.github.redislocks.engine.Sync;
import io.github.redislocks.residency.Residence;
import io.github.redislocks.residency.Residences;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Settings;
import java.time.Duration;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressMeta;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.L_Result;

/**
 * Claim: if a lease is recalled while a thread of its client locks and unlocks, the lease is given up, by that thread
 * or by the thread that got the recall. No other thread gives it up here: no watchdog runs, and no heartbeat recalls
 * the lease again.
 *
 * <pre>
 *   java -jar target/jcstress.jar -t 'RecallRacesUnlock'
 *
 *   kept       FORBIDDEN   each of the two left it to the other
 *   given up   acceptable
 * </pre>
 *
 * The broken twin does not check for a recall after the end of its turn.
 */
@Outcome(id = "kept", expect = Expect.FORBIDDEN, desc = "Each of the two left it to the other.")
@Outcome(id = "given up", expect = Expect.ACCEPTABLE, desc = "One of the two did it.")
public class RecallRacesUnlock {

    private static final Settings KEEPING = Settings.DEFAULTS.withResidency(Duration.ofHours(1));

    /** A client that keeps locks, since its mailbox is open. */
    private static final class Keeper {
        static final HandClock CLOCK = new HandClock();
        static final LockClient CLIENT = OnTwin.Still.client("keeper", CLOCK, redis -> redis);

        static final Residences RESIDENCES = Inside.of(CLIENT).residences();

        static {
            CLIENT.mailbox.open(20_000_000_000L);
        }
    }

    @JCStressTest
    @JCStressMeta(RecallRacesUnlock.class)
    @State
    public static class Twin {
        private final String name = OnTwin.name();
        private final Sync sync = Keeper.CLIENT.lock(name, false, KEEPING);
        private final Residence residence = Keeper.RESIDENCES.of(OnTwin.keys(name), 1_000_000_000);
        private final Hold lease;

        public Twin() {
            sync.lock();
            sync.unlock();
            lease = residence.lease();
            // Advance the clock: in the first millisecond of a lease, time alone provides tokens.
            Keeper.CLOCK.advance(10_000);
        }

        @Actor
        public void thread() {
            sync.lock();
            sync.unlock();
        }

        @Actor
        public void mailbox() {
            Keeper.RESIDENCES.byWaiter(OnTwin.key(name), lease.attempt);
        }

        @Arbiter
        public void look(L_Result r) {
            Hold now = residence.lease();
            // The residence has the lease until its release has ended.
            r.r1 = lease != null && lease == now && lease.isOpen() ? "kept" : "given up";
            if (now != null) {
                Keeper.RESIDENCES.byWaiter(OnTwin.key(name), now.attempt);
            }
            OnTwin.Still.forget(name);
        }
    }

    @JCStressTest
    @JCStressMeta(RecallRacesUnlock.class)
    @State
    public static class CoreBroken {
        private final Gap gap = new Gap();
        private volatile boolean recalled;
        private volatile boolean turn = true;
        private boolean byThread;
        private boolean byMailbox;

        @Actor
        public void thread() {
            byThread = recalled;
            gap.pass();
            turn = false;
        }

        @Actor
        public void mailbox() {
            recalled = true;
            byMailbox = !turn;
        }

        @Arbiter
        public void look(L_Result r) {
            r.r1 = byThread || byMailbox ? "given up" : "kept";
        }
    }
}
