package io.github.redislocks.redis;

import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * One run of one script: the keys that it touches, all of them, and its arguments.
 *
 * @param request what it is for
 * @param acks whose confirmation to wait for behind it, or null; the reply says how many confirmed
 * @param date where among the arguments a time stands that is another for each server, or null
 */
public record Call(
        Request request,
        Script script,
        List<String> keys,
        List<String> args,
        @Nullable Acks acks,
        @Nullable Date date) {

    /** The code of the answer to a call that came after its date: it changed nothing, and tells the time. */
    public static final String LATE = "LATE";

    /** A time by the clock of the server that runs the call, which is known only when it is sent there. */
    public record Date(int argument, NotAfter notAfter) {}

    /** Tells a time by the clock of a server. */
    @FunctionalInterface
    public interface NotAfter {

        /** Asked each time that the call is sent, by the name that {@link Redis#serverOf} gives the server. */
        long micros(String server);

        /** Told of an answer that ends with the time of the server. */
        default void saw(Reply reply) {}
    }

    public Call(Request request, Script script, List<String> keys, List<String> args) {
        this(request, script, keys, args, null, null);
    }

    /** One that only one server can be asked. */
    public Call(Script script, List<String> keys, List<String> args) {
        this(Request.OfOneServer.OTHER, script, keys, args);
    }

    /** The same, with these confirmations waited for. */
    public Call with(@Nullable Acks wanted) {
        return Objects.equals(wanted, acks) ? this : new Call(request, script, keys, args, wanted, date);
    }

    /** The same call with a time of the server in the place of an argument. */
    public Call dated(int argument, NotAfter notAfter) {
        return new Call(request, script, keys, args, acks, new Date(argument, notAfter));
    }

    /** Its script: by hand, since what a record writes is linked when it is first wanted, perhaps without memory. */
    @Override
    public String toString() {
        return script.name();
    }

    /**
     * Takes the answer: notes the time of the server, if it tells that. Returns whether the call came too late for it.
     */
    public boolean isLate(Reply reply) {
        boolean late = date != null && reply.is(LATE);
        if (date != null && !reply.values().isEmpty() && (late || request.wantsLock())) {
            date.notAfter().saw(reply);
        }
        return late;
    }

    /** An argument, as it is to be sent to a server. */
    public String argument(int index, String server) {
        return date != null && date.argument() == index
                ? Long.toString(date.notAfter().micros(server))
                : args.get(index);
    }
}
