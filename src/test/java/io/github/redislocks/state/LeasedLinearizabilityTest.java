package io.github.redislocks.state;

import static org.junit.jupiter.api.condition.JRE.JAVA_21;

import io.github.redislocks.state.Leased.Asker;
import org.jetbrains.kotlinx.lincheck.paramgen.BooleanGen;
import org.jetbrains.kotlinx.lincheck.paramgen.IntGen;
import org.jetbrains.lincheck.datastructures.ModelCheckingOptions;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Param;
import org.jetbrains.lincheck.datastructures.Validate;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledForJreRange;

/** What Redis may still have of a hold, under Lincheck: the owner's thread and the watchdog ask at the same time. */
@Order(1) // In a JVM that has run hundreds of other tests, Lincheck takes five times as long.
@EnabledForJreRange(max = JAVA_21, disabledReason = "Lincheck instruments the JDK's classes, and lags behind it")
@Tag("long")
class LeasedLinearizabilityTest {

    private static Hold hold() {
        Attempt attempt = new Attempt(
                1, LockKeys.of("p", "a"), new Owner("owner"), new Attempt.Request(1, true, false), WaitLimit.endless());
        return new Hold(attempt, new Attempt.Grant(5, false, 100, 0, true), 0, Long.MAX_VALUE, null);
    }

    private static Asker asker(boolean owner) {
        return owner ? Asker.OWNER : Asker.WATCHDOG;
    }

    private static ModelCheckingOptions options() {
        return new ModelCheckingOptions()
                .threads(2)
                .actorsPerThread(3)
                .actorsBefore(0)
                .actorsAfter(2)
                .iterations(20)
                .invocationsPerIteration(100);
    }

    @Test
    void requests_underEveryInterleaving_areAllCounted() {
        options().sequentialSpecification(RequestsModel.class).check(Requests.class);
    }

    /** A request that was sent before the loss, and not answered, is found by the thread that declared the loss. */
    @Test
    void loss_underEveryInterleaving_seesEachRequestThatIsSent() {
        options().sequentialSpecification(LossModel.class).check(Loss.class);
    }

    /** Two threads that ask. */
    @Param(name = "lease", gen = IntGen.class, conf = "1:3")
    @Param(name = "owner", gen = BooleanGen.class)
    @SuppressWarnings("deprecation") // Nothing has taken the place of these generators yet.
    public static class Requests {

        private final Hold hold = hold();

        @Operation
        public boolean ask(@Param(name = "owner") boolean owner, @Param(name = "lease") int lease) {
            return hold.ask(asker(owner), lease);
        }

        @Operation
        public void answered(@Param(name = "owner") boolean owner, @Param(name = "owner") boolean once) {
            hold.answered(asker(owner), once);
        }

        @Operation
        public void refused(@Param(name = "owner") boolean owner) {
            hold.refused(asker(owner));
        }

        @Operation
        public boolean isUnanswered() {
            return hold.isUnanswered();
        }

        @Operation
        public boolean mayOutlast() {
            return hold.mayOutlast();
        }

        @Operation
        public long longest() {
            return hold.longestLeaseMillis();
        }
    }

    /** The same of one thread, for a hold that is renewed. */
    public static class RequestsModel {

        private boolean ownerOpen;
        private boolean renewalOpen;
        private boolean late;
        private long longest = 1;

        public boolean ask(boolean owner, int lease) {
            late |= owner ? ownerOpen : renewalOpen;
            ownerOpen |= owner;
            renewalOpen |= !owner;
            longest = Math.max(longest, lease);
            return true;
        }

        public void answered(boolean owner, boolean once) {
            late |= !once || (!owner && ownerOpen);
            ownerOpen = false;
            renewalOpen &= owner;
        }

        public void refused(boolean owner) {
            ownerOpen &= !owner;
            renewalOpen &= owner;
        }

        public boolean isUnanswered() {
            return ownerOpen || renewalOpen;
        }

        public boolean mayOutlast() {
            return isUnanswered() || late;
        }

        public long longest() {
            return longest;
        }
    }

    /** A thread that asks while another declares the loss. */
    public static class Loss {

        private final Hold hold = hold();
        private volatile boolean sent;
        private volatile boolean lost;
        private volatile boolean ended;

        @Operation
        public void ask() {
            if (hold.ask(Asker.OWNER, 1)) {
                sent = true;
            }
        }

        @Operation
        public void lose() {
            if (hold.loseIfPast(Long.MAX_VALUE)) {
                ended = hold.isToEndInRedis();
                lost = true;
            }
        }

        @Validate
        public void requestThatWasSent_isEnded() {
            if (sent && lost && !ended) {
                throw new IllegalStateException("nobody ends what the request may have given");
            }
        }
    }

    /** Returns nothing, so that only the check at the end counts. */
    public static class LossModel {

        public void ask() {}

        public void lose() {}
    }
}
