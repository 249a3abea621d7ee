package io.github.redislocks.testkit.twin;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The server of one in-memory Redis, which several clients share. It runs one script at a time. Time stands still
 * during a script.
 */
final class Server {

    private final ReentrantLock lock = new ReentrantLock();
    private final LongSupplier timeMicros;
    private final AtomicLong stepMicros = new AtomicLong();
    private final Keyspace keyspace = new Keyspace();
    private final List<ClientSubscriptions> subscribers = new CopyOnWriteArrayList<>();
    private final AtomicBoolean clustered = new AtomicBoolean();
    private final RedisCommands commands = new RedisCommands(keyspace, this::publish, clustered::get);
    private final LuaRuntime lua = new LuaRuntime(commands);
    private volatile Function<List<String>, Object> replies = Server::unknown;
    private int clients;

    Server(LongSupplier timeMicros) {
        this.timeMicros = timeMicros;
    }

    void join(ClientSubscriptions subscriptions) {
        lock.lock();
        try {
            if (clients < 0) {
                throw new IllegalStateException("The in-memory Redis has been closed by its last client.");
            }
            clients++;
            subscribers.add(subscriptions);
        } finally {
            lock.unlock();
        }
    }

    /** Removes a client. The server closes with its last client. */
    void leave(ClientSubscriptions subscriptions) {
        lock.lock();
        try {
            subscribers.remove(subscriptions);
            if (--clients == 0) {
                clients = -1;
            }
        } finally {
            lock.unlock();
        }
    }

    /** The reply to a command that no script calls. */
    Object reply(List<String> command) {
        return replies.apply(command);
    }

    void replies(Function<List<String>, Object> value) {
        replies = value;
    }

    private static Object unknown(List<String> command) {
        throw Fault.refused("ERR unknown command '" + command.get(0) + "'").exception(command.get(0));
    }

    void clustered(boolean value) {
        clustered.set(value);
    }

    void full(boolean value) {
        commands.full(value);
    }

    void step(long micros) {
        stepMicros.addAndGet(micros);
    }

    /**
     * Runs one script for a client.
     *
     * @param background the subscriptions of the client if the script runs on the client's background connection, whose
     *     changes are not reported to that client; otherwise null
     */
    Reply run(Call call, CallLog log, @Nullable ClientSubscriptions background) {
        lock.lock();
        begin(null);
        Map<String, String> before = marks();
        // As CLIENT TRACKING with NOLOOP does, track the keys that a renewal reads, but not for changes by the same
        // client.
        Set<String> read = background != null && call.request().renews() ? new HashSet<>() : null;
        try {
            if (clients < 0) {
                throw new RedisException.Unanswered("The in-memory Redis is closed", false, null);
            }
            List<String> keys = binary(call.keys());
            begin(keys);
            commands.noteReads(read);
            Reply reply = reply(call, lua.run(call.script(), keys, binary(call.args())));
            if (!keys.isEmpty()) {
                checkFence(call, keys.get(0));
            }
            if (log.isOn()) {
                log.add(new LoggedCall(call, reply, null));
            }
            return reply;
        } catch (CommandException e) {
            String error = Binary.text(e.getMessage());
            if (log.isOn()) {
                log.add(new LoggedCall(call, null, error));
            }
            throw new RedisException.Refused(error + " (memory, " + call.script() + ")", null);
        } finally {
            try {
                commands.noteReads(null);
                tell(before, background);
                if (background != null && read != null) {
                    background.tracked().addAll(read);
                }
            } finally {
                lock.unlock();
            }
        }
    }

    /** For each tracked key, a mark that differs after any change of the key. */
    private Map<String, String> marks() {
        Map<String, String> marks = new HashMap<>();
        for (ClientSubscriptions client : subscribers) {
            for (String key : client.tracked()) {
                marks.put(key, keyspace.mark(key));
            }
        }
        return marks;
    }

    /** Notifies clients of their tracked keys that have changed, except the client {@code itself} that changed them. */
    private void tell(Map<String, String> before, @Nullable ClientSubscriptions itself) {
        for (Map.Entry<String, String> each : before.entrySet()) {
            String key = each.getKey();
            if (!each.getValue().equals(keyspace.mark(key))) {
                for (ClientSubscriptions client : subscribers) {
                    if (client.tracked().remove(key) && client != itself) {
                        client.changed(key);
                    }
                }
            }
        }
    }

    /** Checks what a fence with a plus sign at its end promises: nobody holds the lock, and no queue has entries. */
    private void checkFence(Call call, String hold) {
        begin(null);
        String fence = hold + ":fence";
        String last = keyspace.string(fence);
        if (last == null || !last.endsWith("+")) {
            return;
        }
        for (String key : List.of(hold, hold + ":queue", hold + ":conditions")) {
            if (keyspace.exists(key)) {
                throw new IllegalStateException("After " + call.script() + " the fence of " + hold + " is " + last
                        + ", though there is " + key);
            }
        }
    }

    long publish(String channel, String message) {
        String text = Binary.text(message);
        String name = Binary.text(channel);
        long reached = 0;
        for (ClientSubscriptions client : subscribers) {
            reached += client.publish(name, text);
        }
        return reached;
    }

    /** Lets a test read or change the keys directly, without a script. */
    <T extends @Nullable Object> T look(Function<Keyspace, T> work) {
        lock.lock();
        try {
            begin(null);
            Map<String, String> before = marks();
            T result = work.apply(keyspace);
            tell(before, null);
            return result;
        } finally {
            lock.unlock();
        }
    }

    private void begin(@Nullable List<String> keys) {
        keyspace.begin(timeMicros.getAsLong() + stepMicros.get(), keys);
    }

    private static List<String> binary(List<String> texts) {
        List<String> all = new ArrayList<>(texts.size());
        for (int i = 0; i < texts.size(); i++) {
            all.add(Binary.of(texts.get(i)));
        }
        return all;
    }

    private static Reply reply(Call call, @Nullable Object answer) {
        if (answer instanceof List<?> parts && !parts.isEmpty() && parts.get(0) instanceof String code) {
            List<Object> values = new ArrayList<>(parts.size() - 1);
            for (int i = 1; i < parts.size(); i++) {
                Object value = parts.get(i);
                if (value == null) {
                    throw unreadable(call, "neither text nor number at position " + i);
                }
                values.add(value instanceof String text ? Binary.text(text) : value);
            }
            return new Reply(Binary.text(code), values);
        }
        if (answer instanceof Long number) {
            return new Reply("OK", List.of(number));
        }
        Reply reply = answer instanceof String text ? Reply.ofWords(Binary.text(text), false) : null;
        if (reply != null) {
            return reply;
        }
        throw unreadable(call, "no code");
    }

    private static RedisException unreadable(Call call, String what) {
        return new RedisException.Unanswered("The answer to " + call.script() + " holds " + what, true, null);
    }
}
