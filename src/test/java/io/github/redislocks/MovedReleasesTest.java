package io.github.redislocks;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Script;
import io.github.redislocks.state.Settings;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * Locks that were released just before a failover to a server that had received the acquisition and not the release.
 */
class MovedReleasesTest extends FakeTime {

    private static final String FENCE = KEY + ":fence";
    private static final Script RESTORE = Script.load(MovedReleasesTest.class, "restore");

    /** The state of the lock on the new server. */
    private final List<String> known = new ArrayList<>();

    /** Notes what the replica has received: all that has happened to the lock so far. */
    private void replicate() {
        known.clear();
        known.add(String.valueOf(server.string(FENCE)));
        server.hash(KEY).forEach((field, value) -> known.addAll(List.of(field, value)));
        assertThat(known).hasSizeGreaterThan(1);
    }

    /** Makes the server what the replica knows. */
    private void promote() {
        server.run(new Call(RESTORE, List.of(KEY, FENCE), known), 1_000_000_000);
        assertThat(server.hash(KEY)).isNotEmpty();
    }

    private void failOver() {
        promote();
        redis.moved();
        settle();
    }

    private void isFreeAndWasReleasedInOrder() {
        assertThat(server.hash(KEY)).isEmpty();
        assertThat(other.tryLock()).isTrue();
        assertThat(other.previousHolderLost()).isFalse();
        other.unlock();
        assertThat(losses).isEmpty();
    }

    private int releases() {
        return redis.log().count("free", "free_all", "give_up", "release");
    }

    @Test
    void lock_whoseReleaseTheNewServerNeverGot_isFreedAtOnce() {
        lock.lock();
        replicate();
        lock.unlock();
        failOver();
        isFreeAndWasReleasedInOrder();
    }

    @Test
    void fairLock_whoseReleaseTheNewServerNeverGot_isFreedAtOnce() {
        RedisReentrantLock fair =
                locks.reentrantLock("job", LockOptions.defaults().fair(true));
        fair.lock();
        replicate();
        fair.unlock();
        failOver();
        isFreeAndWasReleasedInOrder();
    }

    @Test
    void handle_whoseReleaseTheNewServerNeverGot_isFreedAtOnce() throws InterruptedException {
        LockHandle handle = locks.reentrantLock("job").acquire();
        replicate();
        handle.close();
        failOver();
        isFreeAndWasReleasedInOrder();
    }

    @Test
    void severalLocks_whoseReleaseTheNewServerNeverGot_areFreedAtOnce() throws InterruptedException {
        MultiLockHandle handle = locks.multiLock(List.of("job", "more")).acquire();
        replicate();
        handle.close();
        failOver();
        isFreeAndWasReleasedInOrder();
    }

    @Test
    void keptLock_whoseReleaseTheNewServerNeverGot_isFreedAtOnce() {
        LockOptions kept = LockOptions.defaults().residency(Duration.ofSeconds(1));
        RedisReentrantLock resident = locks.reentrantLock("job", kept);
        resident.lock();
        replicate();
        resident.unlock();
        pass(2_000);
        assertThat(server.hash(KEY)).isEmpty();
        failOver();
        isFreeAndWasReleasedInOrder();
    }

    @Test
    void lockGivenUpInACondition_whichTheNewServerNeverGot_isFreedAtOnce() throws InterruptedException {
        Thread waiter = new Thread(() -> {
            lock.lock();
            replicate();
            lock.newCondition("c").awaitUninterruptibly();
            lock.unlock();
        });
        waiter.start();
        passUntil(() -> !server.zset(KEY + ":conditions").isEmpty());
        server.del(KEY + ":conditions");
        server.del(KEY + ":waiters");
        long before = clock.nanoTime();
        failOver();
        passUntil(() -> !waiter.isAlive());
        assertThat(Duration.ofNanos(clock.nanoTime() - before))
                .as("woken without a cause, as it may be, and not after a lease")
                .isLessThan(Duration.ofMillis(Settings.DEFAULTS.leaseMillis() / 2));
        isFreeAndWasReleasedInOrder();
    }

    @Test
    void releaseThatKeepsTheLockTaken_whichTheNewServerNeverGot_keepsItTakenThere() throws InterruptedException {
        LockHandle handle = locks.reentrantLock("job").acquire();
        replicate();
        handle.releaseAfter(Duration.ofSeconds(50));
        failOver();
        assertThat(server.hash(KEY)).containsEntry("owner", "nobody");
        assertThat(server.pttl(KEY)).isGreaterThan(Settings.DEFAULTS.leaseMillis());
    }

    @Test
    void waiterOfAnotherClient_isGrantedTheLockAtOnce() throws InterruptedException {
        lock.lock();
        replicate();
        lock.unlock();
        promote();
        Thread waiter = new Thread(() -> {
            other.lock();
            other.unlock();
        });
        waiter.start();
        passUntil(() -> server.zset(KEY + ":queue").size() == 1);
        long before = clock.nanoTime();
        redis.moved();
        settle();
        waiter.join();
        assertThat(clock.nanoTime()).as("the clock stood still").isEqualTo(before);
    }

    @Test
    void lockThatTheThreadHasAgain_isLeftAlone() {
        lock.lock();
        lock.unlock();
        lock.lock();
        redis.moved();
        settle();
        assertThat(server.hash(KEY)).isNotEmpty();
        lock.unlock();
        assertThat(losses).isEmpty();
    }

    @Test
    void release_isSaidAgainOnce() {
        lock.lock();
        replicate();
        lock.unlock();
        int before = releases();
        failOver();
        assertThat(releases() - before).isEqualTo(1);
        isFreeAndWasReleasedInOrder();
    }

    @Test
    void releases_thatAreSaidAgain_areTheLastAndLimited() {
        for (int i = 0; i < 700; i++) {
            lock.lock();
            replicate();
            lock.unlock();
        }
        int before = releases();
        failOver();
        assertThat(releases() - before).isBetween(1, 512);
        isFreeAndWasReleasedInOrder();
    }

    @Test
    void releases_longerAgoThanTwoLeases_areNotSaidAgain() {
        for (int i = 0; i < 3; i++) {
            lock.lock();
            pass(Settings.DEFAULTS.leaseMillis());
            lock.unlock();
        }
        RedisReentrantLock held = locks.reentrantLock("held");
        held.lock();
        pass(3 * Settings.DEFAULTS.leaseMillis());
        int before = releases();
        redis.moved();
        settle();
        assertThat(releases()).isEqualTo(before);
        held.unlock();
    }
}
