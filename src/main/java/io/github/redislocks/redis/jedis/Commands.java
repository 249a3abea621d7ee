package io.github.redislocks.redis.jedis;

import io.github.redislocks.redis.Acks;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.Protocol.Command;
import redis.clients.jedis.Protocol.Keyword;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.util.KeyValue;

/** The commands as Jedis writes them, and the replies to them. */
public final class Commands {

    /** The time for the answer to WAIT beyond the wait itself: an idle server wakes its clients every 100 ms. */
    private static final long ANSWER_NANOS = TimeUnit.MILLISECONDS.toNanos(120);

    /** The key counts of most scripts, encoded. */
    private static final List<Argument> COUNTS =
            IntStream.range(0, 8).mapToObj(Commands::count).toList();

    private static final Pattern RUN_ID = Pattern.compile("run_id:(\\p{XDigit}+)");

    private static final CommandArguments REMEMBER =
            new CommandArguments(Command.CLIENT).add("CACHING").add("YES");

    private Commands() {}

    /** Runs a script that the server knows. */
    public static CommandArguments evalsha(Call call, String server) {
        return withArguments(
                new CommandArguments(Command.EVALSHA)
                        .add(new Argument(call.script().digest())),
                call,
                server);
    }

    /** Runs a script that the server does not know, which also makes the script known there. */
    public static CommandArguments eval(Call call, String server) {
        return withArguments(
                new CommandArguments(Command.EVAL)
                        .add(new Argument(call.script().source())),
                call,
                server);
    }

    /**
     * Lets a node of a cluster run the next command of this connection although the slot is still being moved there.
     */
    public static CommandArguments asking() {
        return new CommandArguments(Command.ASKING);
    }

    public static CommandArguments ping() {
        return new CommandArguments(Command.PING);
    }

    public static CommandArguments server() {
        return new CommandArguments(Command.INFO).add("server");
    }

    /** Reads the run id from the answer to {@link #server}; empty if the server does not report one. */
    public static String runId(@Nullable Object info) {
        Matcher id = RUN_ID.matcher(info instanceof byte[] bytes ? text(bytes) : "");
        return id.find() ? id.group(1) : "";
    }

    public static CommandArguments name(String connection) {
        return new CommandArguments(Command.CLIENT).add(Keyword.SETNAME).add(connection);
    }

    public static CommandArguments subscribe(String channel) {
        return new CommandArguments(Command.SUBSCRIBE).add(channel);
    }

    /** Asks for the number that the server gave this connection. */
    public static CommandArguments number() {
        return new CommandArguments(Command.CLIENT).add("ID");
    }

    /**
     * Makes the server report, on another connection that is subscribed to a channel, changes by others to the keys
     * that this connection reads after {@link #remember}.
     */
    public static CommandArguments track(long listener) {
        return of(List.of("CLIENT", "TRACKING", "ON", "REDIRECT", Long.toString(listener), "OPTIN", "NOLOOP"));
    }

    public static CommandArguments trackNoMore() {
        return new CommandArguments(Command.CLIENT).add("TRACKING").add("OFF");
    }

    /** Makes the server remember the keys that the next command reads. */
    public static CommandArguments remember() {
        return REMEMBER;
    }

    /**
     * Waits until replicas have all that this connection wrote before. The wait ends before the request's own time, to
     * leave time for the reply.
     */
    public static CommandArguments awaitAcks(Acks acks, long leftNanos) {
        long nanos = Math.min(acks.timeoutNanos(), Math.max(leftNanos - ANSWER_NANOS, leftNanos / 4));
        // At least 1: for WAIT, 0 means no time limit.
        return new CommandArguments(Command.WAIT)
                .add(acks.replicas())
                .add(Math.max(1, TimeUnit.NANOSECONDS.toMillis(nanos)));
    }

    /** A copy of a reply that contains the number of replicas from the answer to {@link #awaitAcks}. */
    public static Reply confirmed(Call call, Reply reply, @Nullable Object answer) {
        if (answer instanceof Long replicas) {
            return reply.confirmedBy(replicas);
        }
        String why = answer instanceof JedisDataException error ? error.getMessage() : "it answered " + answer;
        throw new RedisException.Unanswered(
                "The server does not wait for replicas behind " + call.script() + ": " + why, true, null);
    }

    /**
     * Reads the reply of a script: an array of a code and then numbers and texts; or, which costs Redis less, a text of
     * a code and numbers; or a number, which stands for the code OK and that number. The form is the same in RESP2 and
     * RESP3.
     *
     * @throws RedisException.Unanswered if the reply is anything else
     */
    public static Reply reply(Call call, @Nullable Object answer, boolean resent) {
        if (answer instanceof List<?> parts && !parts.isEmpty() && parts.get(0) instanceof byte[] code) {
            List<Object> values = new ArrayList<>(parts.size() - 1);
            for (int i = 1; i < parts.size(); i++) {
                Object value = parts.get(i);
                if (value instanceof byte[] text) {
                    values.add(text(text));
                } else if (value instanceof Long) {
                    values.add(value);
                } else {
                    throw unreadable(call, "neither text nor number at position " + i);
                }
            }
            return new Reply(text(code), values, resent);
        }
        if (answer instanceof Long number) {
            return new Reply("OK", List.of(number), resent);
        }
        Reply reply = answer instanceof byte[] text ? Reply.ofWords(text(text), resent) : null;
        if (reply == null) {
            throw unreadable(call, "no code");
        }
        return reply;
    }

    private static RedisException unreadable(Call call, String what) {
        return new RedisException.Unanswered("The answer to " + call.script() + " holds " + what, true, null);
    }

    /** A command of words, the first of which is its name. */
    public static CommandArguments of(List<String> words) {
        byte[] name = words.get(0).getBytes(StandardCharsets.UTF_8);
        CommandArguments command = new CommandArguments(() -> name);
        words.subList(1, words.size()).forEach(command::add);
        return command;
    }

    /** The replies with texts in place of bytes, and maps as lists of keys and values by turns, as in RESP2. */
    public static List<Object> texts(List<?> answers) {
        List<Object> texts = new ArrayList<>(answers.size());
        for (Object answer : answers) {
            if (answer instanceof KeyValue<?, ?> entry) {
                texts.addAll(texts(Arrays.asList(entry.getKey(), entry.getValue())));
            } else if (answer instanceof List<?> parts) {
                texts.add(texts(parts));
            } else {
                texts.add(answer instanceof byte[] bytes ? text(bytes) : answer);
            }
        }
        return texts;
    }

    public static String text(byte[] bytes) {
        return new String(bytes, StandardCharsets.UTF_8);
    }

    private static CommandArguments withArguments(CommandArguments request, Call call, String server) {
        List<String> keys = call.keys();
        request.add(keys.size() < COUNTS.size() ? COUNTS.get(keys.size()) : count(keys.size()));
        for (int i = 0; i < keys.size(); i++) {
            request.add(new Argument(keys.get(i)));
        }
        for (int i = 0; i < call.args().size(); i++) {
            request.add(new Argument(call.argument(i, server)));
        }
        return request;
    }

    private static Argument count(int keys) {
        return new Argument(Integer.toString(keys));
    }
}
