package io.github.redislocks;

import static io.github.redislocks.FixedLease.fixed;
import static io.github.redislocks.fixture.twin.Verbs.verb;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.concurrent.Uninterruptibles;
import io.github.redislocks.lease.Renewals;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Owner;
import io.github.redislocks.testkit.twin.Fault;
import io.github.redislocks.watchdog.Job;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests that many holds are renewed together, and that each gets its own result. */
@Tag("long")
class ManyHoldsTest extends FakeTime {

    private final List<RedisReentrantLock> held = new ArrayList<>();

    private void lock(int count) {
        for (int i = 0; i < count; i++) {
            RedisReentrantLock one = locks.reentrantLock("many-" + i);
            one.lock();
            held.add(one);
        }
        settle();
    }

    private static String key(int index) {
        return "redis-locks:{many-" + index + "}";
    }

    @Test
    void renewals_thatAreDueTogether_areSentByTheBatch() {
        lock(2 * Renewals.BATCH + 6);
        pass(9_999);
        assertThat(redis.log().count("renew", "renew_all")).isZero();
        pass(1);
        await().until(() -> redis.log().count("renew_all") == 3);
        assertThat(redis.log().count("renew")).isZero();
        for (int i = 0; i < 12; i++) {
            pass(5_000);
        }
        assertThat(held).allMatch(RedisReentrantLock::isHeldByCurrentThread);
        assertThat(losses).isEmpty();
        assertThat(server.keys()).filteredOn(key -> !key.endsWith(":fence")).hasSize(held.size());
    }

    @Test
    void renewals_ofOneMoment_areSpread() {
        lock(3 * Renewals.BATCH);
        pass(10_000);
        await().until(() -> redis.log().count("renew_all") == 3);
        settle();
        assertThat(inside.holds().all().stream()
                        .map(hold -> hold.nextRenewalNanos() - clock.nanoTime())
                        .distinct())
                .containsExactlyInAnyOrder(10_000_000_000L, 9_999_000_000L, 9_998_000_000L);
    }

    @Test
    void oneOfABatch_thatSomebodyTook_isLostAlone() {
        lock(5);
        server.del(key(3));
        pass(10_000);
        await().until(() -> losses.size() == 1);
        assertThat(losses.get(0).lockName()).isEqualTo("many-3");
        assertThat(losses.get(0).reason()).isEqualTo(LockLost.Reason.TAKEN);
        assertThat(held).filteredOn(RedisReentrantLock::isHeldByCurrentThread).hasSize(4);
        assertThat(server.keys()).doesNotContain(key(3));
    }

    @Test
    void batch_withoutAnAnswer_isTriedAgainAndElseUnconfirmed() {
        lock(5);
        redis.failNext(1, verb("renew"), Fault.REPLY_LOST);
        pass(11_000);
        assertThat(redis.log().count("renew_all")).isEqualTo(2);
        assertThat(held.get(4).remainingLease()).isGreaterThan(Duration.ofSeconds(28));
        redis.down(true);
        pass(29_700);
        await().until(() -> losses.size() == 5);
        assertThat(losses).allMatch(loss -> loss.reason() == LockLost.Reason.UNCONFIRMED);
    }

    @Test
    void fixedLease_thatIsCheckedTogetherWithOthers_isNotMadeLonger() {
        lock(3);
        fixed(lock, Duration.ofSeconds(12)).lock();
        redis.moved();
        await().until(() -> redis.log().count("renew") == 1 && redis.log().count("renew_all") == 1);
        assertThat(server.pttl(KEY)).isLessThanOrEqualTo(12_000);
        lock.unlock();
    }

    @Test
    void batches_behindOneWithoutAnAnswer_areNotSent() {
        lock(3 * Renewals.BATCH);
        AtomicInteger sent = new AtomicInteger();
        redis.failNext(1_000, call -> verb("renew").test(call) && sent.incrementAndGet() > 0, Fault.REQUEST_LOST);
        pass(10_000);
        await().until(() -> sent.get() > 0);
        settle();
        assertThat(sent).hasValue(1);
        redis.heal();
        pass(1_000);
        await().until(() -> redis.log().count("renew_all") == 3);
        assertThat(held).allMatch(RedisReentrantLock::isHeldByCurrentThread);
    }

    @Test
    void fixedLeases_areNotRenewedWithTheOthers() {
        lock(3);
        fixed(lock, Duration.ofSeconds(12)).lock();
        settle();
        pass(12_000);
        await().until(() -> losses.size() == 1);
        assertThat(losses.get(0).lockName()).isEqualTo("job");
        assertThat(redis.log().count("renew_all")).isEqualTo(1);
    }

