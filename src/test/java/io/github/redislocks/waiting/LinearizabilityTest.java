package io.github.redislocks.waiting;

import static org.junit.jupiter.api.condition.JRE.JAVA_21;

import io.github.redislocks.LockLost;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Holds;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Owner;
import io.github.redislocks.state.WaitLimit;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.jetbrains.lincheck.datastructures.IntGen;
import org.jetbrains.lincheck.datastructures.ManagedStrategyGuaranteeKt;
import org.jetbrains.lincheck.datastructures.ModelCheckingOptions;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Param;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledForJreRange;

/**
 * The concurrent structures of our own under Lincheck, which runs small random scenarios in every interleaving that it
 * has time for, and compares each with a plain sequential model. {@code -Dlincheck.scenarios=500} is the long form.
 */
@Order(1) // In a JVM that has run hundreds of other tests, Lincheck takes five times as long.
@EnabledForJreRange(max = JAVA_21, disabledReason = "Lincheck instruments the JDK's classes, and lags behind it")
@Tag("long")
class LinearizabilityTest {

    /** How many scenarios each test has; the long form has more. */
    private static final int SCENARIOS = Integer.getInteger("lincheck.scenarios", 20);

    private static ModelCheckingOptions options() {
        return new ModelCheckingOptions()
                .threads(2)
                .actorsPerThread(3)
                .actorsBefore(0)
                .actorsAfter(2)
                .iterations(SCENARIOS)
                .invocationsPerIteration(300);
    }

    private static Attempt attempt(long number) {
        return new Attempt(
                number,
                LockKeys.of("p", "a"),
                new Owner("owner" + number),
                new Attempt.Request(30_000, true, false),
                WaitLimit.endless());
    }

    private static Attempt.Grant grant(long token, long deadlineNanos) {
        return new Attempt.Grant(token, false, deadlineNanos, 0, true);
    }

    @Test
    void queue_underEveryInterleaving_isALine() {
        options().sequentialSpecification(LineModel.class).check(GateSubject.class);
    }

    @Test
    void hold_underEveryInterleaving_endsOnce() {
        options().sequentialSpecification(HoldModel.class).check(HoldSubject.class);
    }

    /** The release of a handle goes on in the background: it may fail, or be too late, or be taken back. */
    @Test
    void releasingHold_underEveryInterleaving_endsInOneWay() {
        options()
                .actorsPerThread(2)
                .actorsAfter(1)
                .iterations(SCENARIOS)
                .invocationsPerIteration(150)
                .sequentialSpecification(ReleasingModel.class)
                .check(ReleasingSubject.class);
    }

    @Test
    void attempt_underEveryInterleaving_hasOneVerdict() {
        options().sequentialSpecification(VerdictModel.class).check(AttemptSubject.class);
    }

    @Test
    void holds_underEveryInterleaving_keepTheLatestOfAThread() {
        // Caffeine is trusted to do what it says, each call at once; what is checked is what we do with it.
        options()
                .addGuarantee(ManagedStrategyGuaranteeKt.forClasses(
                                (String name) -> name.startsWith("com.github.benmanes.caffeine"))
                        .allMethods()
                        .treatAsAtomic())
                .sequentialSpecification(SlotModel.class)
                .check(HoldsSubject.class);
    }

    /** A queue where one has the turn, one waits, and one may come. */
    @Param(name = "who", gen = IntGen.class, conf = "0:2")
    public static class GateSubject {

        private final LocalQueue localQueue = new LocalQueue();
        private final List<Attempt> attempts =
                IntStream.range(0, 3).mapToObj(LinearizabilityTest::attempt).toList();

        public GateSubject() {
            localQueue.enter(attempts.get(0));
            localQueue.enter(attempts.get(1));
        }

        @Operation(runOnce = true)
        public void enter() {
            localQueue.enter(attempts.get(2));
        }

        @Operation
        public void exit(@Param(name = "who") int who) {
            localQueue.exit(attempts.get(who).keys, who);
        }

        @Operation
        public boolean inherit(@Param(name = "who") int who, @Param(name = "who") int successor) {
            return localQueue.inherit(who, attempts.get(successor));
        }

        @Operation
        public int successor(@Param(name = "who") int who) {
            Attempt successor = localQueue.successor(attempts.get(who).keys, who);
            return successor == null ? -1 : (int) successor.number;
        }

