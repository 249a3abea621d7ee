package io.github.redislocks;

import io.github.redislocks.concurrent.MemoryEdge;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressMeta;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;
import org.openjdk.jcstress.infra.results.L_Result;

/**
 * Claim: what a holder wrote before {@code unlock()} is visible to the next holder, whichever clients of the JVM the
 * two use, and although the fields are not volatile.
 *
 * <pre>
 *   java -jar target/jcstress.jar -t 'Visibility'
 *
 *   half of it       FORBIDDEN   the later write was seen, the earlier was not
 *   all of it        acceptable  the reader came second
 *   nothing of it    acceptable  the reader came first
 * </pre>
 *
 * The in-memory twin makes a happens-before edge, which sockets do not make, and might hide that {@code LockEngine}
 * makes none. So {@code Core*} tests the edge alone: each of two threads writes, passes the edge, and reads what the
 * other thread writes. The thread that passes the edge later must see the other thread's write.
 *
 * <pre>
 *   0, 0             FORBIDDEN   neither saw the other
 *   all others       acceptable
 * </pre>
 *
 * The broken twins are a Redis that grants the lock to every caller, and an edge that only reads, which rarely shows.
 */
@Outcome(id = Visibility.HALF, expect = Expect.FORBIDDEN, desc = "The later write was seen, the earlier was not.")
@Outcome(id = Visibility.ALL, expect = Expect.ACCEPTABLE, desc = "The reader came second.")
@Outcome(id = Visibility.NOTHING, expect = Expect.ACCEPTABLE, desc = "The reader came first.")
public class Visibility {

    static final String HALF = "half of it";
    static final String ALL = "all of it";
    static final String NOTHING = "nothing of it";

    /** The shared data. The fields are plain on purpose. */
    private static final class Notes {
        private int first;
        private int second;
        private boolean read;

        /** Writes one value, waits until it is read or the given time is over, and writes the other value. */
        void write(long stayNanos) {
            first = 1;
            long end = System.nanoTime() + stayNanos;
            while (!read && System.nanoTime() < end) {
                Thread.yield();
            }
            second = 1;
        }

        /** Waits until a value is written, for some time at most. */
        void await() {
            for (int i = 0; i < 200 && first == 0; i++) {
                Thread.yield();
            }
        }

        String read() {
            int sum = first + second;
            read = true;
            return sum == 0 ? NOTHING : sum == 2 ? ALL : HALF;
        }
    }

    private static void write(RedisReentrantLock lock, Notes notes) {
        lock.lock();
        try {
            notes.write(Room.A_MOMENT_NANOS);
        } finally {
            lock.unlock();
        }
    }

    private static String read(RedisReentrantLock lock, Notes notes) {
        lock.lock();
        try {
            return notes.read();
        } finally {
            lock.unlock();
        }
    }

    @JCStressTest
    @Outcome(id = "0, 0", expect = Expect.FORBIDDEN, desc = "Neither saw the other: there is no edge.")
    @Outcome(expect = Expect.ACCEPTABLE, desc = "The later one saw the earlier's write.")
    @State
    public static class CoreEdge {
        private int mine;
        private int yours;

        @Actor
        public void one(II_Result r) {
            mine = 1;
            MemoryEdge.publish();
            r.r1 = yours;
        }

        @Actor
        public void other(II_Result r) {
            yours = 1;
            MemoryEdge.publish();
            r.r2 = mine;
        }
    }

    @JCStressTest
    @Outcome(id = "0, 0", expect = Expect.FORBIDDEN, desc = "To be caught: reading alone makes no edge.")
    @Outcome(expect = Expect.ACCEPTABLE, desc = "The later one saw the earlier's write.")
    @State
    public static class CoreEdgeLucky {
        private static volatile long edge;
        private int mine;
        private int yours;
        private long seen;

        @Actor
        public void one(II_Result r) {
            mine = 1;
            seen = edge;
            r.r1 = yours;
        }

        @Actor
        public void other(II_Result r) {
            yours = 1;
            seen = edge;
            r.r2 = mine;
        }
    }

    @JCStressTest
    @JCStressMeta(Visibility.class)
    @State
    public static class TwinOneClient {
        private final String name = OnTwin.name();
        private final RedisReentrantLock lock = OnTwin.Live.HERE.reentrantLock(name);
        private final Notes notes = new Notes();

        @Actor
        public void writer() {
            write(lock, notes);
        }

        @Actor
        public void reader(L_Result r) {
            r.r1 = read(lock, notes);
        }
    }

    @JCStressTest
    @JCStressMeta(Visibility.class)
    @State
    public static class TwinTwoClients {
        private final String name = OnTwin.name();
        private final RedisReentrantLock here = OnTwin.Live.HERE.reentrantLock(name);
        private final RedisReentrantLock there = OnTwin.Live.THERE.reentrantLock(name);
        private final Notes notes = new Notes();

        @Actor
        public void writer() {
            write(here, notes);
        }

        @Actor
        public void reader(L_Result r) {
            r.r1 = read(there, notes);
        }
    }

    @JCStressTest
    @JCStressMeta(Visibility.class)
    @State
    public static class RedisTwoClients {
        private final String name = OnTwin.name();
        private final RedisReentrantLock here = OnRedis.HERE.reentrantLock(name);
        private final RedisReentrantLock there = OnRedis.THERE.reentrantLock(name);
        private final Notes notes = new Notes();

        @Actor
        public void writer() {
            write(here, notes);
        }

        @Actor
        public void reader(L_Result r) {
            r.r1 = read(there, notes);
        }
    }

    @JCStressTest
    @JCStressMeta(Visibility.class)
    @State
    public static class TwinBroken {
        private static final RedisLocks HERE = OnTwin.Live.client(Tampered::withoutExclusion);
        private static final RedisLocks THERE = OnTwin.Live.client(Tampered::withoutExclusion);
        private final String name = OnTwin.name();
        private final RedisReentrantLock here = HERE.reentrantLock(name);
        private final RedisReentrantLock there = THERE.reentrantLock(name);
        private final Notes notes = new Notes();

        @Actor
        public void writer() {
            here.lock();
            notes.write(Room.A_WHILE_NANOS);
            unlockAnyway(here);
        }

        @Actor
        public void reader(L_Result r) {
            there.lock();
            notes.await();
            r.r1 = notes.read();
            unlockAnyway(there);
        }

        private static void unlockAnyway(RedisReentrantLock lock) {
            try {
                lock.unlock();
            } catch (LockLostException e) {
                // Ignored: the broken Redis knows only one of the holds.
            }
        }
    }
}
