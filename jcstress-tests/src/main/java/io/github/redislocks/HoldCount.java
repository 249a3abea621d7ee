package io.github.redislocks;

import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.script.Scripts;
import io.github.redislocks.state.Owner;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressMeta;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.L_Result;

/**
 * Claim: a lock is held until it was unlocked as often as it was locked, and no longer.
 *
 * <pre>
 *   java -jar target/jcstress.jar -t 'HoldCount'
 *
 *   wrong count      FORBIDDEN   the count was not the number of locks less unlocks
 *   two at once      FORBIDDEN   an inner unlock let the other in
 *   counted          acceptable  the last unlock let the other in
 * </pre>
 *
 * The broken twin has a Redis in which an inner unlock frees the lock.
 */
@Outcome(id = HoldCount.WRONG, expect = Expect.FORBIDDEN, desc = "The count was not the number of locks less unlocks.")
@Outcome(id = HoldCount.TWO, expect = Expect.FORBIDDEN, desc = "An inner unlock let the other in.")
@Outcome(id = HoldCount.COUNTED, expect = Expect.ACCEPTABLE, desc = "The last unlock let the other in.")
public class HoldCount {

    static final String WRONG = "wrong count";
    static final String TWO = "two at once";
    static final String COUNTED = "counted";

    /** Locks twice, and visits the room between the unlocks. Returns whether the counts were right. */
    private static boolean visit(RedisReentrantLock lock, Room room, int number) {
        boolean right = lock.getHoldCount() == 0;
        lock.lock();
        right &= lock.getHoldCount() == 1;
        lock.lock();
        right &= lock.getHoldCount() == 2;
        lock.unlock();
        right &= lock.getHoldCount() == 1;
        room.visit(number);
        try {
            lock.unlock();
        } catch (LockLostException e) {
            // Ignored: in the broken test, the lock was freed before.
        }
        return right && lock.getHoldCount() == 0;
    }

    private static String words(boolean counted, Room room) {
        String visits = room.afterVisits(2);
        return !visits.equals("one at a time") ? TWO : counted ? COUNTED : WRONG;
    }

    @JCStressTest
    @JCStressMeta(HoldCount.class)
    @State
    public static class TwinOneClient {
        private final String name = OnTwin.name();
        private final RedisReentrantLock here = OnTwin.Live.HERE.reentrantLock(name);
        private final RedisReentrantLock there = OnTwin.Live.HERE.reentrantLock(name);
        private final Room room = new Room(Room.A_MOMENT_NANOS);
        private boolean counted;
        private boolean countedThere;

        @Actor
        public void here() {
            counted = visit(here, room, 1);
        }

        @Actor
        public void there() {
            countedThere = visit(there, room, 2);
        }

        @Arbiter
        public void look(L_Result r) {
            r.r1 = words(counted && countedThere, room);
            OnTwin.Live.forget(name);
        }
    }

    @JCStressTest
    @JCStressMeta(HoldCount.class)
    @State
    public static class TwinTwoClients {
        private final String name = OnTwin.name();
        private final RedisReentrantLock here = OnTwin.Live.HERE.reentrantLock(name);
        private final RedisReentrantLock there = OnTwin.Live.THERE.reentrantLock(name);
        private final Room room = new Room(Room.A_MOMENT_NANOS);
        private boolean counted;
        private boolean countedThere;

        @Actor
        public void here() {
            counted = visit(here, room, 1);
        }

        @Actor
        public void there() {
            countedThere = visit(there, room, 2);
        }

        @Arbiter
        public void look(L_Result r) {
            r.r1 = words(counted && countedThere, room);
            OnTwin.Live.forget(name);
        }
    }

    @JCStressTest
    @JCStressMeta(HoldCount.class)
    @State
    public static class RedisTwoClients {
        private final String name = OnTwin.name();
        private final RedisReentrantLock here = OnRedis.HERE.reentrantLock(name);
        private final RedisReentrantLock there = OnRedis.THERE.reentrantLock(name);
        private final Room room = new Room(Room.A_MOMENT_NANOS);
        private boolean counted;
        private boolean countedThere;

        @Actor
        public void here() {
            counted = visit(here, room, 1);
        }

        @Actor
        public void there() {
            countedThere = visit(there, room, 2);
        }

        @Arbiter
        public void look(L_Result r) {
            r.r1 = words(counted && countedThere, room);
        }
    }

    @JCStressTest
    @JCStressMeta(HoldCount.class)
    @State
    public static class TwinBroken {
        private static final RedisLocks HERE = OnTwin.Live.client(TwinBroken::freedByInnerUnlock);
        private static final RedisLocks THERE = OnTwin.Live.client(TwinBroken::freedByInnerUnlock);

        private static Redis freedByInnerUnlock(Redis honest) {
            return new Tampered(honest, (redis, call, timeout) -> {
                Reply reply = redis.run(call, timeout);
                if (call.script().name().equals("release_inner")) {
                    // Use a leave: of a forced unlock, the holder would be notified.
                    long attempt = Long.parseLong(call.args().get(1));
                    redis.run(
                            Scripts.leave(
                                    Tampered.keysOf(call), new Owner(call.args().get(0)), attempt, true),
                            timeout);
                }
                return reply;
            });
        }

        private final String name = OnTwin.name();
        private final RedisReentrantLock here = HERE.reentrantLock(name);
        private final RedisReentrantLock there = THERE.reentrantLock(name);
        private final Room room = new Room(Room.A_WHILE_NANOS);
        private boolean counted;
        private boolean countedThere;

        @Actor
        public void here() {
            counted = visit(here, room, 1);
        }

        @Actor
        public void there() {
            countedThere = visit(there, room, 2);
        }

        @Arbiter
        public void look(L_Result r) {
            r.r1 = words(counted && countedThere, room);
            OnTwin.Live.forget(name);
        }
    }
}
