package io.github.redislocks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.fixture.OwnThread;
import io.github.redislocks.fixture.twin.TwinServers;
import io.github.redislocks.redis.Address;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.sentinel.SentinelRedis;
import io.github.redislocks.redis.topology.Topology;
import io.github.redislocks.script.Inspections;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Settings;
import io.github.redislocks.testkit.twin.Fault;
import io.github.redislocks.testkit.twin.HeldCalls;
import io.github.redislocks.testkit.twin.InMemoryRedis;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Locks on the master that three Sentinels name. Sentinels and servers are in memory. */
@Timeout(60)
class SentinelInMemoryTest {

    private static final Duration TIMEOUT = Duration.ofSeconds(20);
    private static final Address OLD = new Address("old", 1);
    private static final Address NEW = new Address("new", 2);
    private static final Address ALIEN = new Address("alien", 3);
    private static final Address FIRST = new Address("first", 26_379);
    private static final Address SECOND = new Address("second", 26_379);
    private static final Address THIRD = new Address("third", 26_379);
    private static final List<Address> SENTINELS = List.of(FIRST, SECOND, THIRD);

    private final TwinServers servers = new TwinServers();
    private final InMemoryRedis old = servers.start(OLD);
    private final InMemoryRedis promoted = servers.start(NEW);
    private final InMemoryRedis alien = servers.start(ALIEN);
    /** The master and its epoch, by the Sentinel that names them. */
    private final Map<Address, Named> named = new ConcurrentHashMap<>();
    /** How often each Sentinel was asked. */
    private final Map<Address, AtomicInteger> asked = new ConcurrentHashMap<>();

    private final List<LockLost> losses = new CopyOnWriteArrayList<>();
    private final AtomicInteger locked = new AtomicInteger();
    private SentinelRedis redis;
    private RedisLocks locks;

    private record Named(Address master, int epoch) {}

    @BeforeEach
    void start() {
        SENTINELS.forEach(sentinel -> {
            asked.put(sentinel, new AtomicInteger());
            servers.start(sentinel).replies(command -> reply(sentinel, command));
        });
        name(OLD, 1, FIRST, SECOND, THIRD);
    }

    @AfterEach
    void close() {
        if (locks != null) {
            locks.close();
        }
        if (redis != null) {
            redis.close();
        }
        servers.close();
    }

    private void name(Address master, int epoch, Address... sentinels) {
        for (Address sentinel : sentinels) {
            named.put(sentinel, new Named(master, epoch));
        }
    }

    private Object reply(Address sentinel, List<String> command) {
        asked.get(sentinel).incrementAndGet();
        Named now = named.get(sentinel);
        if (command.get(1).equals("MASTER")) {
            return List.of("name", command.get(2), "config-epoch", Integer.toString(now.epoch));
        }
        return List.of(now.master.host(), Integer.toString(now.master.port()));
    }

    private SentinelRedis open() {
        Topology.Sentinel topology = new Topology.Sentinel("locks", SENTINELS);
        redis = new SentinelRedis(topology, servers, servers, TIMEOUT.toNanos(), Threads.DAEMONS).start();
        return redis;
    }

    private void connect() {
        locks = RedisLocks.on(
                open(), Settings.DEFAULTS.withCommandTimeout(TIMEOUT), LossListener.to(losses::add), Clock.SYSTEM);
    }

    /** Whether a lock that is taken now is taken on this server. */
    private boolean isUsed(InMemoryRedis server) {
        String name = "n" + locked.incrementAndGet();
        try {
            locks.reentrantLock(name).runWithLock(() -> {});
        } catch (LockLostException moved) {
            return false;
        }
        return server.string("redis-locks:{" + name + "}:fence") != null;
    }

    private void isUsedFromNowOn(InMemoryRedis server) {
        await().until(() -> isUsed(server));
        staysAt(server);
    }

    /** Each Sentinel that answers is asked several times more, and the client uses this server all the time. */
    private void staysAt(InMemoryRedis server) {
        int before = asked.get(FIRST).get();
        await().pollInSameThread().until(() -> {
            assertThat(isUsed(server)).isTrue();
            return asked.get(FIRST).get() > before + 4;
        });
    }

    @Test
    void anotherMaster_thatMostName_isUsedFromThenOn() {
        connect();
        assertThat(isUsed(old)).isTrue();
        name(NEW, 2, FIRST, SECOND);
        isUsedFromNowOn(promoted);
    }

