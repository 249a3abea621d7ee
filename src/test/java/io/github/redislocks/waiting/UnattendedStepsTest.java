package io.github.redislocks.waiting;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.LockUnavailableException;
import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.engine.Inside;
import io.github.redislocks.engine.Layer;
import io.github.redislocks.engine.LockClient;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.HandleOwner;
import io.github.redislocks.state.WaitLimit;
import io.github.redislocks.watchdog.PendingCommand;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The way of an attempt that no thread waits for. The test answers its requests. */
@Timeout(30)
class UnattendedStepsTest extends StillClient {

    private static final long ENDED = Step.ENDED;
    private final RedisException away = new RedisException.Unanswered("away", true, null);

    private final AtomicInteger woken = new AtomicInteger();
    private Inside used = client;
    private Attempt attempt;
    private BatchDriver way;

    @AfterEach
    void closeMailbox() {
        used.mailbox().close();
    }

    private void start(WaitLimit limit) {
        HandleOwner owner = used.owners().handle(woken, loss -> {});
        owner.wakes(woken::incrementAndGet);
        attempt = used.attempts().make(keys, owner, new Attempt.Request(LEASE, true, false), limit);
        way = used.acquisitions().unattended(attempt, limit);
        way.begin();
    }

    private void start() {
        start(WaitLimit.endless());
    }

    private int sent() {
        int count = 0;
        for (PendingCommand command : used.watchdog().commands()) {
            count += command instanceof BackgroundRequest ? 1 : 0;
        }
        return count;
    }

    /** The request that was sent last. */
    private PendingCommand last() {
        PendingCommand last = null;
        for (PendingCommand command : used.watchdog().commands()) {
            last = command;
        }
        return last;
    }

    /** Goes on until a request is under way, and sends it. */
    private Call send() throws InterruptedException {
        int before = sent();
        assertThat(way.advance()).isEqualTo(Long.MAX_VALUE);
        assertThat(sent()).isEqualTo(before + 1);
        last().begin();
        return last().call(clock.nanoTime(), MILLI);
    }

    private void answered(String code, Object... values) {
        last().answered(new Reply(code, List.of(values)), clock.nanoTime());
        last().end();
    }

    private void granted() {
        answered("OK", 5L, 0L, 1_000_000L);
    }

    private void nothingIsUnderWay() {
        assertThat(used.attempts().isEmpty()).isTrue();
        assertThat(used.localQueue().size()).isZero();
    }

    /** Leaves Redis in the background, and then passes the turn on. */
    private void leaves() {
        assertThat(used.attempts().isEmpty()).isTrue();
        assertThat(last()).isNotInstanceOf(BackgroundRequest.class);
        assertThat(last().call().script().name()).isEqualTo("leave");
        answer(last(), "FREED", 0L);
        nothingIsUnderWay();
    }

    @Test
    void lockThatIsFree_isHeldFromTheSendingOn() throws InterruptedException {
        start();
        Call take = send();
        assertThat(take.script().name()).isEqualTo("take");
        assertThat(way.advance()).as("it waits for the answer").isEqualTo(Long.MAX_VALUE);
        assertThat(sent()).isEqualTo(1);
        assertThat(way.hold()).isNull();
        granted();
        assertThat(woken).hasPositiveValue();
        assertThat(way.advance()).isEqualTo(ENDED);
        assertThat(way.hold().token).isEqualTo(5);
        assertThat(way.hold().owner).isSameAs(attempt.owner);
        assertThat(used.attempts().isEmpty()).isTrue();
        assertThat(sent()).isEqualTo(1);
    }

    @Test
    void attemptBehindAnother_asksWhenItHasTheTurn() throws InterruptedException {
        Attempt first = enter();
        start();
        assertThat(attempt.isBehind()).isTrue();
        assertThat(attempt.nextHeartbeatNanos()).as("a look at the hold ahead").isGreaterThan(clock.nanoTime());
        assertThat(way.advance()).isEqualTo(Long.MAX_VALUE);
        assertThat(sent()).isZero();
        used.localQueue().exit(keys, first.number);
        assertThat(send().script().name()).isEqualTo("take");
    }

    @Test
    void lockThatIsBusy_isAskedForWithAPlace_onceTheMailboxIsOpen() throws InterruptedException {
        start();
        send();
        answered("BUSY", 200L, 1_000_000L);
        assertThat(way.advance()).isBetween(1L, 10 * MILLI);
        assertThat(sent()).isEqualTo(1);
        await().until(used.mailbox()::isOpen);
        clock.advanceMillis(10);
        Call acquire = send();
        assertThat(acquire.script().name()).isEqualTo("acquire");
        assertThat(acquire.args().get(4)).as("the claim of its place").isNotEmpty();
        answered("QUEUED", 4L, 200L, 1_000_000L);
        assertThat(way.advance()).isEqualTo(Long.MAX_VALUE);
        assertThat(attempt.position().lastToken()).isEqualTo(4);
        attempt.decide(new Attempt.Grant(6, false, 0, clock.nanoTime(), false));
        assertThat(way.advance()).isEqualTo(ENDED);
        assertThat(way.hold().token).isEqualTo(6);
    }

