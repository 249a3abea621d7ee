package io.github.redislocks.residency;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.client.SteppedClient;
import io.github.redislocks.engine.Sync;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.redis.Script;
import io.github.redislocks.script.Scripts;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Owner;
import io.github.redislocks.state.Settings;
import io.github.redislocks.state.WaitLimit;
import io.github.redislocks.watchdog.PendingCommand;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.FutureTask;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** How locks leave that a client has kept and whose time ends together: by one request, and nothing differs by that. */
@Timeout(30)
class GivenUpTogetherTest extends SteppedClient {

    private static final Script FOREIGN = Script.load(GivenUpTogetherTest.class, "foreign");
    private static final long KEPT_MILLIS = 1_000;
    private static final long TIME_IS_OVER_MILLIS = KEPT_MILLIS + KEPT_MILLIS / 5;
    private static final Settings KEEPING = Settings.DEFAULTS.withResidency(Duration.ofMillis(KEPT_MILLIS));

    private final List<Sync> locks = new ArrayList<>();
    private final List<Hold> leases = new ArrayList<>();

    @BeforeEach
    void listen() {
        begin();
    }

    private Residence residence(int lock) {
        return Objects.requireNonNull(residences.known(locks.get(lock).keys().lock()));
    }

    /** Keeps this many locks; a thread has acquired the first one twice. */
    private void keep(int count) {
        IntStream.range(0, count).forEach(i -> locks.add(client.lock("job" + i, false, KEEPING)));
        use(locks);
        clock.advanceMillis(1);
        use(locks.subList(0, 1));
        for (int i = 0; i < count; i++) {
            leases.add(Objects.requireNonNull(residence(i).lease()));
        }
    }

    /** Keeps so many locks until their time is over. */
    private void giveUp(int count) {
        keep(count);
        clock.advanceMillis(TIME_IS_OVER_MILLIS);
        inspect();
    }

    /** Has the client look for what it keeps no longer. */
    private void inspect() {
        long now = clock.nanoTime();
        residences.inspect(now, now, (key, job) -> {});
    }

    private static void use(List<Sync> used) {
        for (Sync lock : used) {
            lock.lock();
            lock.unlock();
        }
    }

    private List<PendingCommand> pending() {
        List<PendingCommand> pending = new ArrayList<>();
        for (PendingCommand command : inside.watchdog().commands()) {
            if (!command.isDone()) {
                pending.add(command);
            }
        }
        return pending;
    }

    private List<String> left() {
        return pending().stream().map(command -> command.call().script().name()).toList();
    }

    /** Has Redis do what is pending. */
    private void send() {
        for (PendingCommand command : pending()) {
            command.begin();
            command.answered(done(command), clock.nanoTime());
            command.end();
        }
    }

    /** Has Redis do something; the answer is what the sender hears. */
    private Reply done(PendingCommand command) {
        return redis.run(command.call(clock.nanoTime(), MILLI), MILLI);
    }

    /** All three, of which an earlier sending may have ended some, so that none counts as lost. */
    private void assertReleasedOneByOneAtTheSecondSending() {
        send();
        assertThat(left()).containsExactly("release", "release", "release");
        send();
        assertGone();
        assertThat(leases).noneMatch(Hold::isLost);
    }

    private void assertGone() {
        assertThat(left()).isEmpty();
        for (int i = 0; i < locks.size(); i++) {
            assertThat(redis.hash(locks.get(i).keys().lock())).isEmpty();
            assertThat(residence(i).turn.isFree()).isTrue();
            assertThat(inside.localQueue().isInUse(locks.get(i).keys().lock()))
                    .as("an attempt would wait behind nobody")
                    .isFalse();
        }
        assertThat(inside.holds().all()).isEmpty();
    }

    @Test
    void leasesThatNobodyWaitsFor_endByOneRequest_withTheirLastTokens() {
        giveUp(3);
        assertThat(left()).containsExactly("give_up");
        assertThat(IntStream.range(0, 3).noneMatch(i -> residence(i).turn.isFree()))
                .as("a thread may ask anew only after the answer")
                .isTrue();
        send();
        assertGone();
        assertThat(redis.string(locks.get(0).keys().fence()))
                .as("threads acquired this lock twice")
                .isEqualTo(leases.get(0).token + 1 + "+");
        assertThat(redis.string(locks.get(1).keys().fence())).isEqualTo(leases.get(1).token + "+");
    }

