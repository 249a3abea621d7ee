package io.github.redislocks.waiting;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.redislocks.LockUnavailableException;
import io.github.redislocks.client.Inside;
import io.github.redislocks.client.LockClient;
import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.fixture.FakeClock;
import io.github.redislocks.fixture.Moment;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.script.Inspections;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Settings;
import io.github.redislocks.state.WaitLimit;
import io.github.redislocks.watchdog.PendingCommand;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.function.Function;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The requests of a thread that wants a lock, and the effect of each answer. The test says what Redis answers. */
@Timeout(30)
class AcquisitionsTest {

    private static final long MILLI = 1_000_000;
    private static final long LEASE = 30_000;

    private final FakeClock clock = new FakeClock();
    private final List<Call> asked = new ArrayList<>();
    private final Queue<Function<Call, Reply>> answers = new ArrayDeque<>();
    private Function<Call, Reply> otherwise = call -> {
        throw new AssertionError("asked once more: " + call);
    };

    private final Redis redis = new Redis() {
        @Override
        public Reply run(Call call, long timeoutNanos) {
            asked.add(call);
            Function<Call, Reply> answer = answers.poll();
            return (answer == null ? otherwise : answer).apply(call);
        }

        @Override
        public List<Outcome> runAll(List<Call> calls, long timeoutNanos) {
            throw new UnsupportedOperationException();
        }

        @Override
        public Subscription subscribe(String channel, long timeoutNanos) {
            throw new RedisException.Unanswered("no subscription", false, null);
        }

        @Override
        public void publish(String channel, String message, long timeoutNanos) {}

        @Override
        public String address() {
            return "server";
        }

        @Override
        public void close() {}
    };
    private final Inside client =
            Inside.of(new LockClient("client", Settings.DEFAULTS, List.of(), clock, redis, Threads.DAEMONS));
    private final LockKeys keys = LockKeys.of("redis-locks", "job");

    private static Reply ok(Call call) {
        return new Reply("OK", List.of(5L, 0L, 1_000_000L));
    }

    private static Reply busy(Call call) {
        return new Reply("BUSY", List.of(200L, 1_000_000L));
    }

    private static Reply away(Call call) {
        throw new RedisException.Unanswered("away", true, null);
    }

    AcquisitionsTest() {
        clock.advanceMillis(1_000);
    }

    @AfterEach
    void close() {
        client.mailbox().close();
    }

    private Attempt make(WaitLimit limit) {
        return client.attempts().make(keys, client.owners().caller(), new Attempt.Request(LEASE, true, false), limit);
    }

    /** Contends while time runs whenever this thread waits for it. */
    private Hold contend(WaitLimit limit, boolean fastPath) throws InterruptedException {
        return contend(client.acquisitions().of(make(limit), limit, null, fastPath));
    }

    private Hold contend(Acquisitions.OfLock acquisition) throws InterruptedException {
        Thread caller = Thread.currentThread();
        Thread time = new Thread(() -> {
            while (!Thread.currentThread().isInterrupted()) {
                if (clock.isParked(caller)) {
                    clock.advanceMillis(1);
                }
                Moment.pass();
            }
        });
        time.start();
        try {
            return client.acquisitions().driver().drive(acquisition);
        } finally {
            time.interrupt();
        }
    }

    private WaitLimit forAnswer() {
        return WaitLimit.forAnswer(300 * MILLI, 0);
    }

    private void answer(List<Function<Call, Reply>> wanted) {
        answers.addAll(wanted);
    }

    private static Function<Call, Reply> failing(RuntimeException failure) {
        return call -> {
            throw failure;
        };
    }

    private List<String> scripts() {
        return asked.stream().map(call -> call.script().name()).toList();
    }

    private List<PendingCommand> commands() {
        List<PendingCommand> commands = new ArrayList<>();
        client.watchdog().commands().forEach(commands::add);
        return commands;
    }

    private void nothingIsUnderWay() {
        assertThat(client.attempts().isEmpty()).isTrue();
        assertThat(client.localQueue().size()).isZero();
    }

    @Test
    void lockThatIsFree_isHeldFromTheSendingOn() throws InterruptedException {
        answer(List.of(AcquisitionsTest::ok));
        WaitLimit limit = WaitLimit.endless();
        Acquisitions.OfLock acquisition = client.acquisitions().of(make(limit), limit, null, true);
        Hold hold = contend(acquisition);
        assertThat(hold.token).isEqualTo(5);
        assertThat(acquisition.stayedOnFastPath()).isTrue();
        assertThat(scripts()).containsExactly("take");
        assertThat(client.attempts().isEmpty()).isTrue();
        assertThat(client.localQueue().size()).as("the turn is the hold's").isEqualTo(1);
        assertThat(commands()).isEmpty();
    }

