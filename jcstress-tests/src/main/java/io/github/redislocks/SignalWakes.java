package io.github.redislocks;

import io.github.redislocks.redis.Redis;
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
 * Claim: a thread that waits in a Condition for a change wakes after the signal, and sees the change.
 *
 * <pre>
 *   jcstress-tests/run SignalWakes
 *
 *   not woken        FORBIDDEN   the signal was given, and did not arrive
 *   blind            FORBIDDEN   it was woken, and does not see what was written before the signal
 *   woken            acceptable  it waited, and was signalled
 *   no need          acceptable  it was so before it could wait
 * </pre>
 *
 * In the broken twins a signal does not reach Redis.
 */
@Outcome(id = SignalWakes.NOT_WOKEN, expect = Expect.FORBIDDEN, desc = "The signal did not arrive.")
@Outcome(
        id = SignalWakes.BLIND,
        expect = Expect.FORBIDDEN,
        desc = "It does not see what was written before the signal.")
@Outcome(id = SignalWakes.WOKEN, expect = Expect.ACCEPTABLE, desc = "It waited, and was signalled.")
@Outcome(id = SignalWakes.NO_NEED, expect = Expect.ACCEPTABLE, desc = "It was so before it could wait.")
public class SignalWakes {

    static final String NOT_WOKEN = "not woken";
    static final String BLIND = "blind";
    static final String WOKEN = "woken";
    static final String NO_NEED = "no need";

    /** Longer than any heartbeat, so that only a signal that is lost for ever counts as lost. */
    private static final long LONG_MILLIS = 20_000;

    private static final long SHORT_MILLIS = 20;

    /** A box for one thing, which is empty at first. Its fields are plain on purpose. */
    private static final class Box {
        private final RedisReentrantLock inside;
        private final RedisReentrantLock outside;
        private final long patienceMillis;
        private final boolean awaited = ThreadLocalRandom.current().nextBoolean();
        private volatile boolean waits;
        private boolean full;
        private int thing;

        Box(RedisLocks taking, RedisLocks putting, boolean fair, long patienceMillis) {
            String name = OnTwin.name();
            this.inside =
                    fair ? taking.reentrantLock(name, LockOptions.defaults().fair(true)) : taking.reentrantLock(name);
            this.outside =
                    fair ? putting.reentrantLock(name, LockOptions.defaults().fair(true)) : putting.reentrantLock(name);
            this.patienceMillis = patienceMillis;
        }

        /** Fills the box. For every other box, first waits until a thread waits for it. */
        void put() {
            while (awaited && !waits) {
                Thread.yield();
            }
            outside.lock();
            thing = 1;
            full = true;
            outside.newCondition("full").signal();
            outside.unlock();
        }

        String take() {
            inside.lock();
            try {
                String story = NO_NEED;
                while (!full) {
                    story = WOKEN;
                    waits = true;
                    if (!inside.newCondition("full").await(patienceMillis, TimeUnit.MILLISECONDS)) {
                        return NOT_WOKEN;
                    }
                }
                return thing == 1 ? story : BLIND;
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            } finally {
                inside.unlock();
            }
        }

        void forget() {
            OnTwin.Live.forget(inside.getName());
        }
    }

    private static Redis unheard(Redis honest) {
        return Tampered.without(honest, "signal", "SIGNALLED");
    }

    @JCStressTest
    @JCStressMeta(SignalWakes.class)
    @State
    public static class TwinOneClient {
        private final Box box = new Box(OnTwin.Live.HERE, OnTwin.Live.HERE, false, LONG_MILLIS);
        private String story;

        @Actor
        public void taker() {
            story = box.take();
        }

        @Actor
        public void putter() {
            box.put();
        }

        @Arbiter
        public void look(L_Result r) {
            r.r1 = story;
            box.forget();
        }
    }

    @JCStressTest
    @JCStressMeta(SignalWakes.class)
    @State
    public static class TwinTwoClients {
        private final Box box = new Box(OnTwin.Live.HERE, OnTwin.Live.THERE, false, LONG_MILLIS);
        private String story;

        @Actor
        public void taker() {
            story = box.take();
        }

        @Actor
        public void putter() {
            box.put();
        }

        @Arbiter
        public void look(L_Result r) {
            r.r1 = story;
            box.forget();
        }
    }

    @JCStressTest
    @JCStressMeta(SignalWakes.class)
    @State
    public static class TwinFair {
        private final Box box = new Box(OnTwin.Live.HERE, OnTwin.Live.THERE, true, LONG_MILLIS);
        private String story;

        @Actor
        public void taker() {
            story = box.take();
        }

        @Actor
        public void putter() {
            box.put();
        }

        @Arbiter
        public void look(L_Result r) {
            r.r1 = story;
            box.forget();
        }
    }

    @JCStressTest
    @JCStressMeta(SignalWakes.class)
    @State
    public static class RedisTwoClients {
        private final Box box = new Box(OnRedis.HERE, OnRedis.THERE, false, LONG_MILLIS);
        private String story;

        @Actor
        public void taker() {
            story = box.take();
        }

        @Actor
        public void putter() {
            box.put();
        }

        @Arbiter
        public void look(L_Result r) {
            r.r1 = story;
        }
    }

    @JCStressTest
    @JCStressMeta(SignalWakes.class)
    @State
    public static class TwinBroken {
        private static final RedisLocks UNHEARD = OnTwin.Live.client(SignalWakes::unheard);
        private final Box box = new Box(OnTwin.Live.HERE, UNHEARD, false, SHORT_MILLIS);
        private String story;

        @Actor
        public void taker() {
            story = box.take();
        }

        @Actor
        public void putter() {
            box.put();
        }

        @Arbiter
        public void look(L_Result r) {
            r.r1 = story;
            box.forget();
        }
    }

    @JCStressTest
    @JCStressMeta(SignalWakes.class)
    @State
    public static class RedisBroken {
        private static final RedisLocks UNHEARD = OnRedis.client(SignalWakes::unheard);
        private final Box box = new Box(OnRedis.HERE, UNHEARD, false, SHORT_MILLIS);
        private String story;

        @Actor
        public void taker() {
            story = box.take();
        }

        @Actor
        public void putter() {
            box.put();
        }

        @Arbiter
        public void look(L_Result r) {
            r.r1 = story;
        }
    }
}
