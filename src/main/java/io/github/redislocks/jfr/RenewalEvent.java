package io.github.redislocks.jfr;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** Redis confirmed renewals of holds. */
@Name("io.github.redislocks.Renewal")
@Label("Renewals of Locks")
@Description("Redis confirmed renewals of holds.")
@Category("Redis Locks")
@StackTrace(false)
final class RenewalEvent extends Event {

    @Label("Count")
    long count;
}