    @Test
    void lockWithAQueue_isAskedForByTheLongScript() throws InterruptedException {
        answer(List.of(call -> new Reply("LINE", List.of(1_000_000L)), AcquisitionsTest::ok));
        assertThat(contend(forAnswer(), true)).isNotNull();
        assertThat(scripts()).containsExactly("take", "acquire");
    }

    @Test
    void busyLock_tryWithoutWaiting_returnsNull_andTakesNoPlace() throws InterruptedException {
        answer(List.of(AcquisitionsTest::busy));
        assertThat(contend(forAnswer(), false)).isNull();
        assertThat(scripts()).containsExactly("acquire");
        assertThat(commands()).as("the attempt asked for no place").isEmpty();
        nothingIsUnderWay();
    }

    @Test
    void lockThatIsBusy_isAskedForAgainUntilTheTimeIsOver() throws InterruptedException {
        otherwise = AcquisitionsTest::busy;
        WaitLimit limit = WaitLimit.within(clock.nanoTime(), 50 * MILLI, 0);
        assertThat(contend(limit, false)).isNull();
        assertThat(asked).as("the mailbox does not open, so that it pauses").hasSizeBetween(2, 40);
        nothingIsUnderWay();
    }

    @Test
    void placeInLine_isWaitedInWithoutAnotherRequest() throws InterruptedException {
        answer(List.of(call -> new Reply("QUEUED", List.of(4L, 200L, 1_000_000L))));
        WaitLimit limit = WaitLimit.within(clock.nanoTime(), 50 * MILLI, 0);
        long began = clock.nanoTime();
        assertThat(contend(limit, false)).isNull();
        assertThat(clock.nanoTime() - began).isGreaterThanOrEqualTo(50 * MILLI);
        assertThat(asked).hasSize(1);
        assertThat(commands()).as("its leave").hasSize(1);
        assertThat(client.attempts().isEmpty()).isTrue();
    }

    @Test
    void refusalForGood_isThrownAtOnce() {
        answer(List.of(failing(new RedisException.Refused("NOPERM", null))));
        assertThatThrownBy(() -> contend(WaitLimit.endless(), true))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageContaining("NOPERM");
        nothingIsUnderWay();
    }

    @Test
    void refusalThatMayPass_isThrownToOneThatDoesNotWait_andBorneByOthers() throws InterruptedException {
        RedisException oom = new RedisException.Refused("OOM command not allowed", null);
        answer(List.of(failing(oom)));
        assertThatThrownBy(() -> contend(forAnswer(), true)).isInstanceOf(LockUnavailableException.class);
        answer(List.of(failing(oom), AcquisitionsTest::ok));
        assertThat(contend(WaitLimit.endless(), true)).isNotNull();
        assertThat(scripts()).containsExactly("take", "take", "acquire");
    }

    @Test
    void notReadyServer_failsTryThatDoesNotWait_isRetriedByOneThatDoes() throws InterruptedException {
        RedisException young = new RedisException.Unready("young", 70);
        answer(List.of(failing(young)));
        assertThatThrownBy(() -> contend(forAnswer(), false))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageContaining("young");
        answer(List.of(failing(young), AcquisitionsTest::ok));
        assertThat(contend(WaitLimit.endless(), false)).isNotNull();
    }

    @Test
    void serverThatDoesNotAnswer_isAskedAgainAfterPauses_forAsLongAsThereIsTime() {
        otherwise = AcquisitionsTest::away;
        long began = clock.nanoTime();
        assertThatThrownBy(() -> contend(forAnswer(), true))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageContaining("away");
        assertThat(asked).hasSizeBetween(2, 60);
        assertThat(scripts().subList(1, asked.size())).containsOnly("acquire");
        assertThat(clock.nanoTime() - began).isGreaterThanOrEqualTo(300 * MILLI);
        assertThat(commands()).as("a request may still run").hasSize(1);
        nothingIsUnderWay();
    }

    /** A reply that came too late says nothing of the lock, and does not end the outage that the caller has met. */
    @Test
    void failureBeforeRepliesThatAreLate_isTheCause() {
        answer(List.of(AcquisitionsTest::away));
        otherwise = call -> new Reply("LATE", List.of(1_000_000L));
        assertThatThrownBy(() -> contend(forAnswer(), true))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageContaining("away");
    }

    @Test
    void serverThatDoesNotAnswer_isWaitedForNoLongerThanTheCallerWould() {
        otherwise = AcquisitionsTest::away;
        long began = clock.nanoTime();
        assertThatThrownBy(() -> contend(WaitLimit.endless(500 * MILLI), true))
                .isInstanceOf(LockUnavailableException.class);
        assertThat(clock.nanoTime() - began).isBetween(500 * MILLI, 5_000 * MILLI);
        nothingIsUnderWay();
    }

