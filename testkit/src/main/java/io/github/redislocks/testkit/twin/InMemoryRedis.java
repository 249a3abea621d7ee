package io.github.redislocks.testkit.twin;

import io.github.redislocks.concurrent.Uninterruptibles;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.redis.Script;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * A Redis in memory: one client's connection to a server that runs the real scripts, with its own clock, faults on
 * command and a log of what was run.
 *
 * <p>{@link #another} is a second client of the same server. Faults, subscriptions, log and {@link #close} are each
 * client's own; keys and clock are the server's. Calls fail at once where a test lets them fail; only a call that is
 * held waits, for real time.
 *
 * <p>A script that touches a key outside its KEYS, or calls a command that is not known here, fails as
 * {@code IllegalStateException} or {@code UnsupportedOperationException}, even if it catches errors.
 */
public final class InMemoryRedis implements Redis {

    private static final long LATE_MICROS = 10_000_000;
    private static final long START_MICROS = 1_790_000_000_000_000L;

    private final Server server;
    private final Faults faults = new Faults();
    private final CallLog log = new CallLog();
    private final ClientSubscriptions subscriptions = new ClientSubscriptions();
    private final ReentrantLock lane = new ReentrantLock();
    private final AtomicBoolean closed = new AtomicBoolean();
    private volatile int acks = Integer.MAX_VALUE;
    private volatile Runnable onMoved = () -> {};

    /** A server of its own, whose time runs as that of this machine. */
    public InMemoryRedis() {
        this(() -> START_MICROS + System.nanoTime() / 1_000);
    }

    /** A server of its own; its time, by which TIME answers and keys expire, is in microseconds since 1970. */
    public InMemoryRedis(LongSupplier timeMicros) {
        this(new Server(timeMicros));
    }

    private InMemoryRedis(Server server) {
        this.server = server;
        server.join(subscriptions);
    }

    /** Replaces scripts on servers that this thread starts from now on: for broken scripts. */
    public static void replaceScripts(UnaryOperator<Script> replacing) {
        LuaRuntime.replace(replacing);
    }

    /** Another client of the same server. */
    public InMemoryRedis another() {
        return new InMemoryRedis(server);
    }

    @Override
    public Reply run(Call undated, long timeoutNanos) {
        return run(undated, timeoutNanos, false);
    }

    private Reply run(Call undated, long timeoutNanos, boolean inBackground) {
        checkOpen(false);
        // As it leaves the client; on its way it may be held.
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

    /** A call as it is sent to a server. */
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
            // An error reply is lost as any other.
        }
    }

    @Override
    public List<Outcome> runAll(List<Call> calls, long timeoutNanos) {
        long deadline = System.nanoTime() + timeoutNanos;
        List<Outcome> outcomes = new ArrayList<>(calls.size());
        boolean mine = lockLane(timeoutNanos);
        try {
            for (Call call : calls) {
                outcomes.add(mine ? outcome(call, deadline) : Outcome.of(busy()));
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

    private Outcome outcome(Call call, long deadline) {
        try {
            return Outcome.of(run(call, deadline - System.nanoTime(), true));
        } catch (RedisException e) {
            return Outcome.of(e);
        }
    }

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

    /** Lets the client take this server for another one from now on, as after a failover. */
    public void moved() {
        subscriptions.endAll();
        onMoved.run();
    }

    /** How many replicas confirm what this client wants to have confirmed, from now on. */
    public void confirmBy(int replicas) {
        acks = replicas;
    }

    @Override
    public String address() {
        return "memory";
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

    /** The next call of which this is true fails so. */
    public void failNext(Predicate<Call> which, Fault fault) {
        faults.failNext(1, which, fault);
    }

    /** The next calls, that many, of which this is true fail so. */
    public void failNext(int count, Predicate<Call> which, Fault fault) {
        faults.failNext(count, which, fault);
    }

    /** Parks calls of which this is true before they run. */
    public HeldCalls hold(Predicate<Call> which) {
        return faults.hold(which);
    }

    /** Refuses every call and subscription, or no more. Running subscriptions go on: see {@link #dropSubscriptions}. */
    public void down(boolean value) {
        faults.down(value);
    }

    /** Ends all faults of calls, and releases what is held. */
    public void heal() {
        faults.heal();
    }

    /** Runs a call now, once more or after its caller gave up: a request that arrives late. */
    public Reply runLate(Call call) {
        return server.run(at(call, address()), log, null);
    }

    /** Loses the messages to this client's subscriptions, or no more. They still count as received. */
    public void dropMessages(boolean value) {
        subscriptions.drop(value);
    }

    /** Keeps the messages to this client's subscriptions back until {@link #deliverMessages}. */
    public void holdMessages() {
        subscriptions.hold();
    }

    /** Delivers what was held, in its order, and holds no more. */
    public void deliverMessages() {
        subscriptions.deliver();
    }

    /** The messages that are kept back. */
    public List<String> heldMessages() {
        return subscriptions.held();
    }

    /** Breaks all running subscriptions of this client. */
    public void dropSubscriptions() {
        subscriptions.endAll();
    }

    // The server

    /** Steps the server's clock, forwards or backwards. */
    public void stepMillis(long millis) {
        server.step(millis * 1_000);
    }

    /** Lets the server call itself a node of a cluster, or no more. */
    public void clustered(boolean value) {
        server.clustered(value);
    }

    /** Lets the server's memory be full, or no more: scripts that begin with a write that needs some are refused. */
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

    /** Starts anew without data. Connections last, as if they had been made again. */
    public void restart() {
        server.look(keys -> {
            keys.restart();
            return null;
        });
    }

    /** Makes the server a replica, which refuses to write; or promotes it. It remains the same server. */
    public void replica(boolean value) {
        server.look(keys -> {
            keys.replica(value);
            return null;
        });
    }

    /** Promotes a replica, which has run for as long as the server, and knows all of it or nothing. */
    public void promoteReplica(boolean current) {
        server.look(keys -> {
            keys.promoteReplica();
            return null;
        });
        if (!current) {
            flushAll();
        }
    }

    /** Writes something into a hash that means nothing to anybody. */
    public void touch(String key) {
        server.look(keys -> {
            Keyspace.Hash hash = keys.hashToWrite(Binary.of(key));
            hash.put("touched", Integer.toString(Integer.parseInt(hash.getOrDefault("touched", "0")) + 1));
            return null;
        });
    }

    /** Whether the key was there. */
    public boolean del(String key) {
        return server.look(keys -> keys.delete(Binary.of(key)));
    }

    /** The keys that are there, in their order. */
    public List<String> keys() {
        return server.look(keys -> keys.keys().stream().map(Binary::text).toList());
    }

    /** The fields of a hash in the order of their coming; empty if there is none. */
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

    /** The members of a sorted set with their scores, in its order; empty if there is none. */
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

    /** The text of a key, or null. */
    public @Nullable String string(String key) {
        return server.look(keys -> {
            String value = keys.string(Binary.of(key));
            return value == null ? null : Binary.text(value);
        });
    }

    /** Milliseconds; -1 without an expiry, -2 without a key. */
    public long pttl(String key) {
        return server.look(keys -> keys.pttl(Binary.of(key)));
    }
}
