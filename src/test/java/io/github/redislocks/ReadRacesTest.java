package io.github.redislocks;

import static io.github.redislocks.fixture.twin.Verbs.verb;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assumptions.assumeThat;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Settings;
import io.github.redislocks.testkit.twin.HeldCalls;
import io.github.redislocks.testkit.twin.InMemoryRedis;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;

/** Readers whose steps meet those of writers, of renewals and of downgrades. */
class ReadRacesTest extends FakeTime {

    private static final int HEARTBEAT = 1_500;

    private final RedisReentrantReadWriteLock shared = locks.readWriteLock("job");
    private final RedisReentrantReadWriteLock theirs = others.readWriteLock("job");

    private static Thread started(Runnable action) {
        Thread thread = new Thread(action);
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    private CompletableFuture<Boolean> tries() {
        return CompletableFuture.supplyAsync(
                () -> {
                    boolean read = shared.readLock().tryLock();
                    if (read) {
                        shared.readLock().unlock();
                    }
                    return read;
                },
                ReadRacesTest::started);
    }

    private Thread reads() {
        return started(() -> {
            shared.readLock().lock();
            shared.readLock().unlock();
        });
    }

    private Thread writes() {
        return started(() -> {
            theirs.writeLock().lock();
            theirs.writeLock().unlock();
        });
    }

    private void awaitWriterInLine() {
        await().until(() -> server.zset(KEY + ":queue").size() == 1);
        settle();
    }

    private Hold share() {
        return inside.holds().all().stream()
                .filter(hold -> hold.owner.isShared() && hold.isOpen())
                .findFirst()
                .orElseThrow();
    }

    /** The answer to the renewal of one try does not put off the renewal of the other. */
    @Test
    void twoTriesAtOnce_behindAWriter_areBothFalse() {
        shared.readLock().lock();
        await().until(() -> inside.mailbox().isOpen());
        Thread writer = writes();
        awaitWriterInLine();
        clock.advanceMillis(1);
        HeldCalls held = redis.hold(verb("renew_shares")).whateverTheirTimeouts();
        CompletableFuture<Boolean> first = tries();
        held.awaitParked(1, Duration.ofSeconds(10));
        clock.advanceMillis(1);
        CompletableFuture<Boolean> second = tries();
        await().until(() -> share().nextRenewalNanos() == clock.nanoTime());
        held.release();
        await("without more time").until(() -> first.isDone() && second.isDone());
        assertThat(first.join()).isFalse();
        assertThat(second.join()).isFalse();
        shared.readLock().unlock();
        passUntil(() -> !writer.isAlive());
    }

    @Test
    void aWriterThatIsKilledInLine_keepsNoReaderOut() {
        shared.readLock().lock();
        await().until(() -> inside.mailbox().isOpen());
        InMemoryRedis port = server.another();
        RedisLocks killed = RedisLocks.on(port, Settings.DEFAULTS, List.of(), clock);
        RedisReentrantLock last = killed.reentrantLock("job");
        Thread writer = started(() -> assertThatThrownBy(last::lock).isInstanceOf(RuntimeException.class));
        awaitWriterInLine();
        port.down(true);
        Thread reader = reads();
        await().until(() -> shared.getQueuedReaderThreads().contains(reader));
        pass(10 * HEARTBEAT);
        await().until(() -> !reader.isAlive());
        assertThat(shared.readLock().isHeldByCurrentThread()).isTrue();
        // The next writer recalls the share.
        Thread next = writes();
        await().until(() -> other.hasQueuedThread(next));
        settle();
        assertThat(tries())
                .as("a writer waits")
                .succeedsWithin(Duration.ofSeconds(10))
                .isEqualTo(false);
        shared.readLock().unlock();
        passUntil(() -> !next.isAlive());
        port.heal();
        whileTimePasses(() -> true, killed::close);
        passUntil(() -> !writer.isAlive());
    }

    @Test
    void aReaderAfterAnOutage_asksAtOnce() {
        redis.down(true);
        whileTimePasses(() -> assertThatThrownBy(lock::lock).isInstanceOf(LockUnavailableException.class));
        redis.down(false);
        shared.readLock().lock();
        shared.readLock().unlock();
    }

    /** Redis has answered, and the JVM pauses until the time of the try is over. */
    @Test
    void aTryThatWasAnswered_andThenPaused_isFalse() {
        theirs.writeLock().lock();
        Thread reader = reads();
        await().until(() -> server.hash(KEY + ":shares").size() == 1);
        await().until(() -> inside.mailbox().isOpen());
        pass(1);
        long began = clock.nanoTime();
        AtomicBoolean paused = new AtomicBoolean();
        clock.atReadings(reading -> {
            boolean answered = inside.attempts().all().stream()
                    .anyMatch(each -> each.position() != null && each.position().sentNanos() >= began);
            if (reading >= 5 && answered && paused.compareAndSet(false, true)) {
                clock.advanceMillis(1_000);
            }
        });
        boolean read = shared.readLock().tryLock();
        int unused = clock.heal();
        assertThat(read).isFalse();
        theirs.writeLock().unlock();
        passUntil(() -> !reader.isAlive());
    }

    @Test
    void aTryOfAWriterThatMeetsAReader_keepsNoOtherReaderOut() {
        shared.readLock().lock();
        await().until(() -> inside.mailbox().isOpen());
        shared.readLock().unlock();
        boolean met = true;
        for (int first = 1; met; first++) {
            int at = first;
            shared.readLock().lock();
            shared.readLock().unlock();
            CountDownLatch mayLeave = new CountDownLatch(1);
            CompletableFuture<Boolean> in = new CompletableFuture<>();
            Thread reader = new Thread(() -> {
                in.complete(shared.readLock().tryLock());
                if (in.join()) {
                    awaitUninterruptibly(mayLeave);
                    shared.readLock().unlock();
                }
            });
            clock.atReadings(reading -> {
                if (reading == at) {
                    reader.start();
                    long until = System.nanoTime() + 200_000_000;
                    while (!in.isDone() && System.nanoTime() < until) {
                        LockSupport.parkNanos(100_000);
                    }
                }
            });
            boolean wrote = shared.writeLock().tryLock();
            met = clock.heal() >= at;
            if (wrote) {
                shared.writeLock().unlock();
            } else if (in.getNow(false)) {
                Thread another = reads();
                await("beside the reader").until(() -> !another.isAlive());
            }
            mayLeave.countDown();
            if (met) {
                passUntil(() -> !reader.isAlive());
            }
        }
    }

    /** A sleep of an interrupted thread would end at once, and the thread would only turn and turn. */
    @Test
    void aTryOfAWriter_interruptedWhileTheShareEnds_sleepsUninterrupted_andKeepsTheInterrupt() {
        shared.readLock().lock();
        shared.readLock().unlock();
        HeldCalls held = redis.hold(verb("unshare")).whateverTheirTimeouts();
        AtomicBoolean kept = new AtomicBoolean();
        Thread writer = started(() -> {
            boolean wrote = shared.writeLock().tryLock();
            kept.set(wrote && Thread.currentThread().isInterrupted());
            shared.writeLock().unlock();
        });
        held.awaitParked(1, Duration.ofSeconds(10));
        writer.interrupt();
        await().until(() -> !writer.isInterrupted());
        held.release();
        awaitEnd(writer);
        assertThat(kept).isTrue();
    }

    private static void awaitUninterruptibly(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** An error, and another one while the downgrade cleans up after it. */
    @Test
    void aDowngradeThatMeetsTwoErrors_keepsNoReaderOut() {
        boolean met = true;
        for (int first = 1; met; first++) {
            shared.writeLock().lock();
            shared.readLock().lock();
            clock.failReadings(thread -> thread == Thread.currentThread(), first, 2);
            endsOrFails(() -> whileTimePasses(shared.writeLock()::unlock));
            met = clock.heal() >= first;
            endsOrFails(shared.readLock()::unlock);
            endsOrFails(lock::unlock);
            pass(10_000);
            Thread reader = reads();
            passUntil(() -> !reader.isAlive());
        }
    }

    /** Ends a hold that may have been lost by the errors of the test. */
    private static void endsOrFails(Runnable end) {
        try {
            end.run();
        } catch (InternalError | IllegalMonitorStateException e) {
            assertThat(e).hasMessageMatching("(?s).*(of the test|lost|hold|read).*");
        }
    }

    @Test
    void aDowngradeThatWasGivenUp_leavesNoShare() {
        for (int i = 0; i < 6; i++) {
            shared.writeLock().lock();
            shared.readLock().lock();
            redis.down(true);
            whileTimePasses(shared.writeLock()::unlock);
            assertThatThrownBy(shared.readLock()::unlock).isInstanceOf(LockLostException.class);
            redis.down(false);
            pass(HEARTBEAT);
            assertThat(server.hash(KEY)).isEmpty();
            pass(40_000);
        }
    }

    /** The request of a reader whose part a downgrade has taken comes late, when the downgrade has made a share. */
    @Test
    void aLateRequestOfASupersededReader_endsNoShare() throws InterruptedException {
        CountDownLatch has = new CountDownLatch(1);
        CountDownLatch mayDowngrade = new CountDownLatch(1);
        CountDownLatch downgraded = new CountDownLatch(1);
        CountDownLatch mayEnd = new CountDownLatch(1);
        Thread writer = started(() -> {
            shared.writeLock().lock();
            shared.readLock().lock();
            has.countDown();
            awaitUninterruptibly(mayDowngrade);
            shared.writeLock().unlock();
            downgraded.countDown();
            awaitUninterruptibly(mayEnd);
            shared.readLock().unlock();
        });
        has.await();
        await().until(() -> inside.mailbox().isOpen());
        settle();
        HeldCalls held = redis.hold(verb("share")).whateverTheirTimeouts();
        Thread network = started(() -> {
            await().until(() -> downgraded.getCount() == 0 || !held.parked().isEmpty());
            held.expire();
        });
        AtomicBoolean asks = new AtomicBoolean();
        clock.atReadings(reading -> {
            boolean asksNow = List.of(Thread.currentThread().getStackTrace()).stream()
                    .anyMatch(frame -> frame.getClassName().endsWith("AttemptLoop"));
            if (asksNow && asks.compareAndSet(false, true)) {
                // Before the reader has made its attempt.
                mayDowngrade.countDown();
                await().until(() -> waitsForTheAsker(writer));
            }
        });
        shared.readLock().lock();
        int unused = clock.heal();
        downgraded.await();
        network.join();
        redis.heal();
        Thread next = writes();
        awaitWriterInLine();
        assumeThat(held.abandoned())
                .as("else the downgrade came before the reader sent its request")
                .isNotEmpty();
        redis.runLate(held.abandoned().get(0));
        settle();
        assertThat(server.hash(KEY)).containsEntry("owner", "readers");
        assertThat(shared.readLock().isHeldByCurrentThread()).isTrue();
        shared.readLock().unlock();
        mayEnd.countDown();
        passUntil(() -> !writer.isAlive() && !next.isAlive());
        assertThat(losses).isEmpty();
    }

    private static boolean waitsForTheAsker(Thread writer) {
        Object waitsFor = LockSupport.getBlocker(writer);
        return waitsFor != null && waitsFor.getClass().getSimpleName().equals("Sharer");
    }
}
