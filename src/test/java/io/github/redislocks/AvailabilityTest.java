package io.github.redislocks;

import static io.github.redislocks.FixedLease.fixed;
import static io.github.redislocks.fixture.twin.Verbs.verb;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.health.Availability;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.script.Inspections;
import io.github.redislocks.script.Scripts;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Owner;
import io.github.redislocks.state.Settings;
import io.github.redislocks.state.WaitLimit;
import io.github.redislocks.testkit.twin.Fault;
import io.github.redislocks.testkit.twin.HeldCalls;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/**
 * Tests what counts as an outage of Redis, so that callers fail, and what is only a timeout of the callers' own that
 * was too short.
 */
class AvailabilityTest extends FakeTime {

    private final RedisException refused = new RedisException.Refused("OOM", null);
    private final RedisException unanswered = new RedisException.Unanswered("no answer", true, null);

    private final LockKeys keys = LockKeys.of("redis-locks", "job");
    private final Attempt attempt =
            new Attempt(1, keys, new Owner("a:1"), new Attempt.Request(30_000, true, false), WaitLimit.endless());
    private final Call acquire = Scripts.acquire(attempt, server -> 0, false, 0);
    private final List<String> seen = new ArrayList<>();
    private final Availability.Observer observer = new Availability.Observer() {
        @Override
        public void away(RedisException failure, long sinceNanos, long now) {
            seen.add("away since " + sinceNanos + ": " + failure.getMessage());
        }

        @Override
        public void answered(long now) {
            // Each time.
        }

        @Override
        public void replaced(long now) {
            // Never here.
        }

        @Override
        public void refuses(Call call, RedisException failure, long now) {
            seen.add("refuses " + call.script().name());
        }
    };
    private final Availability availability = new Availability(observer, 1_000, 100);

    @Test
    void refusal_endsWithASuccessOfItsKindAlone() {
        availability.failed(acquire, refused, 10, 100, 20);
        availability.answered(Inspections.locked(keys), 30);
        assertThat(availability.age(50))
                .as("the answer says nothing about acquisitions")
                .isEqualTo(40);
        assertThat(availability.cause()).isSameAs(refused);
        availability.answered(Scripts.heartbeat(attempt, server -> 0), 55);
        assertThat(availability.age(60)).as("the heartbeat would give a lock").isZero();
        assertThat(seen).containsExactly("refuses acquire");
    }

    @Test
    void refusal_ofAnotherKind_saysNothingOfAcquisitions() {
        availability.failed(Inspections.locked(keys), refused, 10, 100, 20);
        assertThat(availability.age(50)).isZero();
        assertThat(availability.age(Inspections.locked(keys), 50)).isEqualTo(40);
    }

    @Test
    void silence_endsWithAnyAnswer() {
        availability.failed(acquire, unanswered, 10, 100, 20);
        assertThat(availability.age(50)).isEqualTo(40);
        assertThat(availability.silence(50)).isEqualTo(40);
        availability.answered(Inspections.locked(keys), 55);
        assertThat(availability.age(60)).isZero();
        availability.failed(acquire, unanswered, 70, 100, 80);
        availability.failed(Inspections.locked(keys), refused, 85, 100, 90);
        assertThat(availability.age(95)).as("a refusal is an answer").isZero();
        assertThat(availability.answeredSince(91)).isFalse();
        assertThat(availability.answeredSince(90)).isTrue();
    }

    @Test
    void silence_beganNoSoonerThanTheLastAnswer() {
        availability.answered(acquire, 60);
        availability.failed(acquire, unanswered, 10, 100, 110);
        assertThat(availability.age(110))
                .as("while one waited, others were answered")
                .isEqualTo(50);
        availability.answered(acquire, 120);
        availability.failed(acquire, unanswered, 100, 50, 150);
        assertThat(availability.age(219)).isZero();
        assertThat(availability.age(220)).isEqualTo(100);
    }

