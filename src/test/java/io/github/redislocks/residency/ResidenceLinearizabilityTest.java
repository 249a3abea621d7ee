package io.github.redislocks.residency;

import static org.junit.jupiter.api.condition.JRE.JAVA_21;

import io.github.redislocks.LockLost;
import io.github.redislocks.events.EventNotifier;
import io.github.redislocks.fixture.FakeClock;
import io.github.redislocks.lease.Losses;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Holds;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Owner;
import io.github.redislocks.state.WaitLimit;
import java.util.List;
import org.jetbrains.kotlinx.lincheck.paramgen.ThreadIdGen;
import org.jetbrains.lincheck.datastructures.ModelCheckingOptions;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Param;
import org.jetbrains.lincheck.datastructures.Validate;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledForJreRange;

/** A residence under Lincheck, which compares it in many interleavings with a plain sequential model. */
@Order(1) // In a JVM that has run hundreds of other tests, Lincheck takes five times as long.
@EnabledForJreRange(max = JAVA_21, disabledReason = "Lincheck instruments the JDK's classes, and lags behind it")
@Tag("long")
class ResidenceLinearizabilityTest {

    private static final long NOTHING = 0;
    private static final long FIRST_TOKEN = 5;
    private static final long SECOND = 1_000_000_000;
    /** Two, and that of what comes after them. */
    private static final int THREADS = 4;

    private static ThreadLosses losses() {
        EventNotifier events = new EventNotifier(List.of());
        return new ThreadLosses(new Losses(new FakeClock(), (keys, attempt) -> {}, events, () -> {}));
    }

    /** Threads that pass a residence on, or give it up, while it is lost. */
    @Test
    void residence_underEveryInterleaving_hasOneHolder_whoIsToldItsEnd() {
        new ModelCheckingOptions()
                .threads(2)
                .actorsPerThread(3)
                .actorsBefore(0)
                .actorsAfter(2)
                .iterations(20)
                .invocationsPerIteration(100)
                .sequentialSpecification(ResidenceModel.class)
                .check(ResidenceSubject.class);
    }

    /** A residence with a lease, threads that take it and pass it on, and those who end it. */
    @Param(name = "thread", gen = ThreadIdGen.class)
    @SuppressWarnings("deprecation") // Nothing has taken the place of ThreadIdGen yet.
    public static class ResidenceSubject {

        private final FakeClock clock = new FakeClock();
        private final Residence residence =
                new Residence(clock, "client:r1", LockKeys.of("p", "a"), losses(), new Holds());
        private final Hold lease;
        /** By thread: only its own has what it took. */
        private final @Nullable ThreadHold[] taken = new ThreadHold[THREADS];

        public ResidenceSubject() {
            Attempt attempt = new Attempt(
                    1, residence.keys, residence, new Attempt.Request(30_000, true, false), WaitLimit.endless());
            long began = clock.nanoTime();
            lease = new Hold(
                    attempt, new Attempt.Grant(FIRST_TOKEN, false, began + SECOND, 0, true), 0, Long.MAX_VALUE, null);
            residence.begin(lease);
            // So that there are tokens for all.
            clock.advanceMillis(10);
            lease.extend(clock.nanoTime(), clock.nanoTime(), 30_000);
        }

        @Operation
        public long take(@Param(name = "thread") int thread) {
            if (taken[thread] != null || residence.tryTurnOrSay(Long.MAX_VALUE) != Residence.Found.TURN) {
                return NOTHING;
            }
            Hold present = residence.lease();
            ThreadHold local = present == null || !present.isValid(clock.nanoTime())
                    ? null
                    : residence.take(present, new Owner("client:" + thread), clock.nanoTime());
            if (local == null) {
                residence.turn.end();
                return NOTHING;
            }
            if (!present.isOpen() && local.lose(LockLost.Reason.TAKEN)) {
                residence.lost(local);
            }
            taken[thread] = local;
            return local.token;
        }

        @Operation
        public long passOn(@Param(name = "thread") int thread) {
            ThreadHold local = taken[thread];
            if (local == null) {
                return NOTHING;
            }
            taken[thread] = null;
            if (local.beginRelease(clock.nanoTime()) == 0) {
                return -local.token;
            }
            residence.passOn(local, clock.nanoTime());
            return local.token;
        }

        /** As Losses does it, without a log, whose thread would be Lincheck's. */
        @Operation
        public boolean lose() {
            if (!lease.lose(LockLost.Reason.TAKEN)) {
                return false;
            }
            ThreadHold local = residence.holding();
            if (local != null && local.isUnder(lease) && local.lose(LockLost.Reason.TAKEN)) {
                residence.lost(local);
            }
            residence.forget(lease);
            return true;
        }

        /** The thread that had the lock when the residence was lost was notified, and its turn has ended. */
        @Validate
        public void lost_isToldToItsHolder() {
            if (lease.isLost() && (residence.holding() != null || !residence.turn.tryTakeFirst())) {
                throw new IllegalStateException("a thread holds a lock whose residence was lost");
            }
        }

        /** An unlock that gives the residence up. */
        @Operation
        public long release(@Param(name = "thread") int thread) {
            ThreadHold local = taken[thread];
            if (local == null) {
                return NOTHING;
            }
            taken[thread] = null;
            if (local.beginRelease(clock.nanoTime()) == 0) {
                return -local.token;
            }
            if (lease.beginRelease(clock.nanoTime()) == 0) {
                if (local.lostInRelease(LockLost.Reason.TAKEN)) {
                    residence.lost(local);
                }
                return -local.token;
            }
            residence.ended(lease);
            residence.passOn(local, clock.nanoTime());
            return local.token;
        }
    }

    /** A lease of one thread at a time, until it is over. */
    public static class ResidenceModel {

        private final long[] taken = new long[THREADS];
        private long last = FIRST_TOKEN - 1;
        private boolean held;
        private boolean lost;
        private boolean over;

        public long take(int thread) {
            if (taken[thread] != 0 || held || over) {
                return NOTHING;
            }
            held = true;
            taken[thread] = ++last;
            return last;
        }

        public long passOn(int thread) {
            long token = taken[thread];
            taken[thread] = 0;
            if (token != 0) {
                held = false;
            }
            return lost ? -token : token;
        }

        public boolean lose() {
            boolean first = !over;
            lost |= first;
            over = true;
            return first;
        }

        public long release(int thread) {
            boolean had = taken[thread] != 0;
            long token = passOn(thread);
            over |= had;
            return token;
        }
    }
}
