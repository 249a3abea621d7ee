package io.github.redislocks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.state.Settings;
import io.github.redislocks.testkit.twin.Fault;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Tests which events a listener gets, in which order, and that its exceptions change nothing. */
class LockListenerTest extends FakeTime {

    private final List<String> heard = new CopyOnWriteArrayList<>();
    private final List<Object> events = new CopyOnWriteArrayList<>();
    private RedisLocks observed;
    private RedisReentrantLock job;

    private final class Recorder implements LockListener {

        private void note(String what, Object event) {
            heard.add(what);
            events.add(event);
        }

        @Override
        public void acquired(LockAcquired event) {
            note("acquired", event);
        }

        @Override
        public void notAcquired(LockNotAcquired event) {
            note("notAcquired " + event.outcome(), event);
        }

        @Override
        public void released(LockReleased event) {
            note("released", event);
        }

        @Override
        public void lost(LockLost loss) {
            note("lost " + loss.reason(), loss);
        }

        @Override
        public void forced(LockForced event) {
            note("forced", event);
        }

        @Override
        public void renewed(LocksRenewed event) {
            note("renewed " + event.count(), event);
        }

        @Override
        public void outageBegan(RedisOutage outage) {
            note("outageBegan", outage);
        }

        @Override
        public void outageEnded(RedisOutage outage) {
            note("outageEnded", outage);
        }
    }

    /** Notes the beginnings of calls, and how each ends. */
    private final class Follower implements LockListener {

        @Override
        public Acquiring acquiring(String lockName) {
            heard.add("begins " + lockName);
            return new Acquiring() {
                @Override
                public void acquired(LockAcquired event) {
                    heard.add("ends with " + event.token());
                }

                @Override
                public void notAcquired(LockNotAcquired event) {
                    heard.add("ends " + event.outcome());
                }
            };
        }
    }

    /** Throws when a call has ended. */
    private static final class ClumsyFollower implements LockListener {

        @Override
        public Acquiring acquiring(String lockName) {
            return new Acquiring() {
                @Override
                public void acquired(LockAcquired event) {
                    throw new StackOverflowError("of the test");
                }

                @Override
                public void notAcquired(LockNotAcquired event) {
                    throw new IllegalStateException("of the test");
                }
            };
        }
    }

    /** Throws whatever it hears. */
    private static final class Clumsy implements LockListener {

        @Override
        public Acquiring acquiring(String lockName) {
            throw new IllegalStateException("of the test");
        }

        @Override
        public void acquired(LockAcquired event) {
            throw new IllegalStateException("of the test");
        }

        @Override
        public void released(LockReleased event) {
            throw new StackOverflowError("of the test");
        }

        @Override
        public void lost(LockLost loss) {
            throw new IllegalStateException("of the test");
        }
    }

    @BeforeEach
    void observe() {
        // An outage since the time 0 would be none.
        clock.advanceMillis(1_000);
        observed = RedisLocks.on(redis, Settings.DEFAULTS, List.of(new Clumsy(), new Recorder()), clock);
        clients.add(observed);
        job = observed.reentrantLock("job");
    }

    @AfterEach
    void closeObserved() {
        redis.heal();
        whileTimePasses(() -> true, observed::close);
    }

    /** Tries while Redis does not answer, until the try gives up. */
    private void tryInVain() {
        redis.failNext(1_000, call -> true, Fault.REQUEST_LOST);
        whileTimePasses(() -> assertThat(catchThrowable(job::tryLock)).isInstanceOf(LockUnavailableException.class));
        redis.heal();
    }

    @Test
    void hold_fromAcquisitionToRelease_isToldOnceEach() {
        job.lock();
        long token = job.fencingToken();
        job.lock();
        job.unlock();
        clock.advanceMillis(40);
        job.unlock();
        assertThat(heard).containsExactly("acquired", "released");
        LockAcquired acquired = (LockAcquired) events.get(0);
        assertThat(acquired.lockName()).isEqualTo("job");
        assertThat(acquired.token()).isEqualTo(token);
        assertThat(acquired.waited()).isZero();
        assertThat(acquired.previousHolderLost()).isFalse();
        LockReleased released = (LockReleased) events.get(1);
        assertThat(released.token()).isEqualTo(token);
        assertThat(released.held()).isEqualTo(Duration.ofMillis(40));
    }

    private void assertModes(LockEvent.Mode... modes) {
        assertThat(events)
                .filteredOn(event -> !(event instanceof LocksRenewed))
                .extracting("mode")
                .containsExactly((Object[]) modes);
    }