    @Test
    void failed_again_reportsTheBeginningOfTheSilence() {
        RedisException cut = new RedisException.Unanswered("cut", true, new IOException("Connection refused"));
        availability.failed(acquire, cut, 10, 100, 20);
        availability.failed(acquire, cut, 40, 100, 50);
        assertThat(seen).containsExactly("away since 10: cut", "away since 10: cut");
    }

    @Test
    void waiter_isNotFailedByOneCallThatWaitedInVain_whileItWasAnsweredItself() throws InterruptedException {
        other.lock();
        Waiter waiter = new Waiter();
        waiter.startAndQueue();
        pass(1);
        long sent = clock.nanoTime();
        pass(11_000);
        // The connection of this call led nowhere, and the command timeout was long.
        inside.monitored()
                .of(KEY)
                .failed(Inspections.locked(keys), unanswered, sent, 11_000_000_000L, clock.nanoTime());
        pass(1_000);
        assertThat(waiter.isAlive()).isTrue();
        other.unlock();
        await().until(waiter::holds);
        waiter.end();
    }

    @Test
    void requestsWithTooLittleTime_areSilenceOnceNothingWasAnsweredForACommandTimeout() {
        availability.failed(acquire, unanswered, 10, 5, 15);
        availability.failed(acquire, unanswered, 50, 5, 55);
        assertThat(availability.age(109)).isZero();
        assertThat(availability.age(110)).isEqualTo(100);
        availability.answered(acquire, 120);
        availability.failed(acquire, unanswered, 130, 5, 135);
        assertThat(availability.age(140)).isZero();
    }

    @Test
    void connectionThatFails_isSilenceHoweverLittleTimeItsCallHad() {
        availability.failed(acquire, unanswered, 10, 5, 12);
        assertThat(availability.age(20)).isEqualTo(10);
    }

    @Test
    void waiter_isNotFailedByRefusalsOfOthersCalls() throws InterruptedException {
        other.lock();
        AtomicReference<Throwable> thrown = new AtomicReference<>();
        Thread waiter = new Thread(() -> {
            try {
                lock.lock();
                lock.unlock();
            } catch (LockUnavailableException e) {
                thrown.set(e);
            }
        });
        waiter.start();
        await().until(() -> server.zset(KEY + ":queue").size() == 1);
        // Busy with a slow script for three seconds, in which somebody goes on asking.
        for (int i = 0; i < 30; i++) {
            redis.failNext(1, verb("locked"), Fault.refused("BUSY Redis is busy running a script"));
            assertThatThrownBy(lock::isLocked).isInstanceOf(LockUnavailableException.class);
            pass(100);
        }
        pass(8_000);
        other.unlock();
        waiter.join();
        assertThat(thrown.get()).isNull();
    }

    /** A try for 5 ms whose request gets no answer for longer than that. */
    private final class ShortTry extends Thread {

        private final AtomicReference<Object> result = new AtomicReference<>("none");

        @Override
        public void run() {
            try {
                result.set(lock.tryLock(5, TimeUnit.MILLISECONDS));
            } catch (LockUnavailableException | InterruptedException e) {
                result.set(e);
            }
        }

        Object resultAfter(Runnable meanwhile) throws InterruptedException {
            HeldCalls held = redis.hold(
                            verb("acquire").and(call -> call.keys().get(0).equals(KEY)))
                    .whateverTheirTimeouts();
            clock.advanceMillis(1);
            start();
            held.awaitParked(1, Duration.ofSeconds(5));
            meanwhile.run();
            clock.advanceMillis(150);
            held.expire();
            join();
            held.release();
            return result.get();
        }
    }

    @Test
    void timedTry_thatHeardNothing_whileRedisAnsweredOthers_isFalse() throws InterruptedException {
        assertThat(new ShortTry().resultAfter(() -> assertThat(lock.isLocked()).isFalse()))
                .isEqualTo(false);
    }

