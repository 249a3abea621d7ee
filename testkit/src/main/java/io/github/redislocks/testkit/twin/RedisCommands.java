package io.github.redislocks.testkit.twin;

import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The commands that scripts may call, by name. This class contains the commands on keys and strings.
 *
 * <p>A reply is a {@code Long}, a {@code String}, a {@link Status}, a {@code List} of these, or null for nil.
 */
final class RedisCommands {

    private static final Long ONE = 1L;
    private static final Long ZERO = 0L;
    private static final Status OK = new Status("OK");

    /** A status reply, such as OK. */
    record Status(String text) {}

    /** A command. The first argument is the command's name. */
    interface Command {
        @Nullable
        Object run(Keyspace keys, String[] arguments);
    }

    /** Publishes messages, and returns how many subscribers a message has reached. */
    interface Publisher {
        long publish(String channel, String message);
    }

    private record Known(int arity, Command command) {}

    /**
     * The commands that Redis refuses when its memory is full. After its first write command, a script may call them
     * all the same.
     */
    private static final Set<String> GROWING = Set.of("set", "append", "hset", "hsetnx", "hincrby", "zadd");

    private static final Set<String> SHRINKING = Set.of("del", "pexpire", "hdel", "zrem", "zpopmin");

    /** The commands that read one key. */
    private static final Set<String> READING = Set.of("get", "hget", "hmget", "hgetall", "pttl");

    private final Map<String, Known> known = new HashMap<>();
    private final Keyspace keys;
    private final AtomicBoolean full = new AtomicBoolean();
    private boolean written;
    /** The keys that a script has read and not written since; null if no client tracks keys. */
    private @Nullable Set<String> readLast;

    RedisCommands(Keyspace keys, Publisher publisher, BooleanSupplier clustered) {
        this.keys = keys;
        add("publish", 3, (none, arguments) -> publisher.publish(arguments[1], arguments[2]));
        add("info", -1, (data, arguments) -> info(data, clustered.getAsBoolean()));
        add("time", 1, (clock, arguments) -> time(clock));
        add("exists", -2, RedisCommands::exists);
        add("scan", -2, RedisCommands::scan);
        add("del", -2, RedisCommands::del);
        add("pttl", 2, (data, arguments) -> data.pttl(arguments[1]));
        add("pexpire", -3, RedisCommands::pexpire);
        add("get", 2, (data, arguments) -> data.string(arguments[1]));
        add("set", -3, RedisCommands::set);
        add("append", 3, RedisCommands::append);
        HashCommands.addTo(this);
        ScoredSetCommands.addTo(this);
    }

    void full(boolean value) {
        full.set(value);
    }

    /** Prepares for the commands of the next script. */
    void begin() {
        written = false;
    }

    /**
     * Adds a command.
     *
     * @param arity the number of arguments, including the name; negative if there may be more, as in Redis
     */
    void add(String name, int arity, Command command) {
        known.put(name, new Known(arity, command));
    }

    /**
     * Runs one command.
     *
     * @throws CommandException if a real Redis would refuse the command
     * @throws UnsupportedOperationException if this class does not implement the command or an option
     */
    @Nullable
    Object run(String[] arguments) {
        Known entry = known.get(arguments[0]);
        if (entry == null) {
            entry = known.get(arguments[0].toLowerCase(Locale.ROOT));
            if (entry == null) {
                throw unsupported("the command " + arguments[0]);
            }
        }
        if (entry.arity > 0 ? arguments.length != entry.arity : arguments.length < -entry.arity) {
            throw new CommandException("ERR Wrong number of args calling Redis command from script");
        }
        String name = arguments[0].toLowerCase(Locale.ROOT);
        if (keys.isReplica() && (GROWING.contains(name) || SHRINKING.contains(name))) {
            throw new CommandException("READONLY You can't write against a read only replica.");
        }
        if (full.get()) {
            checkRoom(name);
        }
        if (readLast != null) {
            note(readLast, name, arguments);
        }
        return entry.command.run(keys, arguments);
    }

    /**
     * From now on, adds each key that a script reads to the given set, and removes each key that a script writes.
     *
     * @param read the set; null to note reads no longer
     */
    void noteReads(@Nullable Set<String> read) {
        readLast = read;
    }

    private static void note(Set<String> read, String name, String[] arguments) {
        if (GROWING.contains(name) || SHRINKING.contains(name)) {
            read.remove(arguments[1]);
        } else if (name.equals("exists")) {
            read.addAll(List.of(arguments).subList(1, arguments.length));
        } else if (READING.contains(name)) {
            read.add(arguments[1]);
        }
    }

    private void checkRoom(String name) {
        if (!written && GROWING.contains(name)) {
            throw new CommandException("OOM command not allowed when used memory > 'maxmemory'.");
        }
        written |= GROWING.contains(name) || SHRINKING.contains(name);
    }

    static UnsupportedOperationException unsupported(String what) {
        return new UnsupportedOperationException("The in-memory Redis does not know " + what + ": implement it here.");
    }

    static Long flag(boolean value) {
        return value ? ONE : ZERO;
    }

    static boolean is(String argument, String option) {
        return argument.equalsIgnoreCase(option);
    }

