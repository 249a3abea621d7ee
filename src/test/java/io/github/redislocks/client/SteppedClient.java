package io.github.redislocks.client;

import io.github.redislocks.LockListener;
import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.engine.Sync;
import io.github.redislocks.fixture.FakeClock;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.residency.Residences;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Settings;
import io.github.redislocks.testkit.twin.InMemoryRedis;
import io.github.redislocks.watchdog.PendingCommand;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.function.Function;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;

/**
 * A client without background work, in which the thread of the test does everything: each time that it would park, the
 * next step of the test happens instead, or time passes.
 */
public abstract class SteppedClient {

    protected static final long MILLI = 1_000_000;
    protected static final long LEASE = 30_000;
    protected static final String KEY = "redis-locks:{job}";
    protected final RuntimeException broken = new IllegalStateException("of the test");

    private static final int MOST_PARKS = 5_000;

    protected final FakeClock clock = new FakeClock();
    protected final InMemoryRedis redis = new InMemoryRedis(clock.server());
    /** The next step runs each time the thread parks. */
    protected final Queue<Runnable> steps = new ArrayDeque<>();
    /** For how long the thread parked, each time. */
    protected final List<Long> parks = new ArrayList<>();
    /** The calls, and (in the next field) their timeouts. */
    protected final List<Call> asked = new ArrayList<>();

    protected final List<Long> timeouts = new ArrayList<>();
    /** The answers to the next calls of a script, in place of those of the server. */
    private final Queue<Function<Call, Reply>> answers = new ArrayDeque<>();

    private String answered = "";
    /** For each script, what happens at the server just before the next call. */
    private final Map<String, Runnable> befores = new HashMap<>();

    /** Runs before a subscription is made. */
    protected Runnable onSubscribe = () -> {};

    protected boolean lines = true;
    private final Thread caller = Thread.currentThread();
    protected final LockClient client = client(options(), listeners());
    protected final Inside inside = Inside.of(client);
    protected final Residences residences = inside.residences();
    protected final Sync sync = client.lock("job", false);
    protected final LockClient others =
            new LockClient("other", Settings.DEFAULTS, List.of(), clock, redis.another(), Threads.DAEMONS);
    protected final Sync other = others.lock("job", false);

    protected SteppedClient() {
        clock.advanceMillis(1_000);
    }

    protected Settings options() {
        return Settings.DEFAULTS;
    }

    /** Whether one request may be for several locks; called while the client is made. */
    protected boolean hasOneSlot() {
        return true;
    }

    @AfterEach
    protected void close() {
        client.mailbox.close();
        others.mailbox.close();
        redis.close();
    }

    /** The calling thread's hold in Redis, if it is valid. */
    protected static Hold held(Sync sync) {
        return (Hold) sync.held();
    }

    protected final LockClient client(Settings settings, List<LockListener> listeners) {
        return new LockClient("client", settings, listeners, stepping(), port(), threads());
    }

    /** The listeners of the client; called while the client is made. */
    protected List<LockListener> listeners() {
        return List.of();
    }

    /** Makes the threads of the client; called while the client is made. */
    protected Threads threads() {
        return Threads.DAEMONS;
    }

    /** Has the client know the time of the server, else its first request would be late, and hear messages. */
    protected final void begin() {
        Sync first = client.lock("first", false);
        first.lock();
        first.unlock();
        openMailbox();
    }

    /** By the time of the machine, which may stall. */
    protected final void openMailbox() {
        client.mailbox.open(20_000 * MILLI);
    }

    /** The clock of the client; asked while it is made. */
    protected Clock stepping() {
        return new Clock() {
            @Override
            public long nanoTime() {
                return clock.nanoTime();
            }

            @Override
            public long untilNanos(Instant time) {
                return clock.untilNanos(time);
            }

            @Override
            public void park(Object blocker, long nanos) {
                if (Thread.currentThread() != caller) {
                    clock.park(blocker, nanos);
                    return;
                }
                parks.add(nanos);
                Runnable step = steps.poll();
                if (step != null) {
                    step.run();
                } else if (nanos == Long.MAX_VALUE || parks.size() > MOST_PARKS) {
                    throw new AssertionError("It parks for ever");
                } else if (!caller.isInterrupted()) {
                    clock.advanceMillis((nanos + MILLI - 1) / MILLI);
                }
            }
        };
    }

    private Redis port() {
        return (Redis) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {Redis.class}, (proxy, method, args) -> {
                    String name = method.getName();
                    if (name.equals("run")) {
                        return run((Call) args[0], (long) args[1]);
                    }
                    if (name.equals("hasLines")) {
                        return lines;
                    }
                    if (name.equals("hasOneSlot")) {
                        return hasOneSlot();
                    }
                    if (name.equals("subscribe")) {
                        onSubscribe.run();
                    }
                    try {
                        return method.invoke(redis, args);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
    }

    private Reply run(Call call, long timeoutNanos) {
        asked.add(call);
        timeouts.add(timeoutNanos);
        Runnable first = befores.remove(call.script().name());
        if (first != null) {
            first.run();
        }
        Function<Call, Reply> answer = call.script().name().equals(answered) ? answers.poll() : null;
        return answer == null ? redis.run(call, timeoutNanos) : answer.apply(call);
    }

    /** Has something happen while the next call of a script is under way. */
    protected final void during(String script, Runnable event) {
        befores.put(script, event);
    }

    /** Answers the next call of a script so. */
    protected final void answer(String script, Reply reply) {
        answered = script;
        answers.add(call -> reply);
    }

    protected final void answer(String script, String code, Object... values) {
        answer(script, new Reply(code, List.of(values)));
    }

    /** Lets the next calls of a script end so. */
    protected final void fail(int count, String script, Supplier<RuntimeException> failure) {
        answered = script;
        for (int i = 0; i < count; i++) {
            answers.add(call -> {
                throw failure.get();
            });
        }
    }

    protected final void fail(String script, RuntimeException failure) {
        fail(1, script, () -> failure);
    }

    /** Lets all calls of a script fail for that time; each takes some of it. */
    protected final void away(String script, long millis) {
        long end = clock.nanoTime() + millis * MILLI;
        answered = script;
        answers.add(new Function<>() {
            @Override
            public Reply apply(Call call) {
                if (clock.nanoTime() >= end) {
                    return redis.run(call, MILLI);
                }
                answers.add(this);
                clock.advanceMillis(1);
                throw unanswered();
            }
        });
    }

    /** Looks after the holds, as the watchdog does. */
    protected final void watch() {
        long now = clock.nanoTime();
        client.renewals.inspect(now, now, (key, job) -> {});
        residences.inspect(now, now, (key, job) -> {});
    }

    protected static RedisException unanswered() {
        return new RedisException.Unanswered("away", true, null);
    }

    protected static RedisException refused() {
        return new RedisException.Refused("NOPERM", null);
    }

    protected final int count(String script) {
        return (int) asked.stream()
                .filter(call -> call.script().name().equals(script))
                .count();
    }

    /** The only attempt that is under way. */
    protected final Attempt attempt() {
        return client.attempts.all().iterator().next();
    }

    /** The scripts of the pending commands. */
    protected final List<String> commands() {
        List<String> commands = new ArrayList<>();
        for (PendingCommand command : client.watchdog.commands()) {
            commands.add(command.call().script().name());
        }
        return commands;
    }
}