    @Test
    void timedTry_thatHeardNothing_whileNobodyDid_throws() throws InterruptedException {
        assertThat(new ShortTry().resultAfter(() -> {})).isInstanceOf(LockUnavailableException.class);
    }

    @Test
    void timedTry_thatHeardNothing_whileRedisRefusesOthers_throws() throws InterruptedException {
        RedisReentrantLock another = locks.reentrantLock("another");
        assertThat(new ShortTry().resultAfter(() -> {
                    redis.failNext(
                            Integer.MAX_VALUE,
                            call -> call.keys().get(0).contains("another"),
                            Fault.refused("OOM command not allowed"));
                    whileTimePasses(
                            () -> assertThatThrownBy(another::tryLock).isInstanceOf(LockUnavailableException.class));
                }))
                .isInstanceOf(LockUnavailableException.class);
    }

    /** The same Redis, further away: each call takes a time; and its clock may go another way. */
    private Redis far(long millis, long stepMillis) {
        return (Redis) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {Redis.class}, (p, m, args) -> {
                    boolean run = m.getName().startsWith("run");
                    try {
                        clock.stepServerMillis(run ? stepMillis : 0);
                        Object result = m.invoke(redis, args);
                        clock.advanceMillis(run ? millis : 0);
                        return result;
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
    }

    @Test
    void leaseThatNoAnswerOutlasts_isToldAfterItsTime() {
        try (RedisLocks distant = RedisLocks.on(far(97, 0), Settings.DEFAULTS, List.of(), clock)) {
            RedisReentrantLock remote = distant.reentrantLock("remote");
            whileTimePasses(() -> {
                assertThatThrownBy(() -> fixed(remote, Duration.ofMillis(100)).lock())
                        .isInstanceOf(LockUnavailableException.class)
                        .hasFieldOrPropertyWithValue("reason", LockUnavailableException.Reason.LEASE_TOO_SHORT)
                        .hasMessageContaining("took longer than the lease of 100 ms");
                assertThatThrownBy(() -> fixed(distant.reentrantLock("another"), Duration.ofMillis(100))
                                .tryLock(Duration.ofMillis(300)))
                        .isInstanceOf(LockUnavailableException.class)
                        .hasMessageContaining("took longer than the lease of 100 ms");
            });
            assertThat(server.hash("redis-locks:{remote}")).isEmpty();
            whileTimePasses(distant::close);
        }
    }

    @Test
    void tryLock_whoseRequestsComeTooLate_doesNotSayThatTheLockIsBusy() {
        try (RedisLocks distant = RedisLocks.on(far(10, 10_000), Settings.DEFAULTS, List.of(), clock)) {
            RedisReentrantLock remote = distant.reentrantLock("remote");
            whileTimePasses(() -> assertThatThrownBy(remote::tryLock).isInstanceOf(LockUnavailableException.class));
            whileTimePasses(distant::close);
        }
    }

    @Test
    void witness_isToldOfSilenceThatLasts_orOfAConnectionThatWasCut() {
        RedisException cut = new RedisException.Unanswered("refused", false, new IllegalStateException("refused"));
        availability.failed(acquire, unanswered, 10, 100, 60);
        assertThat(seen).as("the server may only be slow").isEmpty();
        availability.failed(acquire, unanswered, 10, 100, 110);
        assertThat(seen).containsExactly("away since 10: no answer");
        availability.answered(acquire, 120);
        availability.failed(acquire, cut, 115, 100, 130);
        availability.failed(acquire, unanswered, 119, 100, 230);
        assertThat(seen).as("others were answered meanwhile").hasSize(1);
        availability.failed(acquire, cut, 240, 100, 241);
        assertThat(seen).hasSize(2).last().asString().endsWith(": refused");
        RedisException busy = RedisException.Unanswered.busy("none free", null);
        availability.failed(acquire, busy, 300, 100, 500);
        assertThat(seen).as("the client had no free connection").hasSize(2);
    }
}
