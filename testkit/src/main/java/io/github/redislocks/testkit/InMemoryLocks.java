package io.github.redislocks.testkit;

import io.github.redislocks.RedisLocks;
import io.github.redislocks.concurrent.Shown;
import io.github.redislocks.testkit.twin.InMemoryRedis;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.UnaryOperator;

/**
 * A Redis in memory, for tests of code that takes locks: no server, no container, no native code. Its clients are real
 * {@link RedisLocks}, and it runs the same scripts as a real Redis does. What a test can do to it is what happens to a
 * service now and then: time passes, a lock is lost, a JVM pauses, Redis is away.
 *
 * <pre>{@code
 * try (InMemoryLocks memory = InMemoryLocks.start()) {
 *     Shop shop = new Shop(memory.client());
 *     memory.newClient().reentrantLock("stock:42").lock(); // another JVM
 *     assertThat(shop.trySell(42)).isFalse();
 * }
 * }</pre>
 *
 * <p>Time runs as that of the machine, and {@link #advance} moves it on at once. A lock is held by a thread, as always:
 * another holder is another thread, or another client.
 *
 * <p>Its methods may be called by any thread, one at a time. With JUnit, {@link InMemoryLocksExtension} starts and
 * closes it.
 *
 * @since 0.1.0
 */
public final class InMemoryLocks implements AutoCloseable {

    private static final Duration MOST = Duration.ofDays(366);

    private final TestTime time = new TestTime();
    private final InMemoryRedis server = new InMemoryRedis(time::micros);
    private final UnaryOperator<RedisLocks.Builder> settings;
    private final List<TestClient> clients = new CopyOnWriteArrayList<>();
    private boolean away;

    private InMemoryLocks(UnaryOperator<RedisLocks.Builder> settings) {
        this.settings = Objects.requireNonNull(settings, "settings");
    }

    /** Starts an empty Redis, whose clients have default settings. */
    public static InMemoryLocks start() {
        return new InMemoryLocks(UnaryOperator.identity());
    }

    /**
     * Starts an empty Redis, whose clients have settings as the application's.
     *
     * @param settings all but where Redis is: {@code builder -> builder.lease(Duration.ofSeconds(10))}
     */
    public static InMemoryLocks start(UnaryOperator<RedisLocks.Builder> settings) {
        return new InMemoryLocks(settings);
    }

    /**
     * The first client, which is connected by the first call.
     *
     * @throws IllegalArgumentException if the settings cannot work
     * @throws io.github.redislocks.LockUnavailableException if Redis is {@link #unavailable()}
     */
    public RedisLocks client() {
        return clients.isEmpty() ? newClient() : clients.get(0).locks;
    }

    /**
     * Connects one more client: another JVM that uses the same Redis.
     *
     * @throws IllegalArgumentException if the settings cannot work
     * @throws io.github.redislocks.LockUnavailableException if Redis is {@link #unavailable()}
     */
    public RedisLocks newClient() {
        return newClient(UnaryOperator.identity());
    }

    /**
     * Connects one more client, with settings of its own upon those of all.
     *
     * @throws IllegalArgumentException if the settings cannot work
     * @throws io.github.redislocks.LockUnavailableException if Redis is {@link #unavailable()}
     */
    public RedisLocks newClient(UnaryOperator<RedisLocks.Builder> more) {
        Objects.requireNonNull(more, "more");
        InMemoryRedis redis = server.another();
        redis.log().turn(false);
        redis.down(away);
        TestClient client = new TestClient(more.apply(settings.apply(RedisLocks.builder())), redis, time);
        clients.add(client);
        return client.locks;
    }

    /**
     * Lets time pass, for Redis and all clients, and returns when they have done what was due meanwhile: leases that
     * are renewed were renewed, others are over, and each holder that lost its lock was notified. A client that is
     * paused or cannot reach Redis renews nothing.
     *
     * @param time how long; a lease of 30 s that nobody renews is over after 30 s and a millisecond
     * @throws IllegalArgumentException if it is negative, or longer than a year
     */
    public void advance(Duration time) {
        if (Objects.requireNonNull(time, "time").isNegative() || time.compareTo(MOST) > 0) {
            throw new IllegalArgumentException("The time to advance is " + Shown.of(time)
                    + ": it must lie between 0 and " + Shown.of(MOST) + ", since clocks"
                    + " do not go back. Advance by what is left until the moment that you want to see.");
        }
        settle();
        long end = this.time.nanos() + time.toNanos();
        while (this.time.nanos() < end) {
            this.time.moveTo(Math.min(end, nextWake()));
            settle();
        }
    }