    @Test
    void promotion_holdThatTheNewMasterDoesNotKnow_isLost() {
        connect();
        RedisReentrantLock lock = locks.reentrantLock("job");
        lock.lock();
        name(NEW, 2, FIRST, SECOND, THIRD);
        await().until(() -> losses.size() == 1);
        assertThat(losses.get(0).reason()).isEqualTo(LockLost.Reason.TAKEN);
        assertThat(lock.isHeldByCurrentThread()).isFalse();
    }

    @Test
    void promotion_holdThatTheNewMasterKnows_goesOn_andItsWaiterIsServed() {
        servers.start(NEW, old);
        connect();
        RedisReentrantLock lock = locks.reentrantLock("job");
        lock.lock();
        RedisLocks others = RedisLocks.on(old.another(), Settings.DEFAULTS, List.of(), Clock.SYSTEM);
        CompletableFuture<LockHandle> elsewhere = others.reentrantLock("job").acquireAsync();
        CompletableFuture<LockHandle> here = locks.reentrantLock("job").acquireAsync();
        await().until(() -> old.zset("redis-locks:{job}:queue").size() == 1);
        name(NEW, 2, FIRST, SECOND, THIRD);
        await().until(() -> redis.serverOf("").equals(NEW.toString()));
        lock.unlock();
        CompletableFuture.allOf(here.thenAccept(LockHandle::close), elsewhere.thenAccept(LockHandle::close))
                .join();
        assertThat(losses).isEmpty();
        others.close();
    }

    @Test
    void promotion_callUnderWay_isUnanswered_andSubscriptionsEnd() {
        open();
        redis.find("", TIMEOUT.toNanos());
        HeldCalls held = servers.clientsOf(OLD).get(0).hold(call -> true).whateverTheirTimeouts();
        var subscription = redis.subscribe("channel", TIMEOUT.toNanos());
        CompletableFuture<String> message = OwnThread.call(subscription::next);
        CompletableFuture<?> call = OwnThread.call(
                () -> redis.run(Inspections.locked(LockKeys.of("redis-locks", "job")), TIMEOUT.toNanos()));
        held.awaitParked(1, TIMEOUT);
        name(NEW, 2, FIRST, SECOND, THIRD);
        assertThatThrownBy(call::join).hasCauseInstanceOf(RedisException.Unanswered.class);
        assertThatThrownBy(message::join).hasCauseInstanceOf(RedisException.Unanswered.class);
        assertThat(redis.run(Inspections.locked(LockKeys.of("redis-locks", "job")), TIMEOUT.toNanos()))
                .isNotNull();
        assertThat(redis.serverOf("")).isEqualTo(NEW.toString());
    }

    @Test
    void promotion_callThatWasNotSent_goesToTheNewMaster() {
        open();
        redis.find("", TIMEOUT.toNanos());
        servers.clientsOf(OLD)
                .get(0)
                .failNext(
                        call -> {
                            name(NEW, 2, FIRST, SECOND, THIRD);
                            await().until(() -> redis.serverOf("").equals(NEW.toString()));
                            return true;
                        },
                        Fault.REFUSED_CONNECTION);
        assertThat(redis.run(Inspections.locked(LockKeys.of("redis-locks", "job")), TIMEOUT.toNanos()))
                .isNotNull();
    }

    @Test
    void promotion_noCallReachesTheNewMaster_beforeTheListenerHasRun() throws Exception {
        AtomicInteger moves = new AtomicInteger();
        CountDownLatch mayMove = new CountDownLatch(1);
        open();
        redis.onMoved(() -> {
            if (moves.incrementAndGet() == 1) {
                throw new OutOfMemoryError("made by the test");
            }
            awaitUninterruptibly(mayMove);
        });
        redis.find("", TIMEOUT.toNanos());
        name(NEW, 2, FIRST, SECOND, THIRD);
        await().until(() -> moves.get() == 2);
        FutureTask<?> call = new FutureTask<>(
                () -> redis.run(Inspections.locked(LockKeys.of("redis-locks", "job")), TIMEOUT.toNanos()));
        Thread caller = Threads.daemon("caller", call);
        caller.start();
        await().until(() -> call.isDone() || caller.getState() == Thread.State.WAITING);
        assertThat(call.isDone()).isFalse();
        assertThat(servers.clientsOf(NEW)).isEmpty();
        mayMove.countDown();
        assertThat(call.get()).isNotNull();
        assertThat(redis.serverOf("")).isEqualTo(NEW.toString());
        assertThat(moves).hasValue(2);
    }

