package io.github.redislocks;

import io.github.redislocks.client.Inside;
import io.github.redislocks.client.LockClient;
import io.github.redislocks.engine.Sync;
import io.github.redislocks.lease.Renewals;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.state.Hold;
import io.github.redislocks.watchdog.Job;
import java.util.ArrayList;
import java.util.List;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressMeta;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.L_Result;

/**
 * Claim: if a renewal is answered while the owner unlocks, the answer neither revives the hold nor declares it lost:
 * the renewal found nothing because of the unlock.
 *
 * <pre>
 *   java -jar target/jcstress.jar -t 'RenewalRacesUnlock'
 *
 *   revived                  FORBIDDEN   the hold is held after unlock()
 *   lost                     FORBIDDEN   a loss was declared, or unlock() threw
 *   renewed, then released   acceptable  the renewal came first
 *   released                 acceptable  the unlock came first
 * </pre>
 *
 * {@code Core*} tests {@code Hold} alone; in {@code Twin} the second actor does a renewal of the watchdog. The broken
 * twin reads the deadline and moves it in two steps.
 */
@Outcome(id = RenewalRacesUnlock.REVIVED, expect = Expect.FORBIDDEN, desc = "The hold is held after unlock().")
@Outcome(id = RenewalRacesUnlock.RENEWED, expect = Expect.ACCEPTABLE, desc = "The renewal came first.")
@Outcome(id = RenewalRacesUnlock.RELEASED, expect = Expect.ACCEPTABLE, desc = "The unlock came first.")
public class RenewalRacesUnlock {

    static final String REVIVED = "revived";
    private static final String LOST = "lost";
    static final String RENEWED = "renewed, then released";
    static final String RELEASED = "released";

    @JCStressTest
    @JCStressMeta(RenewalRacesUnlock.class)
    @State
    public static class Core {
        private final Hold hold = LossRacesUnlock.hold(100);
        private boolean renewed;

        @Actor
        public void owner() {
            hold.beginRelease(50);
        }

        @Actor
        public void watchdog() {
            renewed = hold.extend(50, 200);
        }

        @Arbiter
        public void look(L_Result r) {
            r.r1 = hold.isOpen() || hold.lossReason() != null ? REVIVED : renewed ? RENEWED : RELEASED;
        }
    }

    @JCStressTest
    @JCStressMeta(RenewalRacesUnlock.class)
    @State
    public static class CoreBroken {
        private final Gap gap = new Gap();
        private volatile long state = 100;
        private boolean renewed;

        @Actor
        public void owner() {
            state = -1;
            gap.pass();
        }

        @Actor
        public void watchdog() {
            if (state > 50) {
                gap.pass();
                state = 200;
                renewed = true;
            }
        }

        @Arbiter
        public void look(L_Result r) {
            r.r1 = state > 0 ? REVIVED : renewed ? RENEWED : RELEASED;
        }
    }

    @JCStressTest
    @Outcome(id = REVIVED, expect = Expect.FORBIDDEN, desc = "The hold is held after unlock().")
    @Outcome(id = LOST, expect = Expect.FORBIDDEN, desc = "A loss was declared, or unlock() threw.")
    @Outcome(id = RENEWED, expect = Expect.ACCEPTABLE, desc = "The renewal came first.")
    @Outcome(id = RELEASED, expect = Expect.ACCEPTABLE, desc = "The unlock came first.")
    @State
    public static class Twin {
        private final String name = OnTwin.name();
        private final HandClock clock = new HandClock();
        private final LockClient client = OnTwin.Still.client(clock);
        private final Inside inside = Inside.of(client);
        private final Sync sync = client.lock(name, false);
        private volatile Hold hold;
        private boolean thrown;
        private boolean renewed;

        @Actor
        public void owner() {
            sync.lock();
            hold = sync.hold();
            try {
                sync.unlock();
            } catch (LockLostException e) {
                thrown = true;
            }
        }

        @Actor
        public void watchdog() {
            while (hold == null) {
                Thread.onSpinWait();
            }
            List<Job> due = new ArrayList<>();
            long renewal = inside.settings().renewalNanos() + 2;
            inside.renewals(Renewals.LOSSES).inspect(renewal, renewal, (key, job) -> due.add(job));
            for (Job job : due) {
                Reply reply = OnTwin.Still.SERVER.run(job.call(clock.nanoTime(), 1_000_000_000), 1_000_000_000);
                renewed = reply.is("OK");
                job.answered(reply, clock.nanoTime());
            }
        }

        @Arbiter
        public void look(L_Result r) {
            boolean open = hold.isOpen() || OnTwin.Still.SERVER.pttl(OnTwin.key(name)) != -2;
            boolean lost =
                    thrown || hold.lossReason() != null || inside.losses().lastLostAttempt() != 0;
            r.r1 = open ? REVIVED : lost ? LOST : renewed ? RENEWED : RELEASED;
            OnTwin.Still.forget(name);
        }
    }
}
