package io.github.redislocks.redis.jedis;

import io.github.redislocks.concurrent.IoThreads;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Causes;
import io.github.redislocks.redis.ErrorReply;
import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.RedisException;
import java.net.UnknownHostException;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisException;

/**
 * A server and the threads that talk to it. Translates the exceptions of Jedis, which no other class does.
 *
 * @param address the server's address in messages
 * @param callersConnect whether the calling threads may connect and wait for that
 */
public record Endpoint(String address, IoThreads workers, boolean callersConnect) {

    /**
     * The data of a request that ended without an answer.
     *
     * @param what the name of the request
     * @param wantedTls whether the server accepted the connection and TLS is required: then TLS may be the problem
     */
    public record Unfinished(String what, boolean sent, boolean wantedTls, long timeoutNanos) {}

    /** Makes the failure of a request from an exception of Jedis. */
    public RedisException failed(JedisException e, Unfinished request) {
        // Test the class of the exception as well: a timeout of a provider of credentials says nothing about the
        // server.
        if (e instanceof JedisConnectionException && Causes.isTimeout(e)) {
            return timedOut(request, e);
        }
        String text = request.sent
                ? "The connection to " + address + " broke during " + request.what
                : "No connection to " + address + " for " + request.what;
        Exception cause = e instanceof JedisDataException refused ? reply(refused) : e;
        return new RedisException.Unanswered(text + ": " + reason(e), request.sent, cause);
    }

    /**
     * Makes the failure for an error reply. The message starts with the server's text, whose first word identifies the
     * error. If the request was sent twice, the message says so before that text, and the failure is not a refusal: the
     * earlier copy may have run.
     */
    public RedisException refused(JedisDataException e, String what, boolean resent) {
        String text = e.getMessage() + " (" + address + ", " + what + ")";
        return resent
                ? new RedisException.Unanswered("Sent again after the connection broke: " + text, true, reply(e))
                : new RedisException.Refused(text, reply(e));
    }

    private static ErrorReply reply(JedisDataException e) {
        return new ErrorReply(String.valueOf(e.getMessage()), e);
    }

    /** Makes the outcome of a call that was answered. */
    public Outcome outcome(Call call, @Nullable Object answer, boolean resent) {
        if (answer instanceof JedisDataException error) {
            return Outcome.of(refused(error, call.script().name(), resent));
        }
        try {
            return Outcome.of(Commands.reply(call, answer, resent));
        } catch (RedisException.Unanswered unreadable) {
            return Outcome.of(unreadable);
        }
    }

    /** Makes the failure of a request that ran out of time. */
    public RedisException timedOut(Unfinished request) {
        return timedOut(request, null);
    }

    private RedisException timedOut(Unfinished request, @Nullable Throwable cause) {
        String text = request.sent
                ? " gave no answer to " + request.what
                : " accepted no connection " + (request.wantedTls ? "over TLS " : "") + "for " + request.what;
        return new RedisException.Unanswered(address + text + within(request.timeoutNanos), request.sent, cause);
    }

    public RedisException noneFree(String what, int bound, long timeoutNanos) {
        String text = "No connection to " + address + " became free for " + what + within(timeoutNanos);
        return RedisException.Unanswered.busy(text + ": all " + bound + " are in use", null);
    }

    public RedisException noThread(String what, boolean sent, @Nullable Throwable cause) {
        String text = "No thread could be started for " + what + " to " + address;
        return new RedisException.Unanswered(text + ": " + (cause == null ? "" : reason(cause)), sent, cause);
    }

    public RedisException closed(boolean sent) {
        return new RedisException.Unanswered("The connections to " + address + " have been closed", sent, null);
    }

    public static boolean isOfCredentials(JedisDataException e) {
        String text = String.valueOf(e.getMessage());
        return text.startsWith("WRONGPASS") || text.startsWith("NOAUTH");
    }

    private static String within(long timeoutNanos) {
        return " within " + TimeUnit.NANOSECONDS.toMillis(timeoutNanos) + " ms";
    }

    private static String reason(Throwable e) {
        Throwable root = Causes.root(e);
        if (root instanceof UnknownHostException) {
            return "the host is unknown";
        }
        String message = root.getMessage();
        return message != null ? message : root.getClass().getSimpleName();
    }
}
