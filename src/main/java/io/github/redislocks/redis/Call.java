package io.github.redislocks.redis;

import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A call of a script: all keys that the script touches, and its arguments.
 *
 * @param request what the call is for
 * @param acks the replica confirmations to wait for after the call, or null; the reply says how many replicas confirmed
 * @param notAfter the deadline by the server's own clock: if the call runs later, it changes nothing; null if there is
 *     none
 * @param dated the index of the argument that contains the deadline, which is known only when the call is sent
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
     * The code of the reply to a call that ran after its deadline: it changed nothing, and the reply has the server's
     * time.
     */
    public static final String LATE = "LATE";

    /** The deadline of a call, by the clock of the server: a call that runs later has no effect. */
    @FunctionalInterface
    public interface NotAfter {

        /**
         * The deadline for the server with this name, as {@link Redis#serverOf} returns it. Called each time the call
         * is sent.
         */
        long micros(String server);

        /** Notes a reply, which may have the server's time. */
        default void saw(Reply reply) {}
    }

    public Call(Request request, Script script, List<String> keys, List<String> args) {
        this(request, script, keys, args, null, null, 0);
    }

    /** Makes a call that only a single server can run, not a quorum. */
    public Call(Script script, List<String> keys, List<String> args) {
        this(Request.OfOneServer.OTHER, script, keys, args);
    }

    /** A copy that waits for these confirmations. */
    public Call with(@Nullable Acks wanted) {
        return Objects.equals(wanted, acks) ? this : new Call(request, script, keys, args, wanted, notAfter, dated);
    }

    /** A copy in which the argument at this index is a deadline by the server's clock. */
    public Call dated(int argument, NotAfter date) {
        return new Call(request, script, keys, args, acks, date, argument);
    }

    /** A copy that another script runs, with these keys and arguments. */
    public Call with(Script other, List<String> otherKeys, List<String> otherArgs) {
        return new Call(request, other, otherKeys, otherArgs, acks, notAfter, dated);
    }

    /** The script's name. The record's own toString() is linked at its first call, when there may be no memory. */
    @Override
    public String toString() {
        return script.name();
    }

    /** Notes the server's time if the reply has it, and returns whether the call ran too late. */
    public boolean isLate(Reply reply) {
        if (notAfter == null) {
            return false;
        }
        notAfter.saw(reply);
        return reply.is(LATE);
    }

    /** The argument at an index, as it has to be sent to {@code server}. */
    public String argument(int index, String server) {
        return notAfter != null && dated == index ? Long.toString(notAfter.micros(server)) : args.get(index);
    }
}
