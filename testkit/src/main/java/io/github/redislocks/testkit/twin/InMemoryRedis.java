package io.github.redislocks.testkit.twin;

import io.github.redislocks.concurrent.Uninterruptibles;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.redis.Script;
import io.github.redislocks.redis.SingleServer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * A Redis in memory. An object of this class is one client's access to a server that runs the real scripts. The server
 * has its own clock. A test can plan faults, and read a log of the calls.
 *
 * <p>{@link #another} makes a second client of the same server. Each client has its own faults, subscriptions, log and
 * {@link #close}; the keys and the clock belong to the server. A call with a planned fault fails at once. Only calls
 * that are held wait, by the machine's clock.
 *
 * <p>A script that touches a key outside its KEYS fails with {@code IllegalStateException}, and a script that calls a
 * command that is not implemented here fails with {@code UnsupportedOperationException}, even if the script catches
 * errors.
 */
public final class InMemoryRedis implements SingleServer {

    private static final long LATE_MICROS = 10_000_000;
    private static final long START_MICROS = 1_790_000_000_000_000L;

    private final Server server;
    private final String address;
    private final Faults faults = new Faults();
    private final CallLog log = new CallLog();
    private final ClientSubscriptions subscriptions = new ClientSubscriptions();
    private final ReentrantLock lane = new ReentrantLock();
    private final AtomicBoolean closed = new AtomicBoolean();
    private volatile int acks = Integer.MAX_VALUE;
    private volatile Runnable onMoved = () -> {};

    /** Starts a server whose clock runs as the machine's clock does. */
    public InMemoryRedis() {
        this(() -> START_MICROS + System.nanoTime() / 1_000);
    }

    /** Starts a server with the given clock, in microseconds since 1970, for TIME and the expiry of keys. */
    public InMemoryRedis(LongSupplier timeMicros) {
        this(new Server(timeMicros), "memory");
    }

    private InMemoryRedis(Server server, String address) {
        this.server = server;
        this.address = address;
        server.join(subscriptions);
    }

    /** Replaces scripts on servers that this thread starts from now on. So a test can run broken scripts. */
    public static void replaceScripts(UnaryOperator<Script> replacing) {
        LuaRuntime.replace(replacing);
    }

    /** Makes another client of the same server. */
    public InMemoryRedis another() {
        return another(address);
    }

    /** Makes another client of the same server, which knows the server by the given address. */
    public InMemoryRedis another(String known) {
        return new InMemoryRedis(server, known);
    }

    @Override
    public Reply run(Call undated, long timeoutNanos) {
        return run(undated, timeoutNanos, false);
    }

    private Reply run(Call undated, long timeoutNanos, boolean inBackground) {
        checkOpen(false);
        // Set the deadline now, as a real client does when it sends the call. A test may delay the call after that.
        Call call = at(undated, address());
        if (!faults.pass(call, timeoutNanos)) {
            throw unanswered(call.script() + " was held for longer than its timeout", true);
        }
        checkOpen(true);
        Fault fault = faults.next(call);
        if (fault == null) {
            return answer(call, inBackground);
        }
        if (fault.runs()) {
            runUnheard(call);
        }
        if (fault.kind() == Fault.Kind.RESENT) {
            Reply reply = answer(call, inBackground);
            return reply.resentOnce();
        }
        if (fault.kind() == Fault.Kind.RESENT_LATE) {
            server.step(LATE_MICROS);
            try {
                return answer(call, inBackground).resentOnce();
            } finally {
                server.step(-LATE_MICROS);
            }
        }
        throw fault.exception(call.script().name());
    }

    /** Returns the call as it is sent to a server, with its deadline. */
    public static Call at(Call call, String server) {
        List<String> args = IntStream.range(0, call.args().size())
                .mapToObj(i -> call.argument(i, server))
                .toList();
        return new Call(call.request(), call.script(), call.keys(), args).with(call.acks());
    }

    private Reply answer(Call call, boolean inBackground) {
        Reply reply = server.run(call, log, inBackground ? subscriptions : null);
        return call.acks() == null ? reply : reply.confirmedBy(acks);
    }

    private void runUnheard(Call call) {
        try {
            server.run(call, log, null);
        } catch (RedisException lost) {
            // Ignored: the fault loses every reply, also an error reply.
        }
    }

    @Override
    public List<Outcome> runAll(List<Call> calls, long timeoutNanos) {
        long deadline = System.nanoTime() + timeoutNanos;
        List<Outcome> outcomes = new ArrayList<>(calls.size());
        boolean mine = lockLane(timeoutNanos);
        try {
            for (Call call : calls) {
                outcomes.add(mine ? outcome(call, deadline, true) : Outcome.of(busy()));
            }
            return outcomes;
        } finally {
            if (mine) {
                lane.unlock();
            }
        }
    }

    private boolean lockLane(long timeoutNanos) {
        return Uninterruptibles.until(
                System.nanoTime() + timeoutNanos, nanos -> lane.tryLock(nanos, TimeUnit.NANOSECONDS));
    }

    private Outcome outcome(Call call, long deadline, boolean inBackground) {
        try {
            return Outcome.of(run(call, deadline - System.nanoTime(), inBackground));
        } catch (RedisException e) {
            return Outcome.of(e);
        }
    }

    @Override
    public Outcome runAsking(Call call, long timeoutNanos) {
        return outcome(call, System.nanoTime() + timeoutNanos, false);
    }

    @Override
    public List<Outcome> runAllAsking(List<Call> calls, long timeoutNanos) {
        return runAll(calls, timeoutNanos);
    }

    @Override
    public List<Object> ask(String what, List<List<String>> commands, long timeoutNanos) {
        checkUp("ask for " + what);
        List<Object> replies = commands.stream().map(server::reply).toList();
        checkOpen(true);
        return replies;
    }

    @Override
    public void openLane(long timeoutNanos) {}

    @Override
    public Subscription subscribe(String channel, long timeoutNanos) {
        checkUp("subscribe to " + channel);
        return subscriptions.add(channel);
    }

    @Override
    public Subscription watch(String channel, Watcher watcher, long timeoutNanos) {
        checkUp("subscribe to " + channel);
        return subscriptions.watch(channel, watcher);
    }

    @Override
    public void publish(String channel, String message, long timeoutNanos) {
        checkUp("publish to " + channel);
        if (!lockLane(timeoutNanos)) {
            throw busy();
        }
        try {
            server.look(keys -> {
                log.addMessage();
                return server.publish(Binary.of(channel), Binary.of(message));
            });
        } finally {
            lane.unlock();
        }
    }

    @Override
    public void onMoved(Runnable listener) {
        onMoved = listener;
    }

    /** From now on the client takes this server for another one, as after a failover. */
    public void moved() {
        subscriptions.endAll();
        onMoved.run();
    }

    /** Sets how many replicas confirm writes of this client. */
    public void confirmBy(int replicas) {
        acks = replicas;
    }

    @Override
    public String address() {
        return address;
    }

    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) {
            faults.heal();
            subscriptions.endAll();
            server.leave(subscriptions);
        }
    }

    private void checkOpen(boolean sent) {
        if (closed.get()) {
            throw unanswered("This client of the in-memory Redis is closed", sent);
        }
    }

    private void checkUp(String what) {
        checkOpen(false);
        if (faults.isDown()) {
            throw Fault.REFUSED_CONNECTION.exception(what);
        }
    }

    private static RedisException busy() {
        return unanswered("Another batch took longer than the timeout", false);
    }

    private static RedisException unanswered(String message, boolean sent) {
        return new RedisException.Unanswered(message, sent, null);
    }

    /** The calls of this client. */
    public CallLog log() {
        return log;
    }

    // Faults of this client

    /** Plans a fault for the next call that matches. */
    public void failNext(Predicate<Call> which, Fault fault) {
        faults.failNext(1, which, fault);
    }

    /** Plans a fault for each of the next {@code count} calls that match. */
    public void failNext(int count, Predicate<Call> which, Fault fault) {
        faults.failNext(count, which, fault);
    }

    /** Parks calls that match, before they reach the server. */
    public HeldCalls hold(Predicate<Call> which) {
        return faults.hold(which);
    }

    /** Sets whether connections are refused. Present subscriptions stay: see {@link #dropSubscriptions}. */
    public void down(boolean value) {
        faults.down(value);
    }

    /** Cancels all faults of calls. Releases the calls that are held. */
    public void heal() {
        faults.heal();
    }

    /** Runs a call now, as a request that arrives late: a second copy, or one whose caller gave up. */
    public Reply runLate(Call call) {
        return server.run(at(call, address()), log, null);
    }

    /** Sets whether messages to this client's subscriptions are lost. Their publishers still count them as received. */
    public void dropMessages(boolean value) {
        subscriptions.drop(value);
    }

    /** Holds back the messages to this client's subscriptions until {@link #deliverMessages}. */
    public void holdMessages() {
        subscriptions.hold();
    }

    /** Delivers the messages that were held back, in their order, and holds back no further messages. */
    public void deliverMessages() {
        subscriptions.deliver();
    }

    /** The messages that are held back. */
    public List<String> heldMessages() {
        return subscriptions.held();
    }

    /** Breaks all running subscriptions of this client. */
    public void dropSubscriptions() {
        subscriptions.endAll();
    }

    // The server

    /** Sets how the server replies to commands that are no scripts, for instance as a Sentinel. */
    public void replies(Function<List<String>, Object> replies) {
        server.replies(replies);
    }

    /** Moves the server's clock forward, or backward by a negative number. */
    public void stepMillis(long millis) {
        server.step(millis * 1_000);
    }

    /** Sets whether the server reports that it is a node of a cluster. */
    public void clustered(boolean value) {
        server.clustered(value);
    }

    /** Sets whether the server's memory is full: then scripts whose first write needs memory are refused. */
    public void full(boolean value) {
        server.full(value);
    }

    /** Deletes all keys. */
    public void flushAll() {
        server.look(keys -> {
            keys.clear();
            return null;
        });
    }

    /** Restarts the server without its data. Connections stay usable, as if they had been made again. */
    public void restart() {
        server.look(keys -> {
            keys.restart();
            return null;
        });
    }

    /** Makes the server a replica, which refuses writes, or promotes it again. The run id and the data stay. */
    public void replica(boolean value) {
        server.look(keys -> {
            keys.replica(value);
            return null;
        });
    }

    /** Replaces the server by a promoted replica with the same uptime. The replica has all data, or none. */
    public void promoteReplica(boolean current) {
        server.look(keys -> {
            keys.promoteReplica();
            return null;
        });
        if (!current) {
            flushAll();
        }
    }

    /** Changes a field of a hash that no script uses. This stands for a change by somebody else. */
    public void touch(String key) {
        server.look(keys -> {
            Keyspace.Hash hash = keys.hashToWrite(Binary.of(key));
            hash.put("touched", Integer.toString(Integer.parseInt(hash.getOrDefault("touched", "0")) + 1));
            return null;
        });
    }

    /** Deletes a key. Returns whether it existed. */
    public boolean del(String key) {
        return server.look(keys -> keys.delete(Binary.of(key)));
    }

    /** The keys that exist, sorted. */
    public List<String> keys() {
        return server.look(keys -> keys.keys().stream().map(Binary::text).toList());
    }

    /** The fields of a hash in the order in which they were added; empty if there is no such hash. */
    public Map<String, String> hash(String key) {
        return server.look(keys -> {
            Map<String, String> copy = new LinkedHashMap<>();
            Keyspace.Hash hash = keys.hash(Binary.of(key));
            if (hash != null) {
                hash.forEach((field, value) -> copy.put(Binary.text(field), Binary.text(value)));
            }
            return copy;
        });
    }

    /** The members of a sorted set with their scores, in its order; empty if there is no such set. */
    public Map<String, Double> zset(String key) {
        return server.look(keys -> {
            Map<String, Double> copy = new LinkedHashMap<>();
            ScoredSet set = keys.scoredSet(Binary.of(key));
            if (set != null) {
                set.members().forEach(member -> copy.put(Binary.text(member.name()), member.score()));
            }
            return copy;
        });
    }

    /** The string value of a key; null if there is no such key. */
    public @Nullable String string(String key) {
        return server.look(keys -> {
            String value = keys.string(Binary.of(key));
            return value == null ? null : Binary.text(value);
        });
    }

    /** The time to live of a key in milliseconds; -1 if it does not expire, -2 if it does not exist. */
    public long pttl(String key) {
        return server.look(keys -> keys.pttl(Binary.of(key)));
    }
}