    private static Object info(Keyspace keys, boolean clustered) {
        return "redis_version:7.0.15\r\nrole:" + (keys.isReplica() ? "slave" : "master")
                + "\r\nmaxmemory_policy:noeviction\r\nuptime_in_seconds:"
                + keys.uptimeSeconds() + "\r\nrun_id:" + keys.runId()
                + "\r\nsecond_repl_offset:" + (keys.isPromoted() ? "17" : "-1") + "\r\ncluster_enabled:"
                + (clustered ? "1\r\n" : "0\r\n");
    }

    private static Object time(Keyspace clock) {
        long now = clock.nowMicros();
        return List.of(Long.toString(now / 1_000_000), Long.toString(now % 1_000_000));
    }

    private static Object exists(Keyspace keys, String[] arguments) {
        long found = 0;
        for (int i = 1; i < arguments.length; i++) {
            found += keys.exists(arguments[i]) ? 1 : 0;
        }
        return found;
    }

    /** Returns all keys at once. SCAN may do so, since its count is only a hint. */
    private static Object scan(Keyspace keys, String[] arguments) {
        if (!arguments[1].equals("0")) {
            throw unsupported("a cursor that it did not give");
        }
        String pattern = "*";
        for (int i = 2; i < arguments.length; i += 2) {
            if (is(arguments[i], "match")) {
                pattern = arguments[i + 1];
            } else if (!is(arguments[i], "count")) {
                throw unsupported("the option " + arguments[i] + " of SCAN");
            }
        }
        return List.of("0", keys.scan(Glob.of(pattern)));
    }

    private static Object del(Keyspace keys, String[] arguments) {
        long gone = 0;
        for (int i = 1; i < arguments.length; i++) {
            gone += keys.delete(arguments[i]) ? 1 : 0;
        }
        return gone;
    }

    private static Object pexpire(Keyspace keys, String[] arguments) {
        boolean raise = arguments.length > 3;
        if (raise && (arguments.length > 4 || !is(arguments[3], "gt"))) {
            throw unsupported("the options of PEXPIRE but GT");
        }
        long millis = Numbers.whole(arguments[2]);
        long at = keys.nowMillis() + millis;
        if (millis > 0 && at < 0) {
            throw new CommandException("ERR invalid expire time in 'pexpire' command");
        }
        // NEVER is greater than every expiry, so a key that never expires is not changed by GT.
        return flag((!raise || at > keys.expiryMillis(arguments[1])) && keys.expireAt(arguments[1], at));
    }

    /** The options of SET. */
    private static final class SetOptions {
        private boolean ifAbsent;
        private boolean ifPresent;
        private boolean get;
        private boolean keep;
        private long millis = Keyspace.NEVER;

        SetOptions(String[] arguments) {
            for (int i = 3; i < arguments.length; i++) {
                String option = arguments[i];
                boolean more = i + 1 < arguments.length;
                if (is(option, "nx") && !ifPresent) {
                    ifAbsent = true;
                } else if (is(option, "xx") && !ifAbsent) {
                    ifPresent = true;
                } else if (is(option, "get")) {
                    get = true;
                } else if (is(option, "keepttl") && millis == Keyspace.NEVER) {
                    keep = true;
                } else if ((is(option, "px") || is(option, "ex")) && more && !keep && millis == Keyspace.NEVER) {
                    millis = lease(arguments[++i], is(option, "px") ? 1 : 1_000);
                } else if (List.of("pxat", "exat").contains(option.toLowerCase(Locale.ROOT))) {
                    throw unsupported("the option " + option + " of SET");
                } else {
                    throw new CommandException(CommandException.SYNTAX);
                }
            }
        }

        private static long lease(String text, long unitMillis) {
            long lease = Numbers.whole(text);
            if (lease <= 0 || lease > Long.MAX_VALUE / 2 / unitMillis) {
                throw new CommandException("ERR invalid expire time in 'set' command");
            }
            return lease * unitMillis;
        }
    }

    private static Object append(Keyspace keys, String[] arguments) {
        String before = keys.string(arguments[1]);
        long expiry = before == null ? Keyspace.NEVER : keys.expiryMillis(arguments[1]);
        String after = before == null ? arguments[2] : before + arguments[2];
        keys.put(arguments[1], after);
        if (expiry != Keyspace.NEVER) {
            keys.expireAt(arguments[1], expiry);
        }
        return (long) after.length();
    }

    private static @Nullable Object set(Keyspace keys, String[] arguments) {
        SetOptions options = new SetOptions(arguments);
        String key = arguments[1];
        String before = options.get ? keys.string(key) : null;
        boolean exists = keys.exists(key);
        if (exists ? options.ifAbsent : options.ifPresent) {
            return before;
        }
        long expiry = options.keep ? keys.expiryMillis(key) : Keyspace.NEVER;
        keys.put(key, arguments[2]);
        if (options.millis != Keyspace.NEVER) {
            expiry = keys.nowMillis() + options.millis;
        }
        if (expiry != Keyspace.NEVER) {
            keys.expireAt(key, expiry);
        }
        return options.get ? before : OK;
    }
}
