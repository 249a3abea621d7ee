package io.github.redislocks.testkit;

import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisLocksBuilder;
import io.github.redislocks.concurrent.Shown;
import io.github.redislocks.testkit.twin.InMemoryRedis;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.UnaryOperator;

/**
 * A Redis in memory, for tests of code that takes locks: no server, no container, no native code. Its clients are real
 * {@link RedisLocks}, and it runs the same scripts as a real Redis does. A test can cause what otherwise happens only
 * now and then: time passes, a lock is lost, a JVM pauses, Redis is away.
 *
 * <pre>{@code
 * try (InMemoryLocks memory = InMemoryLocks.start()) {
 *     Shop shop = new Shop(memory.client());
 *     memory.newClient().reentrantLock("stock:42").lock(); // another JVM
 *     assertThat(shop.trySell(42)).isFalse();
 * }
 * }</pre>
 *
 * <p>The clock of this Redis and its clients runs as the machine's clock does; {@link #advance} moves it forward at
 * once. A lock is held by a thread of a client, as always: for another holder, a test needs another thread or another
 * client.
 *
 * <p>Any thread may call the methods of this class, one thread at a time. With JUnit, {@link InMemoryLocksExtension}
 * starts and closes an instance for each test.
 *
 * @since 0.1.0
 */
public final class InMemoryLocks implements AutoCloseable {

    private static final Duration MOST = Duration.ofDays(366);

    private final TestTime time = new TestTime();
    private final InMemoryRedis server = new InMemoryRedis(time::micros);
    private final UnaryOperator<RedisLocksBuilder> settings;
    private final List<TestClient> clients = new CopyOnWriteArrayList<>();
    private boolean away;

    private InMemoryLocks(UnaryOperator<RedisLocksBuilder> settings) {
        this.settings = Objects.requireNonNull(settings, "settings");
    }

    /** Starts an empty Redis, whose clients have default settings. */
    public static InMemoryLocks start() {
        return new InMemoryLocks(UnaryOperator.identity());
    }

    /**
     * Starts an empty Redis, whose clients have the given settings, for instance those of the application.
     *
     * @param settings changes the settings; must not set the address of Redis: {@code builder ->
     *     builder.lease(Duration.ofSeconds(10))}
     */
    public static InMemoryLocks start(UnaryOperator<RedisLocksBuilder> settings) {
        return new InMemoryLocks(settings);
    }

    /**
     * Returns the first client. The first call of this method connects that client.
     *
     * @throws IllegalArgumentException if the settings cannot work
     * @throws io.github.redislocks.LockUnavailableException if Redis is {@link #unavailable()}
     */
    public RedisLocks client() {
        return clients.isEmpty() ? newClient() : clients.get(0).locks;
    }

    /**
     * Connects one more client. It acts as another JVM that uses the same Redis.
     *
     * @throws IllegalArgumentException if the settings cannot work
     * @throws io.github.redislocks.LockUnavailableException if Redis is {@link #unavailable()}
     */
    public RedisLocks newClient() {
        return newClient(UnaryOperator.identity());
    }

    /**
     * Connects one more client, with additional settings, which are applied after the settings for all clients.
     *
     * @throws IllegalArgumentException if the settings cannot work
     * @throws io.github.redislocks.LockUnavailableException if Redis is {@link #unavailable()}
     */
    public RedisLocks newClient(UnaryOperator<RedisLocksBuilder> more) {
        Objects.requireNonNull(more, "more");
        InMemoryRedis redis = server.another();
        redis.log().turn(false);
        redis.down(away);
        TestClient client = new TestClient(more.apply(settings.apply(RedisLocks.builder())), redis, time);
        clients.add(client);
        return client.locks;
    }

