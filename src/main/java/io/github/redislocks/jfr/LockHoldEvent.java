package io.github.redislocks.jfr;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.SettingDefinition;
import jdk.jfr.StackTrace;
import jdk.jfr.Timespan;

/** A lock was released by its owner. */
@Name("io.github.redislocks.LockHold")
@Label("Hold of a Lock")
@Description("A lock was released by its owner.")
@Category("Redis Locks")
@StackTrace(true)
final class LockHoldEvent extends Event {

    @Label("Lock")
    String lock = "";

    @Label("Mode")
    @Description("WRITE, READ or PERMITS")
    String mode = "";

    @Label("Fencing Token")
    long token;

    @Label("Held")
    @Timespan(Timespan.NANOSECONDS)
    long held;

    @Label("At Least")
    @Description("Shorter holds are not recorded")
    @SettingDefinition
    boolean atLeast(AtLeast least) {
        return least.isReached(held);
    }
}
