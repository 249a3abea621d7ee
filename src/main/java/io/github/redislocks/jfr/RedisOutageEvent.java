package io.github.redislocks.jfr;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import jdk.jfr.Timespan;

/** Redis does not answer, or answers again. */
@Name("io.github.redislocks.RedisOutage")
@Label("Outage of Redis")
@Description("Redis does not answer, or answers again.")
@Category("Redis Locks")
@StackTrace(false)
final class RedisOutageEvent extends Event {

    @Label("Server")
    String server = "";

    @Label("Failure")
    String failure = "";

    @Label("Ended")
    boolean ended;

    @Label("Lasted")
    @Description("Until now, from the sending of the first request that failed")
    @Timespan(Timespan.NANOSECONDS)
    long lasted;
}