    /**
     * Moves the clock of Redis and of all clients forward. Returns when the clients have done the work that was due in
     * that time: holds were renewed, leases that nobody renews have ended, and each holder that lost its lock was
     * notified. A client that is paused or cannot reach Redis renews nothing.
     *
     * @param time how far to move the clock; a lease of 30 s that nobody renews has ended after 30 s and 1 ms
     * @throws IllegalArgumentException if the time is negative, or longer than a year
     */
    public void advance(Duration time) {
        if (Objects.requireNonNull(time, "time").isNegative() || time.compareTo(MOST) > 0) {
            throw new IllegalArgumentException("The time to advance is " + Shown.of(time)
                    + ": it must lie between 0 and " + Shown.of(MOST) + ", since clocks"
                    + " do not go back. Advance by the time that is left until the moment that you want to see.");
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
     * Stops the clock: from now on time passes only by {@link #advance}. A thread that waits with a time limit waits
     * until the test advances the clock, so the thread that calls {@link #advance} must not wait for a lock. Even
     * {@code tryLock()} may wait: if a paused client keeps the lock by its residency, {@code tryLock()} waits for an
     * answer of that client, for one command timeout.
     */
    public void stopClock() {
        time.stop();
    }

    /**
     * Ends the hold of a lock in Redis, as an operator does who deletes the lock's key. Returns when the holder was
     * notified, by its listeners and by {@code lost()} of its handle. A paused client learns of the loss when it is
     * resumed. If other threads wait for the lock, one of them gets it.
     *
     * <p>While clients read, the reads of all of them end. {@link #losePermits} is for the permits of a pool.
     *
     * @param name the name of the lock
     * @throws IllegalStateException if no client of this Redis holds the lock
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
                + "\": only a lock that is held can be lost. First lock it by a client of this InMemoryLocks.");
    }

    /**
     * Ends all permits of a pool in Redis, as if their leases had ended. Returns when the holders were notified, as
     * {@link #lose} does. Callers that wait for permits get them, and learn that the previous holder has lost them.
     *
     * @param name the name of the pool
     * @throws IllegalStateException if no client of this Redis holds permits of the pool
     */
    public void losePermits(String name) {
        Objects.requireNonNull(name, "name");
        // Collect all losses before running the first: each may give permits to a waiting caller, who must keep them.
        List<Runnable> losses = clients.stream()
                .flatMap(client -> client.lossesOfPermits(name, server).stream())
                .toList();
        if (losses.isEmpty()) {
            throw new IllegalStateException(
                    "Nobody holds permits \"" + Shown.of(name)
                            + "\": only permits that are held can be lost. First acquire some by a client of this InMemoryLocks.");
        }
        losses.forEach(Runnable::run);
        settle();
    }

    /**
     * Pauses a client until {@link #resume}, as a garbage collection or a stalled machine does. The background work of
     * a paused client stops, so that it renews nothing, and its requests and messages are delayed. Threads of the test
     * are not paused, so they must not use the client's locks meanwhile.
     *
     * <pre>{@code
     * memory.pause(locks);
     * memory.advance(Duration.ofSeconds(31)); // longer than the lease
     * others.reentrantLock("job").lock(); // another JVM has it now
     * memory.resume(locks); // now the first client learns that it has lost the lock
     * }</pre>
     *
     * @throws IllegalArgumentException if {@code client} is not a client of this Redis
     * @throws IllegalStateException if the client is paused or closed
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
     * Resumes a paused client. Returns when the client has noticed how much time has passed: holds whose lease has
     * ended are lost, and listeners were notified.
     *
     * @throws IllegalArgumentException if {@code client} is not a client of this Redis
     * @throws IllegalStateException if the client is not paused
     */
    public void resume(RedisLocks client) {
        TestClient known = known(client);
        if (!known.isPaused()) {
            throw new IllegalStateException(client + " is not paused: call pause(client) first.");
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
        throw new IllegalArgumentException(client
                + " is no client of this InMemoryLocks: use a client that client() or newClient() has returned.");
    }

    /**
     * Makes Redis unavailable: until {@link #available()}, every request fails like one whose connection is refused.
     */
    public void unavailable() {
        away = true;
        clients.forEach(client -> client.down(true));
    }

    /** Makes Redis available again, with all its data. A client asks Redis again when the client's next try is due. */
    public void available() {
        away = false;
        clients.forEach(client -> client.down(false));
    }

    /** Closes all clients, and deletes all data. */
    @Override
    public void close() {
        // Let the clock run: a client that closes waits a short time for threads that are in its calls.
        time.go();
        clients.forEach(TestClient::close);
        server.close();
    }

    /** Names the clients of this Redis. */
    @Override
    public String toString() {
        return "InMemoryLocks"
                + clients.stream().map(client -> client.locks.toString()).toList() + (away ? ", unavailable" : "");
    }
}