    @Test
    void answerThatMakesNoSense_isAnError() {
        answer(List.of(call -> new Reply("GONE", List.of())));
        assertThatThrownBy(() -> contend(WaitLimit.endless(), false))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("GONE");
        assertThat(client.attempts().isEmpty()).isTrue();
    }

    @Test
    void errorOfARequest_leavesTheAttemptInDoubt() {
        answer(List.of(failing(new IllegalStateException("of the test"))));
        assertThatThrownBy(() -> contend(WaitLimit.endless(), false)).hasMessage("of the test");
        assertThat(commands()).hasSize(1);
        nothingIsUnderWay();
    }

    @Test
    void grantWhoseLeaseLapsedOnItsWay_isTooFarAway() {
        otherwise = call -> {
            clock.advanceMillis(LEASE);
            return ok(call);
        };
        assertThatThrownBy(() -> contend(forAnswer(), false)).isInstanceOf(LockUnavailableException.class);
        assertThatThrownBy(() -> contend(WaitLimit.endless(MILLI), false)).isInstanceOf(LockUnavailableException.class);
        assertThat(client.holds().all()).isEmpty();
    }

    @Test
    void interrupt_endsOneThatMayBeInterrupted() {
        WaitLimit limit = WaitLimit.interruptible(0);
        Thread.currentThread().interrupt();
        assertThatThrownBy(() -> contend(limit, true)).isInstanceOf(InterruptedException.class);
        assertThat(Thread.interrupted()).isFalse();
        limit.restore();
        assertThat(Thread.interrupted()).as("the interrupt was thrown").isFalse();
        assertThat(asked).isEmpty();
        nothingIsUnderWay();
    }

    @Test
    void graceAfterAFailover_isWaitedForByOneThatWaits() throws InterruptedException {
        client.epoch().next(clock.nanoTime() + 100 * MILLI);
        assertThatThrownBy(() -> contend(forAnswer(), true)).isInstanceOf(LockUnavailableException.class);
        assertThat(asked).isEmpty();
        nothingIsUnderWay();
        answer(List.of(AcquisitionsTest::ok));
        long end = clock.nanoTime() + client.epoch().graceNanos(clock.nanoTime());
        assertThat(contend(WaitLimit.endless(), true)).isNotNull();
        assertThat(clock.nanoTime()).isGreaterThanOrEqualTo(end);
    }

    @Test
    void timeOfOneThatWaits_isEnoughForOneRequestAtLeast() throws InterruptedException {
        answer(List.of(AcquisitionsTest::ok));
        assertThat(contend(WaitLimit.within(clock.nanoTime(), 1, 0), true)).isNotNull();
    }

    private WaitLimit withoutTime() {
        return WaitLimit.tryWithin(clock.nanoTime(), 0, 1_000 * MILLI, 0);
    }

    /** The answer to a request comes too late, and those to others come. */
    private Reply slow(Call call) {
        clock.advanceMillis(100);
        answers.add(held -> new Reply("HELD", List.of()));
        client.monitored().run(Inspections.locked(keys), 1_000 * MILLI);
        throw new RedisException.Unanswered("slow", true, null);
    }

    @Test
    void tryWithoutTime_thatIsNotAnsweredAtOnce_asksAgain() throws InterruptedException {
        answer(List.of(this::slow));
        otherwise = AcquisitionsTest::ok;
        assertThat(contend(withoutTime(), true)).isNotNull();
    }

    /** Answers to other requests say nothing about this lock. */
    @Test
    void tryWithoutTime_thatIsNeverAnswered_asksForACommandTimeout_andThrows() {
        for (Function<Call, Reply> never : List.<Function<Call, Reply>>of(this::slow, AcquisitionsTest::away)) {
            otherwise = never;
            long began = clock.nanoTime();
            assertThatThrownBy(() -> contend(withoutTime(), true)).isInstanceOf(LockUnavailableException.class);
            assertThat(clock.nanoTime() - began).isBetween(1_000 * MILLI, 1_200 * MILLI);
        }
    }

    @Test
    void tryWithoutTime_whoseThreadIsHeldUpFirst_asks() throws InterruptedException {
        answer(List.of(AcquisitionsTest::ok));
        WaitLimit limit = withoutTime();
        clock.advanceMillis(500);
        assertThat(contend(limit, true)).isNotNull();
    }

    @Test
    void threadBehindAnotherOfItsClient_asksNothingAndKnowsThatTheLockIsBusy() throws InterruptedException {
        Attempt first = make(WaitLimit.endless());
        client.attempts().begin(first);
        client.localQueue().enter(first);
        assertThat(contend(WaitLimit.within(clock.nanoTime(), 50 * MILLI, 0), true))
                .isNull();
        assertThat(asked).isEmpty();
        assertThat(client.attempts().all()).containsExactly(first);
        assertThat(commands()).isEmpty();
    }
}
