package io.github.redislocks.jfr;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.SettingDefinition;
import jdk.jfr.StackTrace;
import jdk.jfr.Timespan;

/** A thread acquired a lock, or gave up acquiring it. */
@Name("io.github.redislocks.LockWait")
@Label("Wait for a Lock")
@Description("A thread acquired a lock, or gave up acquiring it.")
@Category("Redis Locks")
@StackTrace(true)
final class LockWaitEvent extends Event {

    @Label("Lock")
    String lock = "";

    @Label("Mode")
    @Description("WRITE, READ or PERMITS")
    String mode = "";

    @Label("Outcome")
    @Description("ACQUIRED, BUSY, INTERRUPTED or FAILED")
    String outcome = "";

    @Label("Fencing Token")
    @Description("Of the hold that was acquired; 0 if none was")
    long token;

    @Label("Waited")
    @Timespan(Timespan.NANOSECONDS)
    long waited;

    @Label("Previous Holder Lost It")
    boolean previousHolderLost;

    @Label("Without a Request")
    @Description("Whether the client kept the lock")
    boolean local;

    @Label("At Least")
    @Description("Shorter waits are not recorded, unless they ended without the lock")
    @SettingDefinition
    boolean atLeast(AtLeast least) {
        return token == 0 || least.isReached(waited);
    }
}