    @Test
    void hold_ofALockAReadLockOrPermits_isToldWithItsMode() throws InterruptedException {
        RedisReentrantReadWriteLock both = observed.readWriteLock("both");
        both.writeLock().lock();
        both.readLock().lock();
        both.writeLock().unlock();
        both.readLock().unlock();
        CompletableFuture<ReadHandle> handle = both.readLock().acquireAsync();
        passUntil(handle::isDone);
        handle.join().release();
        observed.permits("pool", 1).acquire().release();
        assertModes(
                LockEvent.Mode.WRITE,
                LockEvent.Mode.READ,
                LockEvent.Mode.WRITE,
                LockEvent.Mode.READ,
                LockEvent.Mode.READ,
                LockEvent.Mode.READ,
                LockEvent.Mode.PERMITS,
                LockEvent.Mode.PERMITS);
    }

    @Test
    void hold_isToldWithItsOwner() throws InterruptedException {
        RedisReadLock read = observed.readWriteLock("job").readLock();
        ReadHandle handle = read.acquire();
        String thread = observed.clientId() + ":" + Thread.currentThread().getId();
        read.lock();
        read.unlock();
        handle.release();
        assertThat(events).extracting("ownerId").containsExactly(handle.owner(), thread, thread, handle.owner());
    }

    @Test
    void tryOfAReadLockOrPermits_inVain_isToldWithItsMode() throws InterruptedException {
        other.lock();
        PermitHandle taken = others.permits("pool", 1).acquire();
        assertThat(observed.readWriteLock("job").readLock().tryLock()).isFalse();
        assertThat(observed.permits("pool", 1).tryAcquire(Duration.ZERO)).isEmpty();
        assertModes(LockEvent.Mode.READ, LockEvent.Mode.PERMITS);
        taken.release();
    }

    @Test
    void lossOfAReadLock_isToldWithItsMode() {
        RedisReadLock read = observed.readWriteLock("job").readLock();
        read.lock();
        clock.advanceMillis(30_000);
        assertThat(read.isHeldByCurrentThread()).isFalse();
        await().untilAsserted(() -> assertModes(LockEvent.Mode.READ, LockEvent.Mode.READ));
        assertThat(events)
                .filteredOn(event -> !(event instanceof LocksRenewed))
                .extracting("ownerId")
                .containsOnly(observed.clientId() + ":" + Thread.currentThread().getId());
    }

    @Test
    void attempt_busyInterruptedOrFailed_isToldWithItsOutcome() throws InterruptedException {
        other.lock();
        assertThat(job.tryLock()).isFalse();
        Thread.currentThread().interrupt();
        assertThat(catchThrowable(job::lockInterruptibly)).isInstanceOf(InterruptedException.class);
        tryInVain();
        assertThat(heard.stream().filter(what -> what.startsWith("notAcquired")))
                .containsExactly("notAcquired BUSY", "notAcquired INTERRUPTED", "notAcquired FAILED");
        other.unlock();
    }

    @Test
    void attempt_interruptedWhileItWaits_isToldAsInterrupted() {
        other.lock();
        Thread waiter = new Thread(() -> {
            Throwable unused = catchThrowable(job::lockInterruptibly);
        });
        waiter.start();
        await().until(() -> server.zset(KEY + ":queue").size() == 1);
        waiter.interrupt();
        passUntil(() -> !waiter.isAlive());
        assertThat(heard).containsExactly("notAcquired INTERRUPTED");
        other.unlock();
    }

    @Test
    void renewals_areCounted() {
        job.lock();
        pass(25_000);
        await().atMost(10, TimeUnit.SECONDS)
                .until(() -> heard.stream()
                                .filter(what -> what.startsWith("renewed "))
                                .mapToInt(what -> Integer.parseInt(what.substring("renewed ".length())))
                                .sum()
                        == 2);
        job.unlock();
        assertThat(heard).startsWith("acquired").endsWith("released");
    }

    @Test
    void loss_isToldInPlaceOfTheRelease() {
        job.lock();
        other.forceUnlock();
        assertThat(catchThrowable(job::unlock)).isInstanceOf(LockLostException.class);
        settle();
        assertThat(heard).containsExactly("acquired", "lost TAKEN");
    }