        @Operation
        public LocalQueue.Left leave(@Param(name = "who") int who) {
            return localQueue.leave(attempts.get(who));
        }

        @Operation
        public boolean hasTurn(@Param(name = "who") int who) {
            return !attempts.get(who).isBehind();
        }
    }

    /** The first in the list has the turn. */
    public static class LineModel {

        private final List<Integer> line = new ArrayList<>(List.of(0, 1));
        private final boolean[] turn = {true, false, false};

        private boolean isFirst(int who) {
            return !line.isEmpty() && line.get(0) == who;
        }

        private void giveTurn() {
            if (!line.isEmpty()) {
                turn[line.get(0)] = true;
            }
        }

        public void enter() {
            line.add(2);
            giveTurn();
        }

        public void exit(int who) {
            if (isFirst(who)) {
                line.remove(0);
                giveTurn();
            }
        }

        public boolean inherit(int who, int successor) {
            if (isFirst(who) && who != successor && line.remove((Integer) successor)) {
                line.set(0, successor);
                giveTurn();
            }
            return isFirst(successor);
        }

        public int successor(int who) {
            return isFirst(who) && line.size() > 1 ? line.get(1) : -1;
        }

        public LocalQueue.Left leave(int who) {
            if (isFirst(who)) {
                return LocalQueue.Left.CONTENDING;
            }
            return line.remove((Integer) who) ? LocalQueue.Left.WAITING : LocalQueue.Left.NOWHERE;
        }

        public boolean hasTurn(int who) {
            return turn[who];
        }
    }

    /** A hold until 3, at times from 1 to 5. */
    @Param(name = "time", gen = IntGen.class, conf = "1:5")
    public static class HoldSubject {

        private final Hold hold = new Hold(attempt(1), grant(1, 3), 1, Long.MAX_VALUE, null);

        @Operation
        public boolean extend(@Param(name = "time") int now, @Param(name = "time") int deadline) {
            return hold.extend(now, deadline);
        }

        @Operation
        public boolean isValid(@Param(name = "time") int now) {
            return hold.isValid(now);
        }

        @Operation
        public boolean lose() {
            return hold.lose(LockLost.Reason.TAKEN);
        }

        @Operation
        public boolean loseIfPast(@Param(name = "time") int now) {
            return hold.loseIfPast(now);
        }

        @Operation
        public long beginRelease(@Param(name = "time") int now) {
            return hold.beginRelease(now);
        }

        @Operation
        public boolean releaseFailed() {
            return hold.releaseFailed(false);
        }

        @Operation
        public boolean beginTelling() {
            return hold.beginTelling();
        }

        @Operation
        public LockLost.Reason lossReason() {
            return hold.lossReason();
        }
    }

    /** The state of a hold, in words. */
    public static class HoldModel {

        private enum Is {
            HELD,
            RELEASING,
            LOST
        }

        private Is is = Is.HELD;
        private long until = 3;
        private LockLost.Reason reason;
        private boolean telling;

        public boolean extend(int now, int deadline) {
            boolean valid = isValid(now);
            if (valid) {
                until = Math.max(until, deadline);
            }
            return valid;
        }

        public boolean isValid(int now) {
            return is == Is.HELD && until > now;
        }

        public boolean lose() {
            return loseAs(LockLost.Reason.TAKEN, is == Is.HELD);
        }

        public boolean loseIfPast(int now) {
            return loseAs(LockLost.Reason.EXPIRED, is == Is.HELD && until <= now);
        }

        private boolean loseAs(LockLost.Reason why, boolean when) {
            if (when) {
                is = Is.LOST;
                reason = why;
            }
            return when;
        }

        public long beginRelease(int now) {
            if (!isValid(now)) {
                return 0;
            }
            is = Is.RELEASING;
            return until;
        }

        public boolean beginTelling() {
            boolean first = is == Is.LOST && !telling;
            telling |= first;
            return first;
        }

        public boolean releaseFailed() {
            return loseAs(LockLost.Reason.TAKEN, is == Is.RELEASING);
        }

        public LockLost.Reason lossReason() {
            return reason;
        }
    }

    /** A hold until 3 whose release has begun. */
    public static class ReleasingSubject {

        private final Hold hold = new Hold(attempt(1), grant(1, 3), 1, Long.MAX_VALUE, null);

        public ReleasingSubject() {
            hold.beginRelease(1);
        }

