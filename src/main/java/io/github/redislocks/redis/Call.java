package io.github.redislocks.redis;

import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A call of a script, with all keys that the script touches and the arguments.
 *
 * @param request what the call is for
 * @param acks the confirmations by replicas to wait for after the call, or null; the reply says how many came
 * @param notAfter the deadline, by the server's clock, after which the call changes nothing; null if there is none
 * @param dated the index of the argument for the deadline, which is filled in when the call is sent
 */
public record Call(
        Request request,
        Script script,
        List<String> keys,
        List<String> args,
        @Nullable Acks acks,
        @Nullable NotAfter notAfter,
        int dated) {

    /**
     * The code of the reply to a call that ran after its deadline, and so changed nothing. The reply has the server's
     * time.
     */
    public static final String LATE = "LATE";

    /** The deadline of a call, by the clock of the server. A call that runs later has no effect. */
    @FunctionalInterface
    public interface NotAfter {

        /**
         * Returns the deadline by the clock of one server. Called each time the call is sent.
         *
         * @param server the server's name, as {@link Redis#serverOf} returns it
         */
        long micros(String server);

        /** Notes the reply, which may contain the server's time. */
        default void saw(Reply reply) {}
    }

    public Call(Request request, Script script, List<String> keys, List<String> args) {
        this(request, script, keys, args, null, null, 0);
    }

    /** Makes a call that only a single server can run, not a quorum. */
    public Call(Script script, List<String> keys, List<String> args) {
        this(Request.OfOneServer.OTHER, script, keys, args);
    }

    /** A copy that waits for the given confirmations. */
    public Call with(@Nullable Acks wanted) {
        return Objects.equals(wanted, acks) ? this : new Call(request, script, keys, args, wanted, notAfter, dated);
    }

    /** A copy with a deadline, for which the argument at the given index stands. */
    public Call dated(int argument, NotAfter date) {
        return new Call(request, script, keys, args, acks, date, argument);
    }

    /** A copy with another script, and with that script's keys and arguments. */
    public Call with(Script other, List<String> otherKeys, List<String> otherArgs) {
        return new Call(request, other, otherKeys, otherArgs, acks, notAfter, dated);
    }

    /** The script's name. Not the generated toString(): its first call needs memory, of which there may be none. */
    @Override
    public String toString() {
        return script.name();
    }

    /** Returns whether the call ran too late. Notes the server's time if the reply has it. */
    public boolean isLate(Reply reply) {
        if (notAfter == null) {
            return false;
        }
        notAfter.saw(reply);
        return reply.is(LATE);
    }

    /** The argument at an index; if that is the deadline, by the clock of {@code server}. */
    public String argument(int index, String server) {
        return notAfter != null && dated == index ? Long.toString(notAfter.micros(server)) : args.get(index);
    }
}
