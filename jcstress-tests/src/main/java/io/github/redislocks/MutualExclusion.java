package io.github.redislocks;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressMeta;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.L_Result;

/**
 * Claim: of all threads of all clients, at most one is between {@code lock()} and {@code unlock()}.
 *
 * <pre>
 *   java -jar target/jcstress.jar -t 'MutualExclusion'
 *
 *   two at once      FORBIDDEN   a visit was lost, or a visitor was disturbed
 *   one at a time    acceptable  all visits count
 * </pre>
 *
 * The broken twins have a Redis that grants the lock to every caller, or a Redis that grants the lock to all callers
 * that found it free before one of them took it, which is rarely met.
 */
@Outcome(id = MutualExclusion.TWO, expect = Expect.FORBIDDEN, desc = "A visit was lost, or a visitor was disturbed.")
@Outcome(id = MutualExclusion.ONE, expect = Expect.ACCEPTABLE, desc = "All visits count.")
public class MutualExclusion {

    static final String ONE = "one at a time";
    static final String TWO = "two at once";

    private static void visit(RedisReentrantLock lock, Room room, int number) {
        lock.lock();
        try {
            room.visit(number);
        } finally {
            lock.unlock();
        }
    }

    private static void visitAnyway(RedisReentrantLock lock, Room room, int number) {
        lock.lock();
        room.visit(number);
        try {
            lock.unlock();
        } catch (LockLostException e) {
            // Ignored: the broken Redis knows only one of the holds.
        }
    }

    @JCStressTest
    @JCStressMeta(MutualExclusion.class)
    @State
    public static class TwinTwoClients {
        private final String name = OnTwin.name();
        private final RedisReentrantLock here = OnTwin.Live.HERE.reentrantLock(name);
        private final RedisReentrantLock there = OnTwin.Live.THERE.reentrantLock(name);
        private final Room room = new Room(Room.A_MOMENT_NANOS);

        @Actor
        public void here() {
            visit(here, room, 1);
        }

        @Actor
        public void there() {
            visit(there, room, 2);
        }

        @Arbiter
        public void look(L_Result r) {
            r.r1 = room.afterVisits(2);
            OnTwin.Live.forget(name);
        }
    }

    @JCStressTest
    @JCStressMeta(MutualExclusion.class)
    @State
    public static class TwinOneClient {
        private final String name = OnTwin.name();
        private final RedisReentrantLock lock = OnTwin.Live.HERE.reentrantLock(name);
        private final Room room = new Room(Room.A_MOMENT_NANOS);

        @Actor
        public void first() {
            visit(lock, room, 1);
        }

        @Actor
        public void second() {
            visit(lock, room, 2);
        }

        @Arbiter
        public void look(L_Result r) {
            r.r1 = room.afterVisits(2);
            OnTwin.Live.forget(name);
        }
    }

    @JCStressTest
    @JCStressMeta(MutualExclusion.class)
    @State
    public static class TwinFair {
        private final String name = OnTwin.name();
        private final RedisReentrantLock here =
                OnTwin.Live.HERE.reentrantLock(name, LockOptions.defaults().fair(true));
        private final RedisReentrantLock there =
                OnTwin.Live.THERE.reentrantLock(name, LockOptions.defaults().fair(true));
        private final Room room = new Room(Room.A_MOMENT_NANOS);

        @Actor
        public void here() {
            visit(here, room, 1);
        }

        @Actor
        public void there() {
            visit(there, room, 2);
        }

        @Arbiter
        public void look(L_Result r) {
            r.r1 = room.afterVisits(2);
            OnTwin.Live.forget(name);
        }
    }

    /**
     * Three visitors: two of one client, one of which waits in the local queue, and one of another client. The first
     * actor starts the third visitor as a thread, since jcstress needs a processor for each actor.
     */
    @JCStressTest
    @JCStressMeta(MutualExclusion.class)
    @State
    public static class TwinThree {
        private final String name = OnTwin.name();
        private final RedisReentrantLock here = OnTwin.Live.HERE.reentrantLock(name);
        private final RedisReentrantLock there = OnTwin.Live.THERE.reentrantLock(name);
        private final Room room = new Room(Room.A_MOMENT_NANOS);
        private Aside.Task third;

