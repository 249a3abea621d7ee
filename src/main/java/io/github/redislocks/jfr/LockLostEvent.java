package io.github.redislocks.jfr;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** A hold ended without the unlock of its owner. */
@Name("io.github.redislocks.LockLost")
@Label("Loss of a Lock")
@Description("A hold ended without the unlock of its owner.")
@Category("Redis Locks")
@StackTrace(false)
final class LockLostEvent extends Event {

    @Label("Lock")
    String lock = "";

    @Label("Mode")
    @Description("WRITE, READ or PERMITS")
    String mode = "";

    @Label("Fencing Token")
    long token;

    @Label("Owner")
    String owner = "";

    @Label("Reason")
    String reason = "";
}
