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
 * Claim: two lock objects with one name are one lock, even if one of them is fair.
 *
 * <pre>
 *   java -jar target/jcstress.jar -t 'TwoLockObjects'
 *
 *   two at once      FORBIDDEN   a visit was lost, or a visitor was disturbed
 *   one at a time    acceptable  all visits count
 * </pre>
 *
 * The broken twin gives the second object another name.
 */
@Outcome(id = TwoLockObjects.TWO, expect = Expect.FORBIDDEN, desc = "A visit was lost, or a visitor was disturbed.")
@Outcome(id = TwoLockObjects.ONE, expect = Expect.ACCEPTABLE, desc = "All visits count.")
public class TwoLockObjects {

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

    @JCStressTest
    @JCStressMeta(TwoLockObjects.class)
    @State
    public static class TwinPlain {
        private final String name = OnTwin.name();
        private final RedisReentrantLock lock = OnTwin.Live.HERE.reentrantLock(name);
        private final RedisReentrantLock same = OnTwin.Live.HERE.reentrantLock(name);
        private final Room room = new Room(Room.A_MOMENT_NANOS);

        @Actor
        public void first() {
            visit(lock, room, 1);
        }

        @Actor
        public void second() {
            visit(same, room, 2);
        }

        @Arbiter
        public void look(L_Result r) {
            r.r1 = room.afterVisits(2);
            OnTwin.Live.forget(name);
        }
    }

    @JCStressTest
    @JCStressMeta(TwoLockObjects.class)
    @State
    public static class TwinPlainAndFair {
        private final String name = OnTwin.name();
        private final RedisReentrantLock lock = OnTwin.Live.HERE.reentrantLock(name);
        private final RedisReentrantLock same =
                OnTwin.Live.HERE.reentrantLock(name, LockOptions.defaults().fair(true));
        private final Room room = new Room(Room.A_MOMENT_NANOS);

        @Actor
        public void first() {
            visit(lock, room, 1);
        }

        @Actor
        public void second() {
            visit(same, room, 2);
        }

        @Arbiter
        public void look(L_Result r) {
            r.r1 = room.afterVisits(2);
            OnTwin.Live.forget(name);
        }
    }

    @JCStressTest
    @JCStressMeta(TwoLockObjects.class)
    @State
    public static class TwinBroken {
        private final String name = OnTwin.name();
        private final RedisReentrantLock lock = OnTwin.Live.HERE.reentrantLock(name);
        private final RedisReentrantLock same = OnTwin.Live.HERE.reentrantLock(name + "x");
        private final Room room = new Room(Room.A_WHILE_NANOS);

        @Actor
        public void first() {
            visit(lock, room, 1);
        }

        @Actor
        public void second() {
            visit(same, room, 2);
        }

        @Arbiter
        public void look(L_Result r) {
            r.r1 = room.afterVisits(2);
            OnTwin.Live.forget(name);
            OnTwin.Live.forget(name + "x");
        }
    }
}
