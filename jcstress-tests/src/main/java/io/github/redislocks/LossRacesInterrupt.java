package io.github.redislocks;

import io.github.redislocks.actions.HandledWork;
import io.github.redislocks.client.Inside;
import io.github.redislocks.concurrent.Interruption;
import io.github.redislocks.handles.RedisLockHandle;
import io.github.redislocks.state.Hold;
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
 * Claim: a loss interrupts an action with a handle once, while the action runs, and never interrupts what the thread
 * does after it. If the action ends before it notices the interrupt, the interrupt is cleared.
 *
 * <pre>
 *   jcstress-tests/run LossRacesInterrupt
 *
 *   late             FORBIDDEN   the thread is interrupted in what it does after the action
 *   twice            FORBIDDEN   the action is interrupted more than once
 *   never            FORBIDDEN   the action waits for the interrupt, and it does not come
 *   told otherwise   FORBIDDEN   the end of the work, or its exception, does not say what happened
 *   in the action    acceptable  the action noticed
 *   not noticed      acceptable  the action ended first
 * </pre>
 *
 * {@code Core*} tests {@code Interruption} alone. The broken twin checks whether the thread is at work, and interrupts
 * it in a second step.
 */
@Outcome(id = LossRacesInterrupt.LATE, expect = Expect.FORBIDDEN, desc = "Interrupted after the action.")
@Outcome(id = LossRacesInterrupt.TWICE, expect = Expect.FORBIDDEN, desc = "Interrupted more than once.")
@Outcome(id = LossRacesInterrupt.NEVER, expect = Expect.FORBIDDEN, desc = "The interrupt did not come.")
@Outcome(id = LossRacesInterrupt.OTHERWISE, expect = Expect.FORBIDDEN, desc = "It does not say what happened.")
@Outcome(id = LossRacesInterrupt.IN_TIME, expect = Expect.ACCEPTABLE, desc = "The action noticed.")
@Outcome(id = LossRacesInterrupt.UNNOTICED, expect = Expect.ACCEPTABLE, desc = "The action ended first.")
public class LossRacesInterrupt {

    static final String LATE = "late";
    static final String TWICE = "twice";
    static final String NEVER = "never";
    static final String OTHERWISE = "told otherwise";
    static final String IN_TIME = "in the action";
    static final String UNNOTICED = "not noticed";

    private static final int TURNS = 300;

    /** Counts the interrupts that the thread of the action sees. */
    private static final class Watched {
        private volatile boolean working;
        private volatile boolean ended;
        private volatile boolean over;
        private int noticed;
        private boolean late;

        /** Works for several iterations, and checks for an interrupt in each. */
        void work(int turns) {
            working = true;
            for (int i = 0; i < turns; i++) {
                notice();
                Thread.yield();
            }
            notice();
        }

        private void notice() {
            if (Thread.interrupted()) {
                noticed++;
            }
        }

        /** Called after the action: the thread must not be interrupted any more. */
        void after() {
            late = Thread.interrupted();
            ended = true;
            while (!over) {
                Thread.yield();
            }
            late |= Thread.interrupted();
        }

        /** Called by the other actor: waits until the work has begun. */
        void awaitWork() {
            while (!working) {
                Thread.yield();
            }
        }

        String words(boolean agrees) {
            if (late) {
                return LATE;
            }
            if (noticed > 1) {
                return TWICE;
            }
            return !agrees ? OTHERWISE : noticed == 1 ? IN_TIME : UNNOTICED;
        }
    }

    @JCStressTest
    @JCStressMeta(LossRacesInterrupt.class)
    @State
    public static class Core {
        private final Interruption interruption = new Interruption();
        private final Watched watched = new Watched();
        private boolean interrupted;
        private boolean delivered;

        @Actor
        public void worker() {
            interruption.begin();
            watched.work(ThreadLocalRandom.current().nextInt(3));
            interrupted = interruption.end();
            watched.after();
        }