    @Test
    void leaseThatAnotherClientWaitsFor_goesToThatClient() {
        giveUp(3);
        Attempt waiter = new Attempt(
                7, locks.get(1).keys(), new Owner("b:1"), new Attempt.Request(LEASE, true, false), WaitLimit.endless());
        assertThat(redis.run(Scripts.acquire(waiter, server -> Long.MAX_VALUE, true, 0), MILLI)
                        .is("QUEUED"))
                .isTrue();
        send();
        assertThat(left()).containsExactly("release");
        assertThat(residence(1).turn.isFree()).isFalse();
        send();
        assertThat(left()).isEmpty();
        assertThat(residence(1).turn.isFree()).isTrue();
        assertThat(leases).noneMatch(Hold::isLost);
    }

    @Test
    void leaseThatRedisDoesNotHave_isLost() {
        giveUp(3);
        redis.del(locks.get(1).keys().lock());
        send();
        assertThat(left()).containsExactly("release");
        send();
        assertGone();
        assertThat(leases).extracting(Hold::isLost).containsExactly(false, true, false);
    }

    @Test
    void leaseThatAnUnansweredRequestHasEnded_isNotLost() {
        giveUp(3);
        PendingCommand all = pending().get(0);
        done(all);
        all.failed(unanswered(), clock.nanoTime());
        assertThat(residence(1).turn.isFree()).as("Redis may be away").isTrue();
        assertReleasedOneByOneAtTheSecondSending();
    }

    @Test
    void leaseThatARequestSentTwiceHasEnded_isNotLost() {
        giveUp(3);
        Call all = pending().get(0).call();
        redis.run(all, MILLI);
        Reply second = redis.run(all, MILLI);
        pending().get(0).answered(new Reply(second.code(), second.values(), true), clock.nanoTime());
        send();
        assertGone();
        assertThat(leases).noneMatch(Hold::isLost);
    }

    @Test
    void leaseThatARequestHasEnded_beforeAnError_isNotLost() {
        giveUp(3);
        PendingCommand all = pending().get(0);
        Reply freed = done(all);
        Residence first =
                Objects.requireNonNull(residences.known(all.call().keys().get(0)));
        first.ask(() -> {
            throw broken;
        });
        assertThatThrownBy(() -> all.answered(freed, clock.nanoTime())).isSameAs(broken);
        all.end();
        assertReleasedOneByOneAtTheSecondSending();
    }

    @Test
    void releaseThatIsNeverAnswered_isGivenUpAfterTheLease() {
        giveUp(3);
        pending().get(0).failed(unanswered(), clock.nanoTime());
        clock.advanceMillis(2 * LEASE);
        assertThat(pending().get(0).isDue(clock.nanoTime()))
                .as("the lease has ended")
                .isFalse();
        locks.forEach(lock -> redis.del(lock.keys().lock()));
        assertGone();
    }

    @Test
    void manyLeases_endBy32ToARequest() {
        giveUp(40);
        assertThat(pending())
                .extracting(command -> command.call().keys().size() / 2)
                .containsExactly(32, 8);
        send();
        assertGone();
    }

    @Test
    void leaseThatAThreadWantsForItself_goesToThatThread() throws Exception {
        keep(3);
        Sync own = client.lock("job1", false);
        FutureTask<Void> waits = new FutureTask<>(
                () -> {
                    own.lock();
                    own.unlock();
                },
                null);
        assertThat(residence(1).turn.tryTake())
                .as("else the thread gives it up")
                .isTrue();
        new Thread(waits).start();
        await().until(() -> inside.localQueue().successor(own.keys(), leases.get(1).attempt) != null);
        residence(1).turn.end();
        clock.advanceMillis(TIME_IS_OVER_MILLIS);
        inspect();
        assertThat(left()).containsExactlyInAnyOrder("release", "give_up");
        send();
        waits.get();
        assertGone();
    }

    /** Keeps three whose time is over; a reading of the clock will end with an error. */
    private void keepThreeThatMeetAnErrorAt(int reading) {
        locks.clear();
        leases.clear();
        keep(3);
        clock.advanceMillis(TIME_IS_OVER_MILLIS);
        clock.failReadings(reading, 1);
    }