    @Test
    void lockThatIsBusy_isAskedForAtOnce_ifTheMailboxIsOpen() throws InterruptedException {
        used.mailbox().open(2_000 * MILLI);
        start();
        send();
        answered("BUSY", 200L, 1_000_000L);
        assertThat(send().script().name()).isEqualTo("acquire");
    }

    @Test
    void mailboxWhoseThreadCannotBeStarted_isTriedAgainAfterAPause() throws InterruptedException {
        used = Inside.of(new LockClient(
                "client",
                options(),
                List.of(),
                clock,
                redis,
                Threads.of(
                        work -> new Thread(work) {
                            @Override
                            public synchronized void start() {
                                throw new OutOfMemoryError("of the test");
                            }
                        },
                        "client"),
                ground -> new Layer()));
        start();
        send();
        answered("BUSY", 200L, 1_000_000L);
        assertThat(way.advance()).isBetween(1L, 10 * MILLI);
        clock.advanceMillis(10);
        assertThat(send().script().name()).isEqualTo("acquire");
    }

    @Test
    void requestThatIsNotAnswered_isSentAgainAfterAPause() throws InterruptedException {
        start();
        send();
        assertThat(attempt.mayRun()).isFalse();
        last().failed(away, clock.nanoTime());
        assertThat(way.advance()).isBetween(1L, 10 * MILLI);
        assertThat(attempt.mayRun()).isTrue();
        clock.advanceMillis(10);
        assertThat(send().script().name()).isEqualTo("acquire");
        granted();
        assertThat(way.advance()).isEqualTo(ENDED);
        assertThat(way.hold().inDoubt).isTrue();
    }

    @Test
    void requestThatIsSentOnceMore_mayHaveRun() throws InterruptedException {
        start();
        send();
        assertThat(attempt.mayRun()).isFalse();
        last().call(clock.nanoTime(), MILLI);
        assertThat(attempt.mayRun()).isTrue();
    }

    @Test
    void requestThatIsRefused_fails() throws InterruptedException {
        start();
        send();
        last().failed(new RedisException.Refused("NOPERM", null), clock.nanoTime());
        assertThatThrownBy(way::advance)
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageContaining("NOPERM");
        way.abandon();
        nothingIsUnderWay();
        assertThat(sent()).isEqualTo(1);
    }

    @Test
    void grantThatTooFewReplicasConfirm_isThrownAndGivenBack() throws InterruptedException {
        start();
        send();
        RedisException few = new RedisException.Unacknowledged("few");
        last().failed(few, clock.nanoTime());
        assertThatThrownBy(way::advance).isSameAs(few);
        assertThat(attempt.mayRun()).isTrue();
        way.abandon();
        leaves();
    }

    @Test
    void cancel_isPutOffWhileARequestIsUnderWay() throws InterruptedException {
        start();
        send();
        assertThat(way.cancel()).isFalse();
        assertThat(used.attempts().isUnderWay(attempt)).isTrue();
        granted();
        assertThat(way.cancel()).isTrue();
        leaves();
        assertThat(way.hold()).isNull();
    }

    @Test
    void cancel_hearsNoFailure() throws InterruptedException {
        start();
        send();
        last().failed(new RedisException.Unacknowledged("few"), clock.nanoTime());
        assertThat(way.cancel()).isTrue();
        leaves();
    }

    @Test
    void cancel_ofOneBehindAnother_leavesNothing() throws InterruptedException {
        Attempt first = enter();
        start();
        way.advance();
        assertThat(way.cancel()).isTrue();
        assertThat(used.attempts().all()).containsExactly(first);
        assertThat(commands()).isEmpty();
    }

    @Test
    void abandon_leavesAHoldThatNobodyWasGivenToTheWatchdog() throws InterruptedException {
        start();
        send();
        granted();
        way.advance();
        assertThat(way.hold().stranded).isFalse();
        way.abandon();
        assertThat(way.hold().stranded).isTrue();
        assertThat(commands()).hasSize(1);
    }

    @Test
    void oneWithATime_leavesAtItsEnd_withoutWaiting() throws InterruptedException {
        used.mailbox().open(2_000 * MILLI);
        start(WaitLimit.within(clock.nanoTime(), 50 * MILLI, 0));
        send();
        answered("BUSY", 200L, 1_000_000L);
        send();
        answered("QUEUED", 4L, 200L, 1_000_000L);
        assertThat(way.advance()).isEqualTo(50 * MILLI);
        clock.advanceMillis(50);
        assertThat(way.advance()).isEqualTo(ENDED);
        assertThat(way.hold()).isNull();
        leaves();
    }
}