        @Actor
        public void teller() {
            watched.awaitWork();
            delivered = interruption.interrupt();
            watched.over = true;
        }

        @Arbiter
        public void look(L_Result r) {
            r.r1 = watched.words(interrupted == delivered);
        }
    }

    @JCStressTest
    @JCStressMeta(LossRacesInterrupt.class)
    @State
    public static class CoreBroken {
        private final Gap gap = new Gap();
        private final Watched watched = new Watched();
        private volatile Thread atWork;

        @Actor
        public void worker() {
            atWork = Thread.currentThread();
            watched.work(1);
            gap.pass();
            atWork = null;
            Thread.interrupted();
            watched.after();
        }

        @Actor
        public void teller() {
            watched.awaitWork();
            Thread worker = atWork;
            gap.pass();
            if (worker != null) {
                for (int i = 0; i < TURNS && !watched.ended; i++) {
                    Thread.yield();
                }
                worker.interrupt();
            }
            watched.over = true;
        }

        @Arbiter
        public void look(L_Result r) {
            r.r1 = watched.words(true);
        }
    }

    /** A handle that is lost while an action runs under it. */
    private static final class Subject {
        final String name = OnTwin.name();
        final RedisLocks locks = OnTwin.Slow.HERE;
        final RedisLockHandle handle = HandleLine.holder(locks, name);
        final Watched watched = new Watched();
        private final Hold hold = HandleLine.hold(locks, handle);
        private boolean lost;
        private boolean thrown;

        <E extends Exception> void run(HandleRun<LockHandle, E> action) throws E {
            try {
                HandledWork.<LockHandle, Object, E>call(handle, held -> {
                    action.run(held);
                    return name;
                });
            } catch (LockLostException e) {
                thrown = true;
                for (Throwable suppressed : e.getSuppressed()) {
                    watched.noticed += suppressed instanceof InterruptedException ? 1 : 0;
                }
            }
            watched.after();
        }

        /** Declares the loss. If the handle was lost, waits until the handle was notified. */
        void lose() {
            watched.awaitWork();
            lost = Inside.of(locks.client()).losses().lose(hold, LockLost.Reason.TAKEN);
            Inside.of(locks.client()).losses().awaitTold(OnTwin.Slow.LIMIT);
            watched.over = true;
        }

        String words() {
            OnTwin.Still.forget(name);
            return watched.words(lost == thrown && (lost || watched.noticed == 0));
        }
    }

    /** The action ends at a random time. */
    @JCStressTest
    @JCStressMeta(LossRacesInterrupt.class)
    @State
    public static class Twin {
        private final Subject subject = new Subject();

        @Actor
        public void worker() {
            subject.run(held -> subject.watched.work(ThreadLocalRandom.current().nextInt(TURNS)));
        }

        @Actor
        public void watchdog() {
            subject.lose();
        }

        @Arbiter
        public void look(L_Result r) {
            r.r1 = subject.words();
        }
    }

    /** The action sleeps until it is interrupted, and then goes on for a short time. */
    @JCStressTest
    @JCStressMeta(LossRacesInterrupt.class)
    @State
    public static class TwinAsleep {
        private final Subject subject = new Subject();
        private boolean woken;

        @Actor
        public void worker() {
            try {
                subject.run(this::sleep);
            } catch (InterruptedException e) {
                woken = false;
            }
        }

        private void sleep(LockHandle held) throws InterruptedException {
            subject.watched.working = true;
            try {
                Thread.sleep(OnTwin.Slow.LIMIT.toMillis());
            } catch (InterruptedException e) {
                woken = true;
                subject.watched.work(10);
                throw e;
            }
        }

        @Actor
        public void watchdog() {
            subject.lose();
        }

        @Arbiter
        public void look(L_Result r) {
            String words = subject.words();
            r.r1 = woken ? words : NEVER;
        }
    }
}
