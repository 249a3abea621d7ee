package io.github.redislocks.redis;

import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Advice for the user on a failure: a sentence, chosen by the error text of the server or of Java. */
public final class Remedy {

    private static final String RIGHTS =
            "Grant what docs/redis.md lists under \"Rights\", or check the key prefix: that right may be for other keys.";

    private static final String LOGIN = "Check the user and the password.";

    private static final String NO_TLS =
            "If that port takes TLS, write rediss:// in place of redis://; else check the server's log.";

    private static final String NO_SENTINEL = "Name the Sentinels, which mostly listen at port 26379.";

    private static final String BROKEN = "Check the server and the way to it.";
    private static final int DEEP = 8;

    /** The remedies for error replies, by the start of the server's text. */
    private static final List<Rule> OF_REFUSALS = List.of(
            new Rule("NOPERM", RIGHTS),
            new Rule("The user executing the script can't", RIGHTS),
            new Rule("ERR The user executing the script can't", RIGHTS),
            new Rule("WRONGPASS", LOGIN),
            new Rule("NOAUTH", LOGIN),
            new Rule("ERR AUTH", LOGIN),
            new Rule(
                    "OOM",
                    "Its memory is full: raise maxmemory, free some of it, or give the locks a server of their own."),
            new Rule(
                    "READONLY",
                    "It is a replica: check where the address leads, or let the client find the master by"
                            + " redis-sentinel:// or redis-cluster://."),
            new Rule(
                    "LOADING",
                    "It is reading its data after a start: wait longer by a larger retryFor or tryLock time."),
            new Rule("BUSY", "Somebody's script keeps it busy: see SLOWLOG GET and SCRIPT KILL."),
            new Rule(
                    "MISCONF",
                    "It cannot save its data: see its log, free its disk, and check stop-writes-on-bgsave-error."),
            new Rule("NOREPLICAS", "Too few replicas are there for its min-replicas-to-write: check them."),
            new Rule("MASTERDOWN", "It is a replica without its master: connect to the master."),
            new Rule(
                    "CLUSTERDOWN",
                    "It is a node of a cluster that does not serve all slots: see CLUSTER INFO there, and connect by"
                            + " redis-cluster://."),
            new Rule(
                    "ERR max number of clients",
                    "Raise its maxclients, or close connections that CLIENT LIST shows and nobody needs."),
            new Rule("ERR unknown command 'SENTINEL", NO_SENTINEL),
            new Rule("ERR unknown command `SENTINEL", NO_SENTINEL),
            new Rule(
                    "ERR DB index",
                    "It has no database of that number: name one that is smaller than its setting \"databases\"."),
            new Rule(
                    "ERR unknown command",
                    "It is no Redis or Valkey of 6.2 or later, or its commands were renamed, so that locks"
                            + " cannot work."));

    /** The remedies for missing replies, by a text in the message of any exception in the chain of causes. */
    private static final List<Rule> OF_SILENCE = List.of(
            new Rule(
                    "Unsupported or unrecognized SSL message",
                    "That port does not take TLS: write redis:// in place of rediss://, or name the port that does."),
            new Rule(
                    "PKIX path",
                    "Its certificate is of an authority that this JVM does not trust: name that authority by the system"
                            + " property javax.net.ssl.trustStore, or by SslOptions to the builder."),
            new Rule(
                    "No subject alternative",
                    "Its certificate is for another host: connect by a name that stands in it, or have one made for this."),
            new Rule(
                    "No name matching",
                    "Its certificate is for another host: connect by a name that stands in it, or have one made for this."),
            new Rule("Unknown reply", "That is not how Redis answers: check the host and the port."),
            new Rule("SSL peer shut down", BROKEN),
            new Rule("terminated the handshake", "See the server's log for why it refused TLS."),
            new Rule("the host is unknown", "Check the host's name."),
            new Rule("Connection refused", "Check the host and the port, and that the server runs."),
            new Rule("became free", "Raise maxConnections, or let fewer threads lock at once."),
            new Rule("No Sentinel names", "Check the addresses of the Sentinels, and the master's name."),
            new Rule("No node of the cluster", "Check the addresses, and that these nodes run."),
            new Rule(
                    "over TLS",
                    "If that port does not take TLS, write redis:// in place of rediss://; else check the server and the"
                            + " way to it."),
            new Rule("The connection to", BROKEN),
            new Rule(
                    " within ",
                    "Check the server and the way to it, or allow more time by commandTimeout, retryFor or tryLock."));

    private Remedy() {}

    private record Rule(String text, String remedy) {}

    /** The remedy for a failure. */
    public static String of(RedisException failure) {
        return known(failure).orElse("Check the server's state and its log.");
    }

    private static Optional<String> known(RedisException failure) {
        if (failure.getCause() instanceof RedisException cause) {
            Optional<String> ofCause = known(cause);
            if (ofCause.isPresent()) {
                return ofCause;
            }
        }
        if (failure instanceof RedisException.Unanswered && isCutAtOnce(failure)) {
            return Optional.of(NO_TLS);
        }
        Optional<Rule> rule = failure instanceof RedisException.Refused refused
                ? OF_REFUSALS.stream().filter(each -> refused.says(each.text)).findFirst()
                : OF_SILENCE.stream()
                        .filter(each -> said(failure, each.text, DEEP))
                        .findFirst();
        return rule.map(Rule::remedy);
    }

    /** Whether the server closed the connection before it had sent a byte. */
    private static boolean isCutAtOnce(RedisException failure) {
        return String.valueOf(failure.getMessage()).startsWith("No connection to")
                && (said(failure, "Unexpected end of stream", DEEP) || said(failure, "Connection reset", DEEP));
    }

    /**
     * Whether the message of an exception in the chain of causes contains the text.
     *
     * @param depth the most exceptions to search, since a chain may be a circle
     */
    private static boolean said(@Nullable Throwable failure, String text, int depth) {
        if (failure == null || depth == 0) {
            return false;
        }
        if (String.valueOf(failure.getMessage()).contains(text) || said(failure.getCause(), text, depth - 1)) {
            return true;
        }
        for (Throwable suppressed : failure.getSuppressed()) {
            if (said(suppressed, text, depth - 1)) {
                return true;
            }
        }
        return false;
    }
}