    @Test
    void error_atAnyReadingOfTheClock_keepsNoLeaseForEver_andLosesNone() {
        int met = 0;
        for (int first = 1; met >= first - 1; first++) {
            keepThreeThatMeetAnErrorAt(first);
            try {
                inspect();
            } catch (InternalError e) {
                assertThat(e).hasMessageContaining("of the test");
            }
            met = clock.heal();
            // Releases that have not begun yet begin at the next look of the watchdog.
            inspect();
            for (Hold hold : inside.holds().all()) {
                if (hold.stranded) {
                    inside.handoff().rescue(hold);
                }
            }
            send();
            assertGone();
            assertThat(leases).as("reading %d", first).noneMatch(Hold::isLost);
        }
        assertThat(met).as("readings of the clock").isPositive();
    }

    @Test
    void refusedRequest_isFollowedByOneForEachLease() {
        giveUp(3);
        PendingCommand together = pending().get(0);
        together.begin();
        together.failed(new RedisException.Refused("CROSSSLOT Keys in request", null), clock.nanoTime());
        assertThat(left()).containsExactly("release", "release", "release");
        send();
        assertGone();
        assertThat(leases).noneMatch(Hold::isLost);
        locks.clear();
        giveUp(2);
        assertThat(left()).as("the server has refused that").containsExactly("release", "release");
    }

    @Test
    void refusalThatPasses_isTriedAgain() {
        giveUp(3);
        pending().get(0).failed(new RedisException.Refused("LOADING Redis is loading", null), clock.nanoTime());
        assertThat(left()).containsExactly("give_up");
    }

    @Test
    void refusedRequest_thatHasEndedSomeLeases_losesNone() {
        giveUp(3);
        PendingCommand together = pending().get(0);
        done(together);
        together.failed(new RedisException.Refused("WRONGTYPE Operation", null), clock.nanoTime());
        send();
        assertGone();
        assertThat(leases).noneMatch(Hold::isLost);
    }

    /** Has somebody else use a key. */
    private void foreign(String key, String type) {
        redis.run(new Call(FOREIGN, List.of(key), List.of(type)), MILLI);
    }

    @Test
    void keysOfOtherTypes_hinderNoOtherLock() {
        keep(3);
        foreign(locks.get(0).keys().fence(), "hash");
        foreign(locks.get(1).keys().lock(), "string");
        foreign(locks.get(2).keys().fence(), "hash");
        clock.advanceMillis(TIME_IS_OVER_MILLIS);
        inspect();
        assertThat(done(pending().get(0)).code()).isEqualTo("LINE");
        assertThat(redis.hash(locks.get(0).keys().lock())).isEmpty();
        assertThat(redis.hash(locks.get(2).keys().lock())).isEmpty();
        assertThat(redis.string(locks.get(2).keys().fence())).isEqualTo(leases.get(2).token + "+");
    }

    /** Has Redis do something; an error keeps the sender from telling what came of it. */
    private void sendAndForget(PendingCommand command) {
        command.begin();
        done(command);
        command.end();
    }

    @Test
    void replyThatAnErrorHasLost_mayHaveEndedTheLeases() {
        giveUp(3);
        PendingCommand together = pending().get(0);
        sendAndForget(together);
        assertReleasedOneByOneAtTheSecondSending();
    }

    @Test
    void replyToOneRelease_thatAnErrorHasLost_mayHaveEndedTheLease() {
        giveUp(1);
        PendingCommand alone = pending().get(0);
        sendAndForget(alone);
        send();
        assertGone();
        assertThat(leases).noneMatch(Hold::isLost);
    }

    @Test
    void error_atStartOrReplyOfATry_leavesTheTurnFree() {
        int met = 0;
        for (int first = 1; met >= first - 1; first++) {
            keepThreeThatMeetAnErrorAt(first);
            for (int i = 0; i < 3; i++) {
                residence(i).ask(() -> {
                    throw new InternalError("of the test");
                });
            }
            try {
                inspect();
            } catch (InternalError e) {
                assertThat(e).hasMessageContaining("of the test");
            }
            met = clock.heal();
            for (int round = 0; round < 5; round++) {
                try {
                    watch();
                    inspect();
                    send();
                } catch (InternalError e) {
                    assertThat(e).hasMessageContaining("of the test");
                }
            }
            assertGone();
            IntStream.range(0, 3).forEach(i -> residence(i).nextAsked());
        }
        assertThat(met).as("readings of the clock").isPositive();
    }

    @Test
    void leasesOfAClientThatCloses_endByOneRequest() {
        IntStream.range(0, 3).forEach(i -> locks.add(client.lock("job" + i, false, KEEPING)));
        use(locks);
        residences.close();
        assertThat(left()).containsExactly("give_up");
        send();
        assertGone();
    }
}