        @Actor
        public void first() {
            third = Aside.start(() -> visit(here, room, 3));
            visit(here, room, 1);
        }

        @Actor
        public void second() {
            visit(there, room, 2);
        }

        @Arbiter
        public void look(L_Result r) {
            third.join();
            r.r1 = room.afterVisits(3);
            OnTwin.Live.forget(name);
        }
    }

    @JCStressTest
    @JCStressMeta(MutualExclusion.class)
    @State
    public static class RedisPlain {
        private final String name = OnTwin.name();
        private final RedisReentrantLock here = OnRedis.HERE.reentrantLock(name);
        private final RedisReentrantLock there = OnRedis.THERE.reentrantLock(name);
        private final Room room = new Room(Room.A_MOMENT_NANOS);

        @Actor
        public void here() {
            visit(here, room, 1);
        }

        @Actor
        public void there() {
            visit(there, room, 2);
        }

        @Arbiter
        public void look(L_Result r) {
            r.r1 = room.afterVisits(2);
        }
    }

    @JCStressTest
    @JCStressMeta(MutualExclusion.class)
    @State
    public static class RedisFair {
        private final String name = OnTwin.name();
        private final RedisReentrantLock here =
                OnRedis.HERE.reentrantLock(name, LockOptions.defaults().fair(true));
        private final RedisReentrantLock there =
                OnRedis.THERE.reentrantLock(name, LockOptions.defaults().fair(true));
        private final Room room = new Room(Room.A_MOMENT_NANOS);

        @Actor
        public void here() {
            visit(here, room, 1);
        }

        @Actor
        public void there() {
            visit(there, room, 2);
        }

        @Arbiter
        public void look(L_Result r) {
            r.r1 = room.afterVisits(2);
        }
    }

    @JCStressTest
    @JCStressMeta(MutualExclusion.class)
    @State
    public static class TwinBroken {
        private static final RedisLocks HERE = OnTwin.Live.client(Tampered::withoutExclusion);
        private static final RedisLocks THERE = OnTwin.Live.client(Tampered::withoutExclusion);
        private final String name = OnTwin.name();
        private final RedisReentrantLock here = HERE.reentrantLock(name);
        private final RedisReentrantLock there = THERE.reentrantLock(name);
        private final Room room = new Room(Room.A_WHILE_NANOS);

        @Actor
        public void here() {
            visitAnyway(here, room, 1);
        }

        @Actor
        public void there() {
            visitAnyway(there, room, 2);
        }

        @Arbiter
        public void look(L_Result r) {
            r.r1 = room.afterVisits(2);
            OnTwin.Live.forget(name);
        }
    }

    @JCStressTest
    @JCStressMeta(MutualExclusion.class)
    @State
    public static class TwinLucky {
        private static final RedisLocks HERE = OnTwin.Live.client(Tampered::lookingFirst);
        private static final RedisLocks THERE = OnTwin.Live.client(Tampered::lookingFirst);
        private final String name = OnTwin.name();
        private final RedisReentrantLock here = HERE.reentrantLock(name);
        private final RedisReentrantLock there = THERE.reentrantLock(name);
        private final Room room = new Room(Room.A_WHILE_NANOS);

        @Actor
        public void here() {
            visitAnyway(here, room, 1);
        }

        @Actor
        public void there() {
            visitAnyway(there, room, 2);
        }

        @Arbiter
        public void look(L_Result r) {
            r.r1 = room.afterVisits(2);
            OnTwin.Live.forget(name);
        }
    }

    @JCStressTest
    @JCStressMeta(MutualExclusion.class)
    @State
    public static class RedisBroken {
        private static final RedisLocks HERE = OnRedis.client(Tampered::withoutExclusion);
        private static final RedisLocks THERE = OnRedis.client(Tampered::withoutExclusion);
        private final String name = OnTwin.name();
        private final RedisReentrantLock here = HERE.reentrantLock(name);
        private final RedisReentrantLock there = THERE.reentrantLock(name);
        private final Room room = new Room(Room.A_WHILE_NANOS);

        @Actor
        public void here() {
            visitAnyway(here, room, 1);
        }

        @Actor
        public void there() {
            visitAnyway(there, room, 2);
        }

        @Arbiter
        public void look(L_Result r) {
            r.r1 = room.afterVisits(2);
        }
    }
}
