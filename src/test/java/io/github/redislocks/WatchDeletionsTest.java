package io.github.redislocks;

import static io.github.redislocks.FixedLease.fixed;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.redis.Call;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Settings;
import io.github.redislocks.testkit.twin.HeldCalls;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A client that Redis notifies of changed keys, on moved time. */
class WatchDeletionsTest extends FakeTime {

    private static final long BEFORE_THE_NEXT_RENEWAL = 5_000;
    private static final long WATCHED_MILLIS = 30;

    @Override
    Settings options() {
        return Settings.DEFAULTS.withWatchDeletions(true);
    }

    @BeforeEach
    void awaitMailbox() {
        await().until(() -> inside.mailbox().isOpen());
        settle();
    }

    private LockHandle acquire(String name, LockOptions options) {
        try {
            return locks.reentrantLock(name, options).acquire();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private LockHandle watched() {
        LockHandle handle = acquire("job", LockOptions.defaults());
        pass(WATCHED_MILLIS);
        return handle;
    }

    private static CompletableFuture<LockLost> news(LockHandle handle) {
        return handle.lost().toCompletableFuture();
    }

    private static boolean isRenewal(Call call) {
        return call.request().renews();
    }

    private void count() {
        redis.log().turn(true);
        redis.log().clear();
    }

    private long renewals() {
        return redis.log().calls().stream()
                .filter(logged -> isRenewal(logged.call()))
                .count();
    }

    private boolean isDoubted() {
        return inside.holds().all().stream().anyMatch(Hold::isDoubted);
    }

    private void isTold(CompletableFuture<LockLost> news) {
        long began = clock.nanoTime();
        passUntil(news::isDone);
        assertThat(clock.nanoTime() - began).as("ns").isLessThan(BEFORE_THE_NEXT_RENEWAL * 1_000_000);
        assertThat(news.join().reason()).isEqualTo(LockLost.Reason.TAKEN);
    }

    @Test
    void deletion_ofAWatchedLock_isToldAtOnce() {
        LockHandle handle = watched();
        CompletableFuture<LockLost> news = news(handle);
        server.del(KEY);
        isTold(news);
        assertThat(handle.release()).isFalse();
    }

    @Test
    void deletion_ofAYoungHold_isToldBySoonAskingForIt() {
        LockHandle handle = acquire("job", LockOptions.defaults());
        CompletableFuture<LockLost> news = news(handle);
        server.del(KEY);
        isTold(news);
        assertThat(handle.isHeld()).isFalse();
    }

    @Test
    void deletion_ofALockWithAFixedLease_isToldAtOnce() {
        LockHandle handle = acquire("job", LockOptions.defaults().fixedLease(Duration.ofMinutes(1)));
        CompletableFuture<LockLost> news = news(handle);
        pass(WATCHED_MILLIS);
        server.del(KEY);
        isTold(news);
        assertThat(handle.isHeld()).isFalse();
    }

    /** The place is taken on the connection of whose changes Redis does not tell. */
    @Test
    void deletion_afterTheClientHasQueuedInTheBackground_isToldAtOnce() {
        LockHandle handle = acquire("job", LockOptions.defaults().fixedLease(Duration.ofMinutes(1)));
        CompletableFuture<LockLost> news = news(handle);
        pass(WATCHED_MILLIS);
        CompletableFuture<LockHandle> next =
                locks.reentrantLock("job", LockOptions.defaults().fair(true)).acquireAsync();
        passUntil(() -> server.zset(KEY + ":queue").size() == 1);
        pass(WATCHED_MILLIS);
        server.del(KEY);
        isTold(news);
        passUntil(next::isDone);
        next.join().close();
    }

    /** The renewal's own writes must not end the watch. */
    @Test
    void deletion_afterManyRenewals_isToldAtOnce() {
        LockHandle handle = watched();
        CompletableFuture<LockLost> news = news(handle);
        pass(65_000);
        server.del(KEY);
        isTold(news);
        assertThat(handle.isHeld()).isFalse();
    }

    @Test
    void deletion_ofOneOfManyLocksThatAreRenewedTogether_isToldForThatOne() {
        List<LockHandle> handles = new ArrayList<>();
        for (int i = 0; i < 50; i++) {
            handles.add(acquire("job " + i, LockOptions.defaults()));
        }
        pass(WATCHED_MILLIS);
        pass(25_000);
        server.del("redis-locks:{job 17}");
        isTold(news(handles.get(17)));
        assertThat(handles.stream().filter(LockHandle::isHeld)).hasSize(49);
    }

    /** Not only of the first of each batch. */
    @Test
    void deletion_ofEachOfSomeLocksThatAreRenewedTogether_isToldAtOnce() {
        List<LockHandle> handles = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            handles.add(acquire("job " + i, LockOptions.defaults()));
        }
        count();
        pass(WATCHED_MILLIS);
        assertThat(redis.log().count("renew_all")).isEqualTo(1);
        for (int i = 0; i < 5; i++) {
            server.del("redis-locks:{job " + i + "}");
            isTold(news(handles.get(i)));
        }
    }

    @Test
    void flush_isToldToAllHolders() {
        List<LockHandle> handles = new ArrayList<>();
        for (int i = 0; i < 50; i++) {
            handles.add(acquire("job " + i, LockOptions.defaults()));
        }
        pass(WATCHED_MILLIS);
        server.flushAll();
        for (LockHandle handle : handles) {
            isTold(news(handle));
        }
    }

    /** The answer may be from before the change. */
    @Test
    void change_whileAQuestionIsUnderWay_isAskedForOnceMore() {
        LockHandle handle = watched();
        count();
        HeldCalls held = redis.hold(WatchDeletionsTest::isRenewal).whateverTheirTimeouts();
        server.touch(KEY);
        inside.watchdog().wakeAt(0);
        held.awaitParked(1, Duration.ofSeconds(20));
        redis.dropSubscriptions();
        await().pollInterval(Duration.ofMillis(1)).until(() -> {
            // The mailbox pauses before it subscribes anew.
            clock.advanceMillis(5);
            return isDoubted();
        });
        held.release();
        passUntil(() -> renewals() == 2);
        handle.ensureHeld();
        handle.close();
    }

    @Test
    void hint_thatIsWrong_costsOneQuestionAndChangesNothing() {
        LockHandle handle = watched();
        count();
        server.touch(KEY);
        passUntil(() -> renewals() > 0);
        pass(100);
        handle.ensureHeld();
        assertThat(renewals()).isEqualTo(1);
        assertThat(losses).isEmpty();
        handle.close();
    }

    @Test
    void hints_allTheTime_areBounded() {
        LockHandle handle = watched();
        count();
        for (int i = 0; i < 1_000; i++) {
            server.touch(KEY);
            pass(1);
        }
        handle.ensureHeld();
        assertThat(renewals()).isBetween(10L, 101L);
        handle.close();
    }

    @Test
    void ownUnlock_isNoQuestion() {
        LockHandle handle = watched();
        count();
        handle.close();
        pass(1_000);
        assertThat(renewals()).isZero();
        assertThat(losses).isEmpty();
    }

    @Test
    void subscription_thatWasLost_hasAllHoldsAskedOnceAndWatchedAnew() {
        LockHandle handle = watched();
        CompletableFuture<LockLost> news = news(handle);
        count();
        redis.dropSubscriptions();
        passUntil(() -> renewals() > 0);
        pass(2_000);
        assertThat(renewals()).isEqualTo(1);
        server.del(KEY);
        isTold(news);
        assertThat(handle.isHeld()).isFalse();
    }

    @Test
    void deletion_whoseMessageIsLost_isToldByTheNextRenewal() {
        LockHandle handle = watched();
        CompletableFuture<LockLost> news = news(handle);
        redis.dropMessages(true);
        server.del(KEY);
        pass(5_000);
        assertThat(news).isNotDone();
        pass(6_000);
        assertThat(news.join().reason()).isEqualTo(LockLost.Reason.TAKEN);
        assertThat(handle.isHeld()).isFalse();
    }

    /** The first question ends with the renewal that the inner acquisition has asked for. */
    @Test
    void deletion_afterARenewedReentryWasLeftAtOnce_isToldAtOnce() {
        for (boolean local : new boolean[] {false, true}) {
            losses.clear();
            RedisLocks client = RedisLocks.on(
                    server.another(), options().withLocalReentry(local), LossListener.to(losses::add), clock);
            clients.add(client);
            RedisReentrantLock named = client.reentrantLock("job");
            fixed(named, Duration.ofMinutes(1)).lock();
            named.lock();
            named.unlock();
            pass(WATCHED_MILLIS);
            server.del(KEY);
            long began = clock.nanoTime();
            passUntil(() -> !losses.isEmpty());
            assertThat(clock.nanoTime() - began)
                    .as("ns, local: " + local)
                    .isLessThan(BEFORE_THE_NEXT_RENEWAL * 1_000_000);
            assertThat(losses).extracting(LockLost::reason).containsExactly(LockLost.Reason.TAKEN);
            assertThatThrownBy(named::unlock).isInstanceOf(LockLostException.class);
            whileTimePasses(client::close);
        }
    }

    @Test
    void deletion_ofOneOfSeveralLocksWithAFixedLease_isToldAtOnce() throws InterruptedException {
        List<String> names = new ArrayList<>();
        for (int i = 0; i < 33; i++) {
            names.add("job " + (10 + i));
        }
        // More than one request takes.
        MultiLockHandle all = locks.multiLock(names, LockOptions.defaults().fixedLease(Duration.ofMinutes(1)))
                .acquire();
        CompletableFuture<LockLost> news = all.lost().toCompletableFuture();
        pass(WATCHED_MILLIS);
        server.del("redis-locks:{job 17}");
        isTold(news);
        assertThat(all.release()).isFalse();
    }
}
