package io.github.redislocks.testkit.twin;

import io.github.redislocks.redis.Script;
import io.github.redislocks.testkit.lua.Chunk;
import io.github.redislocks.testkit.lua.LuaError;
import io.github.redislocks.testkit.lua.LuaFunction;
import io.github.redislocks.testkit.lua.LuaTable;
import io.github.redislocks.testkit.lua.Machine;
import io.github.redislocks.testkit.lua.Nil;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** Runs scripts, and provides the table {@code redis} for them. Guarded by the server's lock. */
final class LuaRuntime {

    private static final double VERSION = 0x070000;

    /** The most parsed scripts in the cache, which all servers share. */
    private static final int KEPT = 100;

    private static final Map<String, Chunk> READ = new ConcurrentHashMap<>();

    private static final ThreadLocal<UnaryOperator<Script>> REPLACING =
            ThreadLocal.withInitial(UnaryOperator::identity);

    private final RedisCommands commands;
    private final UnaryOperator<Script> replacing = REPLACING.get();
    private final Machine machine = new Machine();
    private final Map<Script, Chunk> chunks = new HashMap<>();
    private @Nullable RuntimeException violation;

    /** Sets a function that replaces each script, on servers that this thread starts from now on. */
    static void replace(UnaryOperator<Script> replacing) {
        REPLACING.set(replacing);
    }

    LuaRuntime(RedisCommands commands) {
        this.commands = commands;
        LuaTable redis = new LuaTable();
        // The values do not matter: this server has no replicas.
        redis.set("REPL_NONE", 0.0);
        redis.set("REPL_ALL", 3.0);
        define(redis, "set_repl", arguments -> Nil.NIL);
        define(
                redis,
                "call",
                arguments -> invoke(arguments, text -> {
                    throw new LuaError(field("err", text));
                }));
        define(redis, "pcall", arguments -> invoke(arguments, text -> field("err", text)));
        define(redis, "error_reply", arguments -> single("err", arguments));
        define(redis, "status_reply", arguments -> single("ok", arguments));
        redis.set("REDIS_VERSION_NUM", VERSION);
        machine.define("redis", redis);
    }

    private static void define(LuaTable table, String name, LuaFunction function) {
        table.set(name, function);
    }

    /**
     * Runs a script and returns its result: a {@code List}, a {@code Long}, a {@code String} or null. The elements of a
     * list are such values, too. An element that is neither a text nor a number is null.
     *
     * @throws CommandException if the script returns or raises an error
     * @throws RuntimeException if the script does what scripts of the library must not do
     */
    @Nullable
    Object run(Script script, List<String> keys, List<String> arguments) {
        violation = null;
        commands.begin();
        machine.lend("KEYS", LuaTable.of(keys));
        machine.lend("ARGV", LuaTable.of(arguments));
        Object result;
        try {
            result = machine.run(chunk(script));
        } catch (LuaError e) {
            throw violation == null ? new CommandException(explained(script, e)) : violation;
        }
        if (violation != null) {
            throw violation;
        }
        return reply(result);
    }

    private Chunk chunk(Script script) {
        Chunk known = chunks.get(script);
        if (known == null) {
            known = read(replacing.apply(script));
            chunks.put(script, known);
        }
        return known;
    }

    private static Chunk read(Script script) {
        Chunk known = READ.get(script.source());
        if (known != null) {
            return known;
        }
        try {
            Chunk chunk = Chunk.read(Binary.of(script.source()));
            if (READ.size() < KEPT) {
                READ.put(script.source(), chunk);
            }
            return chunk;
        } catch (LuaError e) {
            throw new CommandException("ERR Error compiling script (new function): " + e.getMessage());
        }
    }

    private static String explained(Script script, LuaError error) {
        String text = "ERR " + error.getMessage();
        if (error.value() instanceof LuaTable table) {
            text = table.get("err") instanceof String told ? told : "ERR unknown error";
        }
        return error.line() == 0
                ? text
                : text + " script: " + script.sha1() + ", on @user_script:" + error.line() + '.';
    }

    private static @Nullable Object reply(Object result) {
        if (!(result instanceof LuaTable table)) {
            return value(result);
        }
        if (table.get("err") instanceof String error) {
            throw new CommandException(error);
        }
        if (table.get("ok") instanceof String status) {
            return status;
        }
        List<@Nullable Object> list = new ArrayList<>(table.length());
        for (int i = 1; table.get(i) != Nil.NIL; i++) {
            list.add(value(table.get(i)));
        }
        return list;
    }

    private static @Nullable Object value(Object value) {
        if (value instanceof Double number) {
            return (long) (double) number;
        }
        if (value instanceof String) {
            return value;
        }
        return value == Boolean.TRUE ? (Object) 1L : null;
    }

    /** Runs a command for a script. */
    private Object invoke(Object[] arguments, Function<String, Object> onError) {
        try {
            return lua(commands.run(texts(arguments)));
        } catch (CommandException e) {
            return onError.apply(e.getMessage());
        } catch (LuaError e) {
            throw e;
        } catch (RuntimeException e) {
            // Remember the exception, to throw it even if the script catches the error by pcall.
            violation = e;
            return onError.apply("ERR " + e.getMessage());
        }
    }

    private static String[] texts(Object[] arguments) {
        if (arguments.length == 0) {
            throw new CommandException("ERR Please specify at least one argument for this redis lib call");
        }
        String[] texts = new String[arguments.length];
        for (int i = 0; i < texts.length; i++) {
            if (arguments[i] instanceof String text) {
                texts[i] = text;
            } else if (arguments[i] instanceof Double number) {
                texts[i] = Numbers.text(number);
            } else {
                throw new CommandException("ERR Lua redis lib command arguments must be strings or integers");
            }
        }
        return texts;
    }

    private static Object lua(@Nullable Object reply) {
        if (reply == null) {
            return false;
        } else if (reply instanceof String) {
            return reply;
        } else if (reply instanceof Long number) {
            return (double) number;
        } else if (reply instanceof RedisCommands.Status status) {
            return field("ok", status.text());
        } else if (reply instanceof List<?> list) {
            Object[] values = new Object[list.size()];
            for (int i = 0; i < values.length; i++) {
                values[i] = lua(list.get(i));
            }
            return LuaTable.of(values);
        }
        throw new IllegalStateException("No reply is a " + reply.getClass());
    }

    private static LuaTable field(String name, String text) {
        LuaTable table = new LuaTable();
        table.set(name, text);
        return table;
    }

    /** Makes a reply table with one field. */
    private static Object single(String name, Object[] arguments) {
        if (arguments.length != 1 || !(arguments[0] instanceof String text)) {
            return field("err", "ERR wrong number or type of arguments");
        }
        return field(name, name.equals("err") ? coded(text) : text);
    }

    /** Returns the text of an error reply. A text of one word has no code, and gets the code ERR. */
    private static String coded(String text) {
        if (text.startsWith("-")) {
            return text.substring(1);
        }
        return text.indexOf(' ') >= 0 ? text : "ERR " + text;
    }
}
