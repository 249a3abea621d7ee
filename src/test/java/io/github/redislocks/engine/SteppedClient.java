package io.github.redislocks.engine;

import io.github.redislocks.LockListener;
import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.fixture.FakeClock;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.state.Attempt;
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
abstract class SteppedClient {

    static final long MILLI = 1_000_000;
    static final long LEASE = 30_000;
    static final String KEY = "redis-locks:{job}";
    final RuntimeException broken = new IllegalStateException("of the test");

    private static final int MOST_PARKS = 5_000;

    final FakeClock clock = new FakeClock();
    final InMemoryRedis redis = new InMemoryRedis(clock.server());
    /** What happens while the thread is parked, one thing each time. */
    final Queue<Runnable> steps = new ArrayDeque<>();
    /** For how long the thread parked, each time. */
    final List<Long> parks = new ArrayList<>();
    /** What was asked, and for how long an answer was waited for. */
    final List<Call> asked = new ArrayList<>();

    final List<Long> timeouts = new ArrayList<>();
    /** The answers to the next calls of a script, in place of those of the server. */
    private final Queue<Function<Call, Reply>> answers = new ArrayDeque<>();

    private String answered = "";
    /** What happens at the server just before the next call of a script. */
    private final Map<String, Runnable> befores = new HashMap<>();

    /** What happens before a subscription is made, if anything. */
    Runnable onSubscribe = () -> {};

    boolean lines = true;
    private final Thread caller = Thread.currentThread();
    final LockClient client = client(options(), listeners());
    final Sync sync = client.lock("job", false);
    final LockClient others = new LockClient("other", Settings.DEFAULTS, List.of(), clock, redis.another());
    final Sync other = others.lock("job", false);

    SteppedClient() {
        clock.advanceMillis(1_000);
    }

    Settings options() {
        return Settings.DEFAULTS;
    }

    /** Whether one request may be for several locks; asked while the client is made. */
    boolean hasOneSlot() {
        return true;
    }

    @AfterEach
    void close() {
        client.mailbox.close();
        others.mailbox.close();
        redis.close();
    }

    final LockClient client(Settings settings, List<LockListener> listeners) {
        return new LockClient("client", settings, listeners, stepping(), port(), threads());
    }

    /** Who listens to the client; asked while it is made. */
    List<LockListener> listeners() {
        return List.of();
    }

    /** What makes the threads of the client; asked while it is made. */
    Threads threads() {
        return Threads.DAEMONS;
    }

    /** Has the client know the time of the server, else its first request would be late, and hear messages. */
    final void begin() {
        Sync first = client.lock("first", false);
        first.lock(LEASE, true);
        first.unlock();
        openMailbox();
    }

    /** By the time of the machine, which may stall. */
    final void openMailbox() {
        client.mailbox.open(20_000 * MILLI);
    }

    /** The clock of the client; asked while it is made. */
    Clock stepping() {
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
    final void during(String script, Runnable event) {
        befores.put(script, event);
    }

    /** Answers the next call of a script so. */
    final void answer(String script, Reply reply) {
        answered = script;
        answers.add(call -> reply);
    }

    final void answer(String script, String code, Object... values) {
        answer(script, new Reply(code, List.of(values)));
    }

    /** Lets the next calls of a script end so. */
    final void fail(int count, String script, Supplier<RuntimeException> failure) {
        answered = script;
        for (int i = 0; i < count; i++) {
            answers.add(call -> {
                throw failure.get();
            });
        }
    }

    final void fail(String script, RuntimeException failure) {
        fail(1, script, () -> failure);
    }

    /** Lets all calls of a script fail for that time; each takes some of it. */
    final void away(String script, long millis) {
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
    final void watch() {
        client.renewals.inspect(clock.nanoTime(), clock.nanoTime(), (key, job) -> {});
    }

    static RedisException unanswered() {
        return new RedisException.Unanswered("away", true, null);
    }

    static RedisException refused() {
        return new RedisException.Refused("NOPERM", null);
    }

    final int count(String script) {
        return (int) asked.stream()
                .filter(call -> call.script().name().equals(script))
                .count();
    }

    /** The only attempt that is under way. */
    final Attempt attempt() {
        return client.attempts.all().iterator().next();
    }

    /** What was left to the background. */
    final List<String> commands() {
        List<String> commands = new ArrayList<>();
        for (PendingCommand command : client.watchdog.commands()) {
            commands.add(command.call().script().name());
        }
        return commands;
    }
}
