package io.github.redislocks.testkit.twin;

import io.github.redislocks.testkit.twin.Keyspace.Hash;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The commands on hashes. */
final class HashCommands {

    private static final Hash EMPTY = new Hash();

    private HashCommands() {}

    static void addTo(RedisCommands commands) {
        commands.add("hset", -4, HashCommands::hset);
        commands.add("hsetnx", 4, HashCommands::hsetnx);
        commands.add("hget", 3, (keys, arguments) -> read(keys, arguments).get(arguments[2]));
        commands.add("hmget", -3, HashCommands::hmget);
        commands.add("hgetall", 2, HashCommands::hgetall);
        commands.add("hdel", -3, HashCommands::hdel);
        commands.add("hincrby", 4, HashCommands::hincrby);
        commands.add(
                "hexists",
                3,
                (keys, arguments) -> RedisCommands.flag(read(keys, arguments).containsKey(arguments[2])));
        commands.add(
                "hlen", 2, (keys, arguments) -> (long) read(keys, arguments).size());
        commands.add(
                "hkeys",
                2,
                (keys, arguments) -> List.copyOf(read(keys, arguments).keySet()));
    }

    private static Hash read(Keyspace keys, String[] arguments) {
        Hash hash = keys.hash(arguments[1]);
        return hash == null ? EMPTY : hash;
    }

    private static Object hset(Keyspace keys, String[] arguments) {
        if (arguments.length % 2 == 1) {
            throw CommandException.wrongNumberOfArguments("hset");
        }
        Hash hash = keys.hashToWrite(arguments[1]);
        long added = 0;
        for (int i = 2; i < arguments.length; i += 2) {
            added += hash.put(arguments[i], arguments[i + 1]) == null ? 1 : 0;
        }
        return added;
    }

    private static Object hsetnx(Keyspace keys, String[] arguments) {
        return RedisCommands.flag(!read(keys, arguments).containsKey(arguments[2])
                && keys.hashToWrite(arguments[1]).put(arguments[2], arguments[3]) == null);
    }

    private static Object hmget(Keyspace keys, String[] arguments) {
        Hash hash = read(keys, arguments);
        List<@Nullable String> values = new ArrayList<>(arguments.length - 2);
        for (int i = 2; i < arguments.length; i++) {
            values.add(hash.get(arguments[i]));
        }
        return values;
    }

    private static Object hgetall(Keyspace keys, String[] arguments) {
        List<String> all = new ArrayList<>();
        read(keys, arguments).forEach((field, value) -> {
            all.add(field);
            all.add(value);
        });
        return all;
    }

    private static Object hdel(Keyspace keys, String[] arguments) {
        Hash hash = keys.hash(arguments[1]);
        if (hash == null) {
            return 0L;
        }
        long gone = 0;
        for (int i = 2; i < arguments.length; i++) {
            gone += hash.remove(arguments[i]) == null ? 0 : 1;
        }
        if (hash.isEmpty()) {
            keys.delete(arguments[1]);
        }
        return gone;
    }

    private static Object hincrby(Keyspace keys, String[] arguments) {
        long step = Numbers.whole(arguments[3]);
        String before = read(keys, arguments).get(arguments[2]);
        long value = before == null ? 0 : Numbers.whole(before, "ERR hash value is not an integer");
        long sum = value + step;
        if (((value ^ sum) & (step ^ sum)) < 0) {
            throw new CommandException("ERR increment or decrement would overflow");
        }
        keys.hashToWrite(arguments[1]).put(arguments[2], Long.toString(sum));
        return sum;
    }
}