    private long nextWake() {
        long next = Long.MAX_VALUE;
        for (TestClient client : clients) {
            next = Math.min(next, client.nextWake());
        }
        return Math.min(next, time.nextWake());
    }

    private void settle() {
        clients.forEach(TestClient::settle);
    }

    /**
     * Stops the clock: from now on, time passes by {@link #advance} alone. A thread that waits with a time limit then
     * waits for that, so such a wait must not be the test's own thread's. So does a {@code tryLock()} of a lock that a
     * paused client keeps by its residency: it waits for the answer of that client, for a command timeout.
     */
    public void stopClock() {
        time.stop();
    }

    /**
     * Ends the hold of a lock in Redis, as an operator who deletes it, and returns when the holder was notified: its
     * listeners, {@code lost()} of its handle; a paused client learns of it when it goes on. If others wait for the
     * lock, one of them has it now.
     *
     * @param name the lock's name
     * @throws IllegalStateException if no client of this Redis holds it
     */
    public void lose(String name) {
        Objects.requireNonNull(name, "name");
        for (TestClient client : clients) {
            if (client.lose(client.keys(name), server)) {
                settle();
                return;
            }
        }
        throw new IllegalStateException("Nobody holds the lock \"" + Shown.of(name)
                + "\": only a lock that is held can be lost. Lock it first, by a client of this InMemoryLocks.");
    }

    /**
     * Pauses a client as a garbage collection or a stalled machine does: its background work stands still, so that it
     * renews nothing, and its requests and messages wait, until {@link #resume}. Threads of the test do not stand
     * still: do not use the client's locks meanwhile.
     *
     * <pre>{@code
     * memory.pause(locks);
     * memory.advance(Duration.ofSeconds(31)); // longer than the lease
     * others.reentrantLock("job").lock(); // another JVM has it now
     * memory.resume(locks); // and the first hears that it has lost the lock
     * }</pre>
     *
     * @throws IllegalArgumentException if it is no client of this Redis
     * @throws IllegalStateException if it is paused or closed
     */
    public void pause(RedisLocks client) {
        TestClient known = known(client);
        if (known.isPaused() || client.isClosed()) {
            throw new IllegalStateException(client + " is " + (known.isPaused() ? "paused" : "closed")
                    + " already: only a client that runs can be paused.");
        }
        known.settle();
        known.pause();
    }

    /**
     * Lets a client go on, and returns when it has noticed how late it is: holds whose lease has ended are lost, and
     * listeners have been told.
     *
     * @throws IllegalArgumentException if it is no client of this Redis
     * @throws IllegalStateException if it is not paused
     */
    public void resume(RedisLocks client) {
        TestClient known = known(client);
        if (!known.isPaused()) {
            throw new IllegalStateException(client + " is not paused: call pause(client) before.");
        }
        known.resume();
        known.settle();
    }

    private TestClient known(RedisLocks client) {
        Objects.requireNonNull(client, "client");
        for (TestClient each : clients) {
            if (each.locks == client) {
                return each;
            }
        }
        throw new IllegalArgumentException(
                client + " is no client of this InMemoryLocks: name one that client() or newClient() has returned.");
    }

    /** Takes Redis away: every request fails, as with a connection that is refused, until {@link #available()}. */
    public void unavailable() {
        away = true;
        clients.forEach(client -> client.down(true));
    }

    /** Brings Redis back, with all that it knew. Clients ask it again when their next try is due. */
    public void available() {
        away = false;
        clients.forEach(client -> client.down(false));
    }

    /** Closes all clients, and forgets everything. */
    @Override
    public void close() {
        // A client that closes waits a little for threads in its calls.
        time.go();
        clients.forEach(TestClient::close);
        server.close();
    }

    /** Names its clients. */
    @Override
    public String toString() {
        return "InMemoryLocks"
                + clients.stream().map(client -> client.locks.toString()).toList() + (away ? ", unavailable" : "");
    }
}