        @Operation
        public boolean releaseFailed() {
            return hold.releaseFailed(false);
        }

        @Operation
        public boolean releasedTooLate() {
            return hold.releasedTooLate();
        }

        @Operation
        public boolean lose() {
            return hold.lose(LockLost.Reason.TAKEN);
        }

        @Operation
        public LockLost.Reason lossReason() {
            return hold.lossReason();
        }
    }

    /** As what the hold was lost; nothing but its release can lose it. */
    public static class ReleasingModel {

        private LockLost.Reason reason;

        private boolean loseAs(LockLost.Reason why, boolean when) {
            boolean done = reason == null && when;
            reason = done ? why : reason;
            return done;
        }

        public boolean releaseFailed() {
            return loseAs(LockLost.Reason.TAKEN, true);
        }

        public boolean releasedTooLate() {
            return loseAs(LockLost.Reason.UNCONFIRMED, true);
        }

        public boolean lose() {
            return loseAs(LockLost.Reason.TAKEN, false);
        }

        public LockLost.Reason lossReason() {
            return reason;
        }
    }

    /** An attempt that two grants and its caller's time race for. */
    @Param(name = "token", gen = IntGen.class, conf = "1:2")
    public static class AttemptSubject {

        private final Attempt attempt = attempt(1);
        private final List<Attempt.Grant> grants = List.of(grant(0, 1), grant(1, 1), grant(2, 1));

        @Operation
        public boolean decide(@Param(name = "token") int token) {
            return attempt.decide(grants.get(token));
        }

        @Operation
        public boolean leave() {
            return attempt.leave(null);
        }

        @Operation
        public boolean leaveInSpiteOf(@Param(name = "token") int token) {
            return attempt.leave(grants.get(token));
        }

        @Operation
        public void reopen(@Param(name = "token") int token) {
            attempt.reopen(grants.get(token));
        }

        @Operation
        public boolean hasFailed() {
            return attempt.hasFailed();
        }

        @Operation
        public long verdict() {
            return attempt.verdict() instanceof Attempt.Grant grant ? grant.token() : 0;
        }
    }

    /** The token of the grant, 0 while there is no verdict, -1 when its caller has left. */
    public static class VerdictModel {

        private int verdict;

        private boolean change(int from, int to) {
            boolean done = verdict == from;
            verdict = done ? to : verdict;
            return done;
        }

        public boolean decide(int token) {
            return change(0, token);
        }

        public boolean leave() {
            return change(0, -1);
        }

        public boolean leaveInSpiteOf(int token) {
            return change(token, -1);
        }

        public void reopen(int token) {
            change(token, 0);
        }

        public boolean hasFailed() {
            return verdict < 0;
        }

        public long verdict() {
            return Math.max(0, verdict);
        }
    }

    /** The holds of one thread and lock: two plain ones, and one that was made while the first was lost. */
    @Param(name = "which", gen = IntGen.class, conf = "0:2")
    public static class HoldsSubject {

        private final Holds holds = new Holds();
        private final List<Hold> all = new ArrayList<>();

        public HoldsSubject() {
            for (int i = 0; i < 3; i++) {
                Hold below = i == 2 ? all.get(0) : null;
                all.add(new Hold(attempt(i), grant(i, Long.MAX_VALUE), 1, Long.MAX_VALUE, below));
            }
        }

        @Operation
        public void put(@Param(name = "which") int which) {
            holds.put(all.get(which));
        }

        @Operation
        public void remove(@Param(name = "which") int which) {
            holds.remove(all.get(which));
        }

        @Operation
        public void forget(@Param(name = "which") int which) {
            holds.forget(all.get(which));
        }

        @Operation
        @SuppressWarnings("ReferenceEquality") // All three are equal.
        public int get() {
            Hold hold = all.get(0);
            Hold found = holds.get(hold.keys(), hold.holder());
            for (int i = 0; i < all.size(); i++) {
                if (all.get(i) == found) {
                    return i;
                }
            }
            return -1;
        }
    }

    /** The hold that there is, or -1. */
    public static class SlotModel {

        private static final int[] BELOW = {-1, -1, 0};
        private int slot = -1;

        public void put(int which) {
            slot = which;
        }

        public void remove(int which) {
            slot = slot == which ? BELOW[which] : slot;
        }

        public void forget(int which) {
            slot = slot == which ? -1 : slot;
        }

        public int get() {
            return slot;
        }
    }
}
