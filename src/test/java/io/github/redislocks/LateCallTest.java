package io.github.redislocks;

import static io.github.redislocks.fixture.twin.Verbs.verb;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.fixture.FakeClock;
import io.github.redislocks.fixture.ForwardingRedis;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.redis.Request;
import io.github.redislocks.state.Settings;
import io.github.redislocks.testkit.twin.InMemoryRedis;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A call that came too late by the server's clock, which has been set, is sent once more: in the time that is left. */
class LateCallTest extends FakeTime {

    private static final long HOUR = 3_600_000;
    /** The time that a timed try may take beyond its own. */
    private static final long GRACE = 200;

    private final InMemoryRedis wayThere = server.another();
    private final Far far = new Far(wayThere, clock);
    private final RedisLocks farAway = RedisLocks.on(far, Settings.DEFAULTS, List.of(), clock);
    private final RedisReentrantLock wanted = farAway.reentrantLock("job");

    /** A server to which requests for a lock take as long as the test says, or for ever. */
    private static final class Far extends ForwardingRedis {

        private final FakeClock clock;
        private final Queue<Long> takeMillis = new ArrayDeque<>();

        Far(InMemoryRedis server, FakeClock clock) {
            super(server);
            this.clock = clock;
        }

        @Override
        public Reply run(Call call, long timeoutNanos) {
            boolean wants = call.request() instanceof Request.Wanting || call.request() == Request.OfOneServer.TAKE;
            Long millis = wants ? takeMillis.poll() : null;
            if (millis == null) {
                return super.run(call, timeoutNanos);
            }
            long timeoutMillis = TimeUnit.NANOSECONDS.toMillis(timeoutNanos);
            Reply reply = super.run(call, timeoutNanos);
            clock.advanceMillis(Math.min(millis, timeoutMillis));
            if (millis > timeoutMillis) {
                throw new RedisException.Unanswered("no answer within " + timeoutMillis + " ms", true, null);
            }
            return reply;
        }
    }

    @BeforeEach
    void setTheClock() {
        wanted.lock();
        wanted.unlock();
        clock.stepServerMillis(HOUR);
    }

    @AfterEach
    void closeFarAway() {
        whileTimePasses(() -> true, farAway::close);
    }

    private long tryFor(long millis) {
        long began = clock.nanoTime();
        try {
            if (wanted.tryLock(millis, TimeUnit.MILLISECONDS)) {
                wanted.unlock();
            }
        } catch (LockUnavailableException notKnown) {
            // The call has ended, too.
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
        return TimeUnit.NANOSECONDS.toMillis(clock.nanoTime() - began);
    }

    @Test
    void timedTry_whoseServerHangsAfterItHasSaidLate_endsInItsTime() {
        far.takeMillis.addAll(List.of(600L, HOUR));
        assertThat(tryFor(700)).isBetween(700L, 700 + GRACE);
    }

    @Test
    void timedTry_farAway_endsInItsTime() {
        far.takeMillis.addAll(List.of(190L, 190L));
        assertThat(tryFor(100)).isBetween(100L, 100 + GRACE);
    }

    @Test
    void tryLock_farAway_hasTheLockByTheSecond() {
        far.takeMillis.addAll(List.of(190L, 190L));
        assertThat(wanted.tryLock()).isTrue();
        assertThat(far.takeMillis).isEmpty();
        wanted.unlock();
    }

    /** The first request shows the time of the server, and nearly all of the time of the try is over then. */
    @Test
    void tryWithoutTime_whoseSecondRequestComesTooLate_asksAgain() {
        far.takeMillis.add(90L);
        AtomicBoolean stalls = new AtomicBoolean();
        wayThere.hold(call -> {
            if (stalls.getAndSet(verb("take").test(call))) {
                clock.advanceMillis(20);
            }
            return false;
        });
        Thread caller = Thread.currentThread();
        whileTimePasses(
                () -> clock.isParked(caller),
                () -> assertThat(takesAtOnce(wanted)).isTrue());
        wanted.unlock();
    }

    /** The thread gets no processor between the answer and its second request. */
    @Test
    void tryWithoutTime_thatIsHeldUpAfterItsRequestCameTooLate_asksAgain() {
        far.takeMillis.add(90L);
        AtomicBoolean stalls = new AtomicBoolean();
        wayThere.hold(call -> {
            if (stalls.getAndSet(verb("take").test(call))) {
                clock.advanceMillis(20);
            }
            return false;
        });
        Thread caller = Thread.currentThread();
        clock.holdUp(caller, 150);
        whileTimePasses(
                () -> clock.isParked(caller),
                () -> assertThat(takesAtOnce(wanted)).isTrue());
        wanted.unlock();
    }

    private static boolean takesAtOnce(RedisReentrantLock lock) {
        try {
            return lock.tryLock(0, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }
}
