package io.github.redislocks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.client.Inside;
import io.github.redislocks.fixture.NearTheEnd;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Settings;
import io.github.redislocks.state.WaitLimit;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A close that meets an error at any point of its way does all that is not concerned, and says so. */
@Timeout(60)
class CloseErrorTest extends FakeTime {

    /** So many that the broken one is hardly the last. */
    private static final int HOLDS = 50;

    @Test
    void close_thatMeetsAnErrorAnywhere_endsHoldsAndWaitersAllTheSame() throws Exception {
        boolean met = true;
        // The first reading is that of the time by which it has to end, before it begins.
        for (int first = 2; met; first++) {
            List<LockLost> told = new CopyOnWriteArrayList<>();
            RedisLocks third = RedisLocks.on(server.another(), Settings.DEFAULTS, LossListener.to(told::add), clock);
            clients.add(third);
            String held = "held" + first;
            String busy = "busy" + first;
            third.reentrantLock(held).lock();
            others.reentrantLock(busy).lock();
            FutureTask<Void> waiter =
                    new FutureTask<>(() -> third.reentrantLock(busy).lock(), null);
            new Thread(waiter).start();
            await().until(() -> server.zset("redis-locks:{" + busy + "}:queue").size() == 1);
            clock.failReadings(first, 1);
            boolean thrown = false;
            try {
                whileTimePasses(third::close);
            } catch (InternalError e) {
                assertThat(e).hasMessageContaining("of the test");
                thrown = true;
            }
            met = clock.heal() >= first;
            assertThat(thrown).as("an error at reading %d is thrown", first).isEqualTo(met);
            clients.remove(third);
            assertThat(third.isClosed()).isTrue();
            assertThat(waiter)
                    .as("the waiter, with an error at reading %d", first)
                    .failsWithin(Duration.ofSeconds(20));
            assertThat(told).as("losses, with an error at reading %d", first).hasSize(1);
            assertThat(server.hash("redis-locks:{" + held + "}"))
                    .as("the hash in Redis, with an error at reading %d", first)
                    .isEmpty();
            others.reentrantLock(busy).unlock();
        }
    }

    @Test
    void close_thatMeetsAnErrorAtOneHold_losesAllOthers() {
        for (int i = 0; i < HOLDS; i++) {
            locks.reentrantLock("held" + i).lock();
        }
        Inside client = inside;
        client.holds().put(new Broken());
        clients.remove(locks);
        assertThatThrownBy(() -> whileTimePasses(locks::close)).hasMessageContaining("of the test");
        assertThat(losses).hasSize(HOLDS);
    }

    @Test
    void close_thatCannotReportALossAtOnce_reportsItLater_andReleasesTheLock() {
        lock.lock();
        Hold real = inside.holds().all().iterator().next();
        inside.holds().put(new Untold(real));
        clients.remove(locks);
        assertThatThrownBy(() -> whileTimePasses(locks::close)).hasMessageContaining("of the test");
        assertThat(losses).hasSize(1);
        assertThat(server.hash(KEY)).isEmpty();
    }

    /** The defect showed where the classes of a close are not loaded yet: run this test alone to see it. */
    @Test
    void close_nearTheEndOfTheStack_canBeSaidAgain() throws InterruptedException {
        int overflows = 0;
        for (int above = 0; above < 40; above++) {
            RedisLocks third = RedisLocks.on(server.another(), Settings.DEFAULTS, List.of(), clock);
            String name = "held" + above;
            third.reentrantLock(name).lock();
            AtomicBoolean met = new AtomicBoolean();
            int left = above;
            Thread closer = NearTheEnd.thread(() -> met.set(NearTheEnd.overflows(left, third::close)));
            closer.start();
            whileTimePasses(closer, () -> awaitEnd(closer));
            overflows += met.get() ? 1 : 0;
            whileTimePasses(third::close);
            assertThat(server.hash("redis-locks:{" + name + "}"))
                    .as("the hash in Redis, with %d calls above", above)
                    .isEmpty();
            assertThat(inside(third).watchdog().threads()).noneMatch(Thread::isAlive);
        }
        assertThat(overflows).isPositive();
    }

    @Test
    void close_thatMeetsAnErrorAsItTellsALoss_tellsItAllTheSame() {
        inside.holds().put(new Frail());
        clients.remove(locks);
        assertThatThrownBy(() -> whileTimePasses(locks::close)).hasMessageContaining("of the test");
        assertThat(losses).hasSize(1);
    }

    private Attempt attempt() {
        return new Attempt(
                1,
                LockKeys.of("redis-locks", "broken"),
                inside.owners().caller(),
                new Attempt.Request(30_000, true, false),
                WaitLimit.endless());
    }

    private Attempt.Grant grant() {
        return new Attempt.Grant(1, false, Long.MAX_VALUE, clock.nanoTime(), true);
    }

    /** A hold that meets an error as soon as something is done for it, once. */
    private final class Frail extends Hold {

        private boolean asked;

        Frail() {
            super(attempt(), grant(), clock.nanoTime(), Long.MAX_VALUE, null);
            announced();
        }

        @Override
        public LockKeys keys() {
            if (!asked) {
                asked = true;
                throw new InternalError("no memory, of the test");
            }
            return super.keys();
        }
    }

    /** A hold whose first report of a loss meets an error. */
    private final class Untold extends Hold {

        private boolean asked;

        Untold(Hold real) {
            super(
                    new Attempt(
                            real.attempt,
                            real.keys(),
                            real.owner,
                            new Attempt.Request(30_000, true, false),
                            WaitLimit.endless()),
                    grant(),
                    clock.nanoTime(),
                    Long.MAX_VALUE,
                    null);
            announced();
        }

        @Override
        public LockLost loss(LockLost.Reason reason) {
            if (!asked) {
                asked = true;
                throw new InternalError("of the test");
            }
            return super.loss(reason);
        }
    }

    /** A hold that cannot be lost. */
    private final class Broken extends Hold {

        Broken() {
            super(attempt(), grant(), clock.nanoTime(), Long.MAX_VALUE, null);
        }

        @Override
        public boolean lose(LockLost.Reason reason) {
            throw new InternalError("of the test");
        }
    }
}
