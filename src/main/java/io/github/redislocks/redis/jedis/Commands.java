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

/** Makes the commands for Jedis, and reads the replies. */
public final class Commands {

    /** The time that the answer to WAIT may take after the wait: an idle server ends waits only every 100 ms. */
    private static final long ANSWER_NANOS = TimeUnit.MILLISECONDS.toNanos(120);

    /** The encoded numbers of keys that most scripts have. */
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

    /** Runs a script by its source. From then on the server knows the script. */
    public static CommandArguments eval(Call call, String server) {
        return withArguments(
                new CommandArguments(Command.EVAL)
                        .add(new Argument(call.script().source())),
                call,
                server);
    }

    /**
     * Lets a node of a cluster run the next command of this connection, although the command's slot is still being
     * moved to the node.
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

    /** Reads the run id from the answer to {@link #server}; empty if the server reports none. */
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

    /** Asks for the id that the server gave this connection. */
    public static CommandArguments number() {
        return new CommandArguments(Command.CLIENT).add("ID");
    }

    /**
     * Makes the server watch the keys that this connection reads after {@link #remember}. The server reports changes by
     * others on the connection {@code listener}.
     */
    public static CommandArguments track(long listener) {
        return of(List.of("CLIENT", "TRACKING", "ON", "REDIRECT", Long.toString(listener), "OPTIN", "NOLOOP"));
    }

    public static CommandArguments trackNoMore() {
        return new CommandArguments(Command.CLIENT).add("TRACKING").add("OFF");
    }

    /** Makes the server watch the keys that the next command reads. */
    public static CommandArguments remember() {
        return REMEMBER;
    }

    /**
     * Waits until replicas have confirmed all earlier writes of this connection. The wait is shorter than the time that
     * is left for the request, so that the reply comes in time.
     */
    public static CommandArguments awaitAcks(Acks acks, long leftNanos) {
        long nanos = Math.min(acks.timeoutNanos(), Math.max(leftNanos - ANSWER_NANOS, leftNanos / 4));
        // Wait for 1 ms at least: for WAIT, 0 means no time limit.
        return new CommandArguments(Command.WAIT)
                .add(acks.replicas())
                .add(Math.max(1, TimeUnit.NANOSECONDS.toMillis(nanos)));
    }

    /** Returns the reply with the number of replicas from the answer to {@link #awaitAcks}. */
    public static Reply confirmed(Call call, Reply reply, @Nullable Object answer) {
        if (answer instanceof Long replicas) {
            return reply.confirmedBy(replicas);
        }
        String why = answer instanceof JedisDataException error ? error.getMessage() : "it answered " + answer;
        throw new RedisException.Unanswered(
                "The server does not wait for replicas behind " + call.script() + ": " + why, true, null);
    }

    /**
     * Reads the reply of a script, which has one of three forms, the same in RESP2 and RESP3: a list of a code, numbers
     * and texts; a text of a code and numbers, which costs Redis less; or a number, which means the code OK with that
     * number.
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

    /** Makes a command of words. The first word is its name. */
    public static CommandArguments of(List<String> words) {
        byte[] name = words.get(0).getBytes(StandardCharsets.UTF_8);
        CommandArguments command = new CommandArguments(() -> name);
        words.subList(1, words.size()).forEach(command::add);
        return command;
    }

    /**
     * Returns the replies with texts instead of bytes. A map is a list in which each key is followed by its value, as
     * in RESP2.
     */
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