    private static void awaitUninterruptibly(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void wrongMaster_thatOneNames_isNotFollowed_whateverItsEpoch() {
        connect();
        name(ALIEN, 99, FIRST);
        staysAt(old);
        assertThat(alien.keys()).isEmpty();
    }

    @Test
    void splitAnswers_withoutAMajority_leaveTheKnownMaster() {
        connect();
        name(NEW, 2, FIRST);
        name(ALIEN, 3, SECOND);
        servers.down(THIRD, true);
        staysAt(old);
        name(NEW, 2, SECOND);
        isUsedFromNowOn(promoted);
        assertThat(alien.keys()).isEmpty();
    }

    @Test
    void splitAnswers_atTheStart_areDecidedByTheEpoch() {
        name(NEW, 2, SECOND);
        servers.down(THIRD, true);
        connect();
        assertThat(isUsed(promoted)).isTrue();
    }

    @Test
    void sentinelThatHangs_delaysNoPromotion() {
        connect();
        CountDownLatch goesOn = new CountDownLatch(1);
        servers.clientsOf(SECOND).get(0).replies(command -> {
            awaitUninterruptibly(goesOn);
            return reply(SECOND, command);
        });
        name(NEW, 2, FIRST, THIRD);
        isUsedFromNowOn(promoted);
        goesOn.countDown();
    }

    @Test
    void sentinelsAway_locks_goOnOnTheKnownMaster() {
        connect();
        SENTINELS.forEach(sentinel -> servers.down(sentinel, true));
        for (int i = 0; i < 10; i++) {
            assertThat(isUsed(old)).isTrue();
        }
        SENTINELS.forEach(sentinel -> servers.down(sentinel, false));
        name(NEW, 2, FIRST, SECOND, THIRD);
        isUsedFromNowOn(promoted);
    }

    @Test
    void sentinelsAway_fromTheStart_areNamedInTheFailure() {
        SENTINELS.forEach(sentinel -> servers.down(sentinel, true));
        open();
        assertThatThrownBy(() -> redis.find("", TIMEOUT.toNanos()))
                .isInstanceOf(RedisException.Unanswered.class)
                .hasMessageContaining("No Sentinel names the master locks")
                .hasMessageContaining("refused");
    }

    @Test
    void sentinels_thatKnowNoSuchMaster_areAPermanentRefusal() {
        for (Address sentinel : SENTINELS) {
            servers.start(sentinel).replies(command -> {
                throw new RedisException.Refused("ERR No such master with that name", null);
            });
        }
        open();
        assertThatThrownBy(() -> redis.find("", TIMEOUT.toNanos()))
                .hasMessageContaining("knows no such master")
                .hasCauseInstanceOf(RedisException.Refused.class);
    }

    @Test
    void masterThatComesBack_isUsedAgain_andItsWaitersAreServed() {
        connect();
        RedisReentrantLock lock = locks.reentrantLock("job");
        RedisLocks others = RedisLocks.on(old.another(), Settings.DEFAULTS, List.of(), Clock.SYSTEM);
        RedisReentrantLock other = others.reentrantLock("job");
        other.lock();
        CompletableFuture<LockHandle> waiter = lock.acquireAsync();
        await().until(() -> old.zset("redis-locks:{job}:queue").size() == 1);
        servers.down(OLD, true);
        int before = asked.get(FIRST).get();
        await().until(() -> asked.get(FIRST).get() > before + 4);
        servers.down(OLD, false);
        other.unlock();
        waiter.join().close();
        staysAt(old);
        others.close();
    }

    @Test
    void masterThatIsDemoted_callsAreRefused_untilAnotherIsNamed() {
        connect();
        assertThat(isUsed(old)).isTrue();
        servers.clientsOf(OLD).forEach(client -> client.failNext(1_000_000, call -> true, Fault.refused("READONLY")));
        CompletableFuture<LockHandle> waiter = locks.reentrantLock("job").acquireAsync();
        assertThat(waiter).isNotDone();
        name(NEW, 2, FIRST, SECOND, THIRD);
        waiter.join().close();
        isUsedFromNowOn(promoted);
    }
}
