package io.github.redislocks;

import io.github.redislocks.client.Inside;
import io.github.redislocks.handles.RedisLockHandle;
import io.github.redislocks.state.Hold;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressMeta;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.L_Result;

/**
 * Claim: if the loss of a handle is found during its release, the handle ends once. Either {@code lost()} completes
 * once and the release reports the loss, or the release succeeds and {@code lost()} never completes.
 *
 * <pre>
 *   jcstress-tests/run LossRacesRelease
 *
 *   lost and released    FORBIDDEN   lost() completed, and the release succeeded
 *   neither              FORBIDDEN   the release reports a loss, and lost() does not
 *   told twice           FORBIDDEN   lost() completed, or was to be completed, more than once
 *   lost                 acceptable  the loss came first
 *   released             acceptable  the release came first
 * </pre>
 *
 * The loss is declared, as by a renewal, beside {@code release()} in {@code Twin} and beside {@code releaseAsync()} in
 * {@code TwinAsync}; in {@code TwinForced} another client forces the lock while {@code close()} runs. The broken twin
 * checks whether the handle is held, and releases it in a second step.
 */
@Outcome(id = LossRacesUnlock.BOTH, expect = Expect.FORBIDDEN, desc = "lost() completed after a release in order.")
@Outcome(id = LossRacesUnlock.NEITHER, expect = Expect.FORBIDDEN, desc = "A loss of which lost() does not know.")
@Outcome(id = LossRacesRelease.TWICE, expect = Expect.FORBIDDEN, desc = "Told more than once.")
@Outcome(id = LossRacesUnlock.LOST, expect = Expect.ACCEPTABLE, desc = "The loss came first.")
@Outcome(id = LossRacesUnlock.RELEASED, expect = Expect.ACCEPTABLE, desc = "The release came first.")
public class LossRacesRelease {

    static final String TWICE = "told twice";

    /** A handle that has a lock, and the number of reports of its loss. */
    private static final class Subject {
        final String name = OnTwin.name();
        final RedisLocks locks = OnTwin.Slow.HERE;
        final RedisLockHandle handle = HandleLine.holder(locks, name);
        final Hold hold = HandleLine.hold(locks, handle);
        private final AtomicInteger told = new AtomicInteger();

        Subject() {
            handle.lost().thenAccept(loss -> told.incrementAndGet());
        }

        void lose() {
            Inside.of(locks.client()).losses().lose(hold, LockLost.Reason.TAKEN);
        }

        /** Called when both actors have ended: returns the outcome. */
        String story(boolean released) {
            // After a forced unlock, a thread of the client declares the loss, and may not have reported it yet.
            boolean agrees = Aside.await(
                    OnTwin.Slow.LIMIT.toNanos(),
                    () -> (told.get() > 0) == (hold.lossReason() != null) && !hold.isOpen());
            Inside.of(locks.client()).losses().awaitTold(OnTwin.Slow.LIMIT);
            int times = told.get();
            OnTwin.Still.forget(name);
            if (!agrees) {
                return "the state tells another story";
            }
            return times > 1 ? TWICE : LossRacesUnlock.words(times == 1, released);
        }
    }

    @JCStressTest
    @JCStressMeta(LossRacesRelease.class)
    @State
    public static class Twin {
        private final Subject subject = new Subject();
        private boolean released;

        @Actor
        public void owner() {
            released = subject.handle.release();
        }

        @Actor
        public void watchdog() {
            subject.lose();
        }

        @Arbiter
        public void look(L_Result r) {
            r.r1 = subject.story(released);
        }
    }

    @JCStressTest
    @JCStressMeta(LossRacesRelease.class)
    @State
    public static class TwinAsync {
        private final Subject subject = new Subject();
        private final CompletableFuture<Boolean> released = new CompletableFuture<>();

        @Actor
        public void owner() {
            subject.handle.releaseAsync().thenAccept(released::complete);
        }

        @Actor
        public void watchdog() {
            subject.lose();
        }

        @Arbiter
        public void look(L_Result r) {
            BooleanSupplier ended = released::isDone;
            boolean told = Aside.await(OnTwin.Slow.LIMIT.toNanos(), ended);
            r.r1 = told ? subject.story(released.join()) : "the release has no end";
        }
    }

    /** The hold is ended in Redis, and the client gets the message while it sends the release. */
    @JCStressTest
    @JCStressMeta(LossRacesRelease.class)
    @State
    public static class TwinForced {
        private final Subject subject = new Subject();
        private boolean released;

        @Actor
        public void owner() {
            HandleLine.aMoment();
            try {
                subject.handle.close();
                released = true;
            } catch (LockLostException e) {
                released = false;
            }
        }

        @Actor
        public void operator() {
            HandleLine.aMoment();
            OnTwin.Slow.THERE
                    .client()
                    .queries()
                    .forceUnlock(subject.handle.sync().keys());
        }

        @Arbiter
        public void look(L_Result r) {
            r.r1 = subject.story(released);
        }
    }

    @JCStressTest
    @JCStressMeta(LossRacesRelease.class)
    @State
    public static class TwinBroken {
        private final Gap gap = new Gap();
        private final Subject subject = new Subject();
        private boolean released;

        @Actor
        public void owner() {
            boolean held = subject.handle.isHeld();
            gap.pass();
            subject.handle.release();
            released = held;
        }

        @Actor
        public void watchdog() {
            gap.pass();
            subject.lose();
        }

        @Arbiter
        public void look(L_Result r) {
            r.r1 = subject.story(released);
        }
    }
}