    /** By handles and threads; whatever the others do that follow the same call. */
    @Test
    void call_isToldWhenItBegins_andItsEndOnce() throws InterruptedException {
        RedisLocks followed = RedisLocks.on(
                server.another(),
                Settings.DEFAULTS,
                List.of(new Clumsy(), new ClumsyFollower(), new Follower(), new ClumsyFollower()),
                clock);
        clients.add(followed);
        RedisReentrantLock free = followed.reentrantLock("free");
        free.lock();
        String token = Long.toString(free.fencingToken());
        free.lock();
        assertThat(heard).containsExactly("begins free", "ends with " + token);
        heard.clear();
        other.lock();
        assertThat(followed.reentrantLock("job").tryLock()).isFalse();
        assertThat(heard).containsExactly("begins job", "ends BUSY");
        heard.clear();
        CompletableFuture<LockHandle> asked = followed.reentrantLock("job").acquireAsync();
        assertThat(heard).containsExactly("begins job");
        asked.cancel(true);
        await().until(() -> heard.contains("ends INTERRUPTED"));
        heard.clear();
        inside(followed).attempts().drain();
        assertThat(catchThrowable(() -> followed.reentrantLock("job").acquireAsync()))
                .isInstanceOf(IllegalStateException.class);
        assertThat(heard).containsExactly("begins job", "ends FAILED");
        other.unlock();
        whileTimePasses(() -> true, followed::close);
    }

    /** The client's other thread fails what has not ended, while the call meets an error. */
    @Test
    void acquireAsync_thatMeetsAnErrorWhileTheClientCloses_isToldToHaveFailedOnce() {
        boolean met = true;
        for (int first = 1; met; first++) {
            int nth = first;
            RedisLocks closed =
                    RedisLocks.on(server.another(), Settings.DEFAULTS, List.of(new Recorder(), new Follower()), clock);
            heard.clear();
            clock.atReadings(reading -> {
                if (reading == nth) {
                    inside(closed).async().close(Duration.ofSeconds(20));
                    inside(closed).losses().awaitTold(Duration.ofSeconds(20));
                    throw new InternalError("of the test");
                }
            });
            Throwable thrown = catchThrowable(() -> closed.reentrantLock("job").acquireAsync());
            met = clock.heal() >= nth;
            inside(closed).losses().awaitTold(Duration.ofSeconds(20));
            if (met) {
                assertThat(thrown).as("at reading %d", nth).isInstanceOf(InternalError.class);
                assertThat(heard)
                        .as("at reading %d", nth)
                        .isIn(List.of(), List.of("begins job", "notAcquired FAILED", "ends FAILED"));
            }
            whileTimePasses(() -> true, closed::close);
        }
    }

    @Test
    void forceUnlock_isToldToTheClientThatForces() {
        assertThat(job.forceUnlock()).isFalse();
        other.lock();
        long token = other.fencingToken();
        assertThat(job.forceUnlock()).isTrue();
        assertThat(events)
                .containsExactly(LockForced.of(
                        "job", token, "thread " + Thread.currentThread().getName()));
    }

    @Test
    void releaseAfter_tellsHowMuchLongerTheLockIsKept() throws InterruptedException {
        LockHandle handle = observed.reentrantLock("tick").acquire();
        clock.advanceMillis(1_000);
        handle.releaseAfter(Duration.ofSeconds(5));
        LockHandle late = observed.reentrantLock("other tick").acquire();
        clock.advanceMillis(6_000);
        late.releaseAfter(Duration.ofSeconds(5));
        assertThat(events.stream()
                        .filter(LockReleased.class::isInstance)
                        .map(event -> ((LockReleased) event).keptFor()))
                .containsExactly(Duration.ofSeconds(4), Duration.ZERO);
    }

    @Test
    void outage_isToldFromBeginToEnd() {
        job.lock();
        redis.down(true);
        pass(12_000);
        assertThat(heard).containsExactly("acquired", "outageBegan");
        redis.down(false);
        pass(8_000);
        assertThat(heard.stream().filter(what -> !what.startsWith("renewed")))
                .containsExactly("acquired", "outageBegan", "outageEnded");
        List<RedisOutage> outages = events.stream()
                .filter(RedisOutage.class::isInstance)
                .map(RedisOutage.class::cast)
                .toList();
        assertThat(outages).hasSize(2);
        assertThat(outages.get(0).failure()).isEqualTo(outages.get(1).failure()).isNotEmpty();
        assertThat(outages.get(1).lasted()).isBetween(outages.get(0).lasted(), Duration.ofSeconds(10));
        job.unlock();
    }
}