    @Test
    void shortHolds_afterAPause_doNotWakeTheWatchdogEachTime() {
        Thread scheduler = inside.watchdog().threads().get(0);
        pass(60_000);
        settle();
        long before = clock.parks(scheduler);
        settle();
        long looks = clock.parks(scheduler) - before;
        for (int i = 0; i < 100; i++) {
            lock.lock();
            lock.unlock();
        }
        settle();
        assertThat(clock.parks(scheduler) - before - looks)
                .as("once, to sleep no longer than until the first renewal, and to settle")
                .isLessThanOrEqualTo(looks + 1);
    }

    @Test
    void threadThatHoldsNothing_keepsNoClassOfTheLibrary() {
        lock.lock();
        WeakReference<Owner> owner =
                new WeakReference<>(inside.holds().all().iterator().next().owner);
        lock.unlock();
        await().until(() -> {
            System.gc();
            return owner.refersTo(null);
        });
    }

    @Test
    void memoryOfAToken_isKeptAliveOnceAnHour() {
        lock.lock();
        settle();
        long memory = server.pttl(KEY + ":fence");
        pass(3_600_000);
        assertThat(server.pttl(KEY + ":fence")).isEqualTo(memory - 3_600_000);
        pass(20_000);
        assertThat(server.pttl(KEY + ":fence")).isGreaterThan(memory - 20_000);
        lock.unlock();
    }

    @Test
    void recordOfALoss_whoseOwnerLives_isKeptHoweverLongItDoesNotCall() {
        fixed(lock, Duration.ofSeconds(1)).lock();
        pass(1_000);
        await().until(() -> losses.size() == 1);
        settle();
        clock.advanceMillis(Duration.ofDays(3).toMillis());
        settle();
        assertThatThrownBy(lock::unlock).isInstanceOf(LockLostException.class);
        assertThat(inside.holds().all()).isEmpty();
    }

    @Test
    void recordsOfLosses_moreThanTheBound_theOldestAreForgotten() {
        Renewals ofTwo = inside(locks).renewals(2);
        List<RedisReentrantLock> lost = new ArrayList<>();
        for (String name : List.of("first", "second", "third")) {
            RedisReentrantLock one = locks.reentrantLock(name);
            fixed(one, Duration.ofSeconds(1)).lock();
            lost.add(one);
            pass(1_000);
        }
        ofTwo.inspect(clock.nanoTime(), clock.nanoTime(), (key, job) -> {});
        assertThat(inside.holds().all()).hasSize(2);
        assertThatThrownBy(lost.get(0)::unlock)
                .isInstanceOf(IllegalMonitorStateException.class)
                .isNotInstanceOf(LockLostException.class);
        assertThatThrownBy(lost.get(1)::unlock).isInstanceOf(LockLostException.class);
        assertThatThrownBy(lost.get(2)::unlock).isInstanceOf(LockLostException.class);
    }

    @Test
    void recordOfALoss_whoseOwnerHasEnded_isForgotten() throws InterruptedException {
        CountDownLatch lost = new CountDownLatch(1);
        Thread owner = new Thread(() -> {
            fixed(lock, Duration.ofSeconds(1)).lock();
            Uninterruptibles.until(
                    System.nanoTime() + 10_000_000_000L, nanos -> lost.await(nanos, TimeUnit.NANOSECONDS));
        });
        owner.start();
        await().until(() -> inside.holds().all().size() == 1);
        pass(1_000);
        await().until(() -> losses.size() == 1);
        settle();
        assertThat(inside.holds().all()).as("the thread may still ask").hasSize(1);
        lost.countDown();
        owner.join();
        settle();
        assertThat(inside.holds().all()).isEmpty();
    }

    @Test
    void batch_whoseFirstHoldIsNotToBeRenewedAnyMore_renewsTheOthersAllTheSame() {
        lock(Renewals.BATCH);
        Hold first = inside.holds().all().iterator().next();
        RedisReentrantLock one = locks.reentrantLock(first.keys().name());
        one.unlock();
        fixed(one, Duration.ofHours(1)).lock();
        one.lock();
        List<Job> jobs = new ArrayList<>();
        long due = clock.nanoTime() + 10_000_000_000L;
        inside(locks).renewals(1).inspect(due, due, (key, job) -> jobs.add(Objects.requireNonNull(job)));
        assertThat(jobs).hasSize(1);
        one.unlock();
        assertThat(one.getHoldCount()).isEqualTo(1);
        assertThat(jobs.get(0).call(due, 1).args().get(0)).isEqualTo("30000");
    }
}
