package io.github.redislocks;

import io.github.redislocks.client.LockClient;
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
 * Claim: if a waiter in a Condition is interrupted while a signal comes, the waiter either gets the signal and keeps
 * the interrupt, or throws {@code InterruptedException}; then the next waiter gets the signal.
 *
 * <pre>
 *   jcstress-tests/run SignalRacesInterrupt
 *
 *   signal lost        FORBIDDEN   the waiter was interrupted, and the next was not signalled
 *   signalled twice    FORBIDDEN   both had the one signal
 *   swallowed          FORBIDDEN   it has neither the interrupt nor an exception, or it has both
 *   signalled          acceptable  the signal came first
 *   left               acceptable  the interrupt came first; the next waiter has the signal
 * </pre>
 *
 * In {@code TwinBroken} Redis forgets that the waiter was signalled.
 */
@Outcome(id = Signalling.LOST, expect = Expect.FORBIDDEN, desc = "Neither waiter has the signal.")
@Outcome(id = Signalling.TWICE, expect = Expect.FORBIDDEN, desc = "Both had the one signal.")
@Outcome(
        id = SignalRacesInterrupt.SWALLOWED,
        expect = Expect.FORBIDDEN,
        desc = "Neither the interrupt nor an exception, or both.")
@Outcome(id = Signalling.SIGNALLED, expect = Expect.ACCEPTABLE, desc = "The signal came first.")
@Outcome(id = Signalling.LEFT, expect = Expect.ACCEPTABLE, desc = "The interrupt came first.")
public class SignalRacesInterrupt {

    static final String SWALLOWED = "swallowed";

    private static String await(Signalling race) {
        String story = race.await(condition -> {
            condition.await();
            return true;
        });
        boolean kept = race.takeInterrupt();
        return kept == story.equals(Signalling.SIGNALLED) ? story : SWALLOWED;
    }

    @JCStressTest
    @JCStressMeta(SignalRacesInterrupt.class)
    @State
    public static class Twin {
        private final Signalling race = new Signalling(OnTwin.Hand.HERE);
        private String story;

        @Actor
        public void signaller() {
            boolean early = ThreadLocalRandom.current().nextBoolean();
            race.lock();
            if (early) {
                race.interrupt();
            }
            race.signal();
            if (!early) {
                race.interrupt();
            }
            race.unlock();
        }

        @Actor
        public void waiter() {
            story = await(race);
        }

        @Arbiter
        public void look(L_Result r) {
            r.r1 = race.words(story);
        }
    }

    @JCStressTest
    @JCStressMeta(SignalRacesInterrupt.class)
    @State
    public static class TwinBroken {
        private static final LockClient FORGETFUL =
                OnTwin.Still.client("forgetful", OnTwin.Hand.CLOCK, Signalling::forgetful);
        private final Signalling race = new Signalling(FORGETFUL);
        private String story;

        @Actor
        public void signaller() {
            race.lock();
            race.signal();
            race.interrupt();
            race.dawdle();
            race.unlock();
        }

        @Actor
        public void waiter() {
            story = await(race);
        }

        @Arbiter
        public void look(L_Result r) {
            r.r1 = race.words(story);
        }
    }
}
