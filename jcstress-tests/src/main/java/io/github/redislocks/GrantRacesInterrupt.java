package io.github.redislocks;

import io.github.redislocks.client.LockClient;
import io.github.redislocks.engine.Sync;
import java.util.concurrent.ThreadLocalRandom;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressMeta;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.L_Result;

/**
 * Claim: if a waiter in {@code lockInterruptibly()} is interrupted while the lock is handed to it, the waiter either
 * gets the lock and keeps the interrupt, or throws {@code InterruptedException}; then the lock is free for the next
 * waiter at once. A waiter in {@code lock()} always gets the lock, and keeps the interrupt.
 *
 * <pre>
 *   jcstress-tests/run GrantRacesInterrupt
 *
 *   nobody's         FORBIDDEN   both have gone, and the lock or a place in its line is not free
 *   swallowed        FORBIDDEN   it has neither the interrupt nor an exception, or it has both
 *   had it           acceptable  the grant came first
 *   left             acceptable  the interrupt came first
 * </pre>
 *
 * In {@code TwinBroken} a waiter that gives up does not tell Redis.
 */
@Outcome(id = Handover.ORPHANED, expect = Expect.FORBIDDEN, desc = "Both have gone, and the lock is not free.")
@Outcome(
        id = GrantRacesInterrupt.SWALLOWED,
        expect = Expect.FORBIDDEN,
        desc = "Neither the interrupt nor an exception, or both.")
@Outcome(id = Handover.HAD, expect = Expect.ACCEPTABLE, desc = "The grant came first.")
@Outcome(id = Handover.LEFT, expect = Expect.ACCEPTABLE, desc = "The interrupt came first.")
public class GrantRacesInterrupt {

    static final String SWALLOWED = "swallowed";

    private static void unlockAndInterrupt(Handover race) {
        race.hold();
        if (ThreadLocalRandom.current().nextBoolean()) {
            race.interrupt();
            race.unlock();
        } else {
            race.unlock();
            race.interrupt();
        }
    }

    private static String await(Handover race, Handover.Way way) {
        String story = race.await(way);
        boolean kept = race.takeInterrupt();
        return kept == story.equals(Handover.HAD) ? story : SWALLOWED;
    }

    private static boolean interruptibly(Sync sync) throws InterruptedException {
        sync.lockInterruptibly();
        return true;
    }

    @JCStressTest
    @JCStressMeta(GrantRacesInterrupt.class)
    @State
    public static class TwinTwoClients {
        private final Handover race = new Handover(OnTwin.Hand.HERE, OnTwin.Hand.THERE);
        private String story;

        @Actor
        public void holder() {
            unlockAndInterrupt(race);
        }

        @Actor
        public void waiter() {
            story = await(race, GrantRacesInterrupt::interruptibly);
        }

        @Arbiter
        public void look(L_Result r) {
            r.r1 = race.isFree() ? story : Handover.ORPHANED;
        }
    }

    @JCStressTest
    @JCStressMeta(GrantRacesInterrupt.class)
    @State
    public static class TwinOneClient {
        private final Handover race = new Handover(OnTwin.Hand.HERE, OnTwin.Hand.HERE);
        private String story;

        @Actor
        public void holder() {
            unlockAndInterrupt(race);
        }

        @Actor
        public void waiter() {
            story = await(race, GrantRacesInterrupt::interruptibly);
        }

        @Arbiter
        public void look(L_Result r) {
            r.r1 = race.isFree() ? story : Handover.ORPHANED;
        }
    }

    @JCStressTest
    @Outcome(id = Handover.ORPHANED, expect = Expect.FORBIDDEN, desc = "Both have gone, and the lock is not free.")
    @Outcome(id = Handover.LEFT, expect = Expect.FORBIDDEN, desc = "lock() does not end by an interrupt.")
    @Outcome(id = SWALLOWED, expect = Expect.FORBIDDEN, desc = "The interrupt is gone.")
    @Outcome(id = Handover.HAD, expect = Expect.ACCEPTABLE, desc = "The interrupt is still set.")
    @State
    public static class TwinUninterruptible {
        private final Handover race = new Handover(OnTwin.Hand.HERE, OnTwin.Hand.THERE);
        private String story;

        @Actor
        public void holder() {
            unlockAndInterrupt(race);
        }

        @Actor
        public void waiter() {
            story = await(race, sync -> {
                sync.lock();
                return true;
            });
        }

        @Arbiter
        public void look(L_Result r) {
            r.r1 = race.isFree() ? story : Handover.ORPHANED;
        }
    }

    @JCStressTest
    @JCStressMeta(GrantRacesInterrupt.class)
    @State
    public static class TwinBroken {
        private static final LockClient SILENT =
                OnTwin.Still.client("silent", OnTwin.Hand.CLOCK, redis -> Tampered.without(redis, "leave", "DONE"));
        private final Handover race = new Handover(OnTwin.Hand.HERE, SILENT);
        private String story;

        @Actor
        public void holder() {
            race.hold();
            race.interrupt();
            race.dawdle();
            race.unlock();
        }

        @Actor
        public void waiter() {
            story = await(race, GrantRacesInterrupt::interruptibly);
        }

        @Arbiter
        public void look(L_Result r) {
            r.r1 = race.isFree() ? story : Handover.ORPHANED;
        }
    }
}
