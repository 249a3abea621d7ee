package io.github.redislocks;

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
 * Claim: if a hold with a fixed lease is re-entered with a renewed lease, while the answer to its confirmation arrives,
 * the hold is renewed from then on.
 *
 * <pre>
 *   java -jar target/jcstress.jar -t 'RenewalRacesReentry'
 *
 *   never renewed     FORBIDDEN   the answer put the renewal off that the re-entry had begun
 *   renewed           acceptable  at the time that either of them named, or once more at that of the confirmation
 * </pre>
 *
 * The broken twin checks whether the hold is renewed, and writes in a second step.
 */
@Outcome(
        id = RenewalRacesReentry.NEVER,
        expect = Expect.FORBIDDEN,
        desc = "The answer put the renewal off that the re-entry had begun.")
@Outcome(id = RenewalRacesReentry.RENEWED, expect = Expect.ACCEPTABLE, desc = "It is renewed.")
public class RenewalRacesReentry {

    static final String NEVER = "never renewed";
    static final String RENEWED = "renewed";

    private static final long BY_THE_CONFIRMATION = 10;
    private static final long BY_THE_ANSWER = 70;
    private static final long BY_THE_REENTRY = 80;

    static String words(long nextRenewalNanos) {
        if (nextRenewalNanos == Long.MAX_VALUE) {
            return NEVER;
        }
        boolean known = nextRenewalNanos == BY_THE_ANSWER
                || nextRenewalNanos == BY_THE_REENTRY
                || nextRenewalNanos == BY_THE_CONFIRMATION;
        return known ? RENEWED : "renewed at " + nextRenewalNanos;
    }

    @JCStressTest
    @JCStressMeta(RenewalRacesReentry.class)
    @State
    public static class Core {
        private final Hold hold = hold();

        private static Hold hold() {
            Attempt attempt = new Attempt(
                    7,
                    OnTwin.keys("n"),
                    new Owner("owner"),
                    new Attempt.Request(30_000, false, false),
                    WaitLimit.endless());
            return new Hold(attempt, new Attempt.Grant(5, false, 100, 0, false), 0, BY_THE_CONFIRMATION, null);
        }

        @Actor
        public void owner() {
            hold.reentered(30_000, true, BY_THE_REENTRY);
        }

        @Actor
        public void watchdog() {
            hold.renewNext(BY_THE_ANSWER);
        }

        @Arbiter
        public void look(L_Result r) {
            r.r1 = words(hold.nextRenewalNanos());
        }
    }

    @JCStressTest
    @JCStressMeta(RenewalRacesReentry.class)
    @State
    public static class CoreBroken {
        private final Gap gap = new Gap();
        private volatile boolean renewed;
        private volatile long nextRenewalNanos = 10;

        @Actor
        public void owner() {
            renewed = true;
            nextRenewalNanos = BY_THE_REENTRY;
            gap.pass();
        }

        @Actor
        public void watchdog() {
            long next = renewed ? BY_THE_ANSWER : Long.MAX_VALUE;
            gap.pass();
            nextRenewalNanos = next;
        }

        @Arbiter
        public void look(L_Result r) {
            r.r1 = words(nextRenewalNanos);
        }
    }
}
