package io.github.redislocks;

import io.github.redislocks.client.LockClient;
import io.github.redislocks.engine.RedisCondition;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressMeta;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.L_Result;

/**
 * Claim: if the time of a waiter in a Condition ends while a signal comes, the waiter either gets the signal and
 * returns true, or does not get it; then the next waiter gets the signal.
 *
 * <pre>
 *   jcstress-tests/run SignalRacesTimeout
 *
 *   signal lost        FORBIDDEN   the waiter says that it was not signalled, and the next was not either
 *   signalled twice    FORBIDDEN   both had the one signal
 *   signalled          acceptable  the signal came first
 *   left               acceptable  the timeout came first; the next waiter has the signal
 * </pre>
 *
 * In {@code TwinBroken} Redis forgets that the waiter was signalled.
 */
@Outcome(id = Signalling.LOST, expect = Expect.FORBIDDEN, desc = "Neither waiter has the signal.")
@Outcome(id = Signalling.TWICE, expect = Expect.FORBIDDEN, desc = "Both had the one signal.")
@Outcome(id = Signalling.SIGNALLED, expect = Expect.ACCEPTABLE, desc = "The signal came first.")
@Outcome(id = Signalling.LEFT, expect = Expect.ACCEPTABLE, desc = "The timeout came first.")
public class SignalRacesTimeout {

    private static final long PATIENCE_NANOS = 1_000_000;

    private static boolean await(RedisCondition condition) throws InterruptedException {
        return condition.await(PATIENCE_NANOS, TimeUnit.NANOSECONDS);
    }

    @JCStressTest
    @JCStressMeta(SignalRacesTimeout.class)
    @State
    public static class Twin {
        private final Signalling race = new Signalling(OnTwin.Hand.HERE);
        private String story;

        @Actor
        public void signaller() {
            boolean early = ThreadLocalRandom.current().nextBoolean();
            race.lock();
            if (early) {
                OnTwin.Hand.CLOCK.advance(PATIENCE_NANOS);
            }
            race.signal();
            if (!early) {
                OnTwin.Hand.CLOCK.advance(PATIENCE_NANOS);
            }
            race.unlock();
        }

        @Actor
        public void waiter() {
            story = race.await(SignalRacesTimeout::await);
        }

        @Arbiter
        public void look(L_Result r) {
            r.r1 = race.words(story);
        }
    }

    @JCStressTest
    @JCStressMeta(SignalRacesTimeout.class)
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
            OnTwin.Hand.CLOCK.advance(PATIENCE_NANOS);
            race.dawdle();
            race.unlock();
        }

        @Actor
        public void waiter() {
            story = race.await(SignalRacesTimeout::await);
        }

        @Arbiter
        public void look(L_Result r) {
            r.r1 = race.words(story);
        }
    }
}
