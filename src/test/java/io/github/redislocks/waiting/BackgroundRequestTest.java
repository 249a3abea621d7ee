package io.github.redislocks.waiting;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.script.Inspections;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.HandleOwner;
import io.github.redislocks.state.Settings;
import io.github.redislocks.state.WaitLimit;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** The outcome of a request for which no thread waits, which is reported once. */
class BackgroundRequestTest extends StillClient {

    private final AtomicInteger woken = new AtomicInteger();
    private final List<Object> told = new ArrayList<>();
    private @Nullable Error error;
    private final BackgroundRequest request =
            new BackgroundRequest(clock, client.monitored(), attempt(), 2_000 * MILLI) {
                @Override
                Call request(long nanos, long timeoutNanos) {
                    return Inspections.locked(keys);
                }

                @Override
                void heard(Reply answer, long nanos) {
                    if (error != null) {
                        throw error;
                    }
                    told.add(answer.code() + " " + nanos);
                }

                @Override
                void missed(RedisException why) {
                    told.add(why);
                }

                @Override
                void mayHaveRun() {
                    told.add("may have run");
                }

                @Override
                void leave() {
                    told.add("leaves");
                }
            };

    private Attempt attempt() {
        HandleOwner owner = client.owners().handle(woken, loss -> {});
        owner.wakes(woken::incrementAndGet);
        return client.attempts().make(keys, owner, new Attempt.Request(LEASE, true, false), WaitLimit.endless());
    }

    @Override
    Settings options() {
        return Settings.DEFAULTS.withReplicaAcks(2);
    }

    private void send() {
        request.begin();
        assertThat(request.call(clock.nanoTime(), MILLI).script().name()).isEqualTo("locked");
    }

    private void hasEndedOnce() {
        assertThat(request.hasEnded()).isTrue();
        assertThat(request.isDone()).isTrue();
        assertThat(request.isUnderWay()).isFalse();
        assertThat(woken).hasValue(1);
        assertThat(told).isEmpty();
        request.deliver();
        assertThat(told).hasSize(1);
    }

    @Test
    void request_thatWasNotSent_hasNotEnded() {
        assertThat(request.wasSent()).isFalse();
        assertThat(request.hasEnded()).isFalse();
        request.deliver();
        assertThat(told).isEmpty();
    }

    @Test
    void answer_wakesTheOwner_andIsDeliveredLater() {
        send();
        assertThat(request.wasSent()).isTrue();
        request.answered(new Reply("OK", List.of(1L)).confirmedBy(2), 77);
        hasEndedOnce();
        assertThat(told).containsExactly("OK 77");
    }

    @Test
    void answerThatGivesNothing_needsNoReplicas() {
        send();
        request.answered(new Reply("BUSY", List.of()).confirmedBy(0), 77);
        hasEndedOnce();
        assertThat(told).containsExactly("BUSY 77");
    }

    @Test
    void answerThatTooFewReplicasConfirmed_isMissed() {
        send();
        request.answered(new Reply("OK", List.of(1L)).confirmedBy(1), 77);
        hasEndedOnce();
        assertThat(told.get(0)).isInstanceOf(RedisException.Unacknowledged.class);
    }

    @Test
    void failure_isMissed_andWhatFollowsItIsNotTold() {
        RedisException failure = new RedisException.Unanswered("away", true, null);
        send();
        request.failed(failure, 77);
        request.failed(new RedisException.Unanswered("again", true, null), 78);
        request.answered(new Reply("OK", List.of(1L)).confirmedBy(2), 79);
        request.giveUp();
        request.end();
        hasEndedOnce();
        assertThat(told).containsExactly(failure);
    }

    @Test
    void requestForWhichThereIsNoTime_isGivenUp() {
        clock.advanceMillis(2_000);
        assertThat(request.isDue(clock.nanoTime())).isTrue();
        clock.advanceMillis(1);
        assertThat(request.isDue(clock.nanoTime())).isFalse();
        hasEndedOnce();
        assertThat(told.get(0))
                .isInstanceOfSatisfying(
                        RedisException.Unanswered.class,
                        missed -> assertThat(missed.sent()).isFalse());
    }

    @Test
    void requestOfWhichNothingCouldBeTold_mayHaveRun() {
        send();
        request.end();
        hasEndedOnce();
        assertThat(told.get(0))
                .isInstanceOfSatisfying(
                        RedisException.Unanswered.class,
                        missed -> assertThat(missed.sent()).isTrue());
    }

    @Test
    void requestThatCouldNotBeSent_isSentLater() {
        request.begin();
        request.end();
        assertThat(request.hasEnded()).isFalse();
        assertThat(request.isDone()).isFalse();
        assertThat(request.isUnderWay()).isFalse();
        assertThat(request.isDue(clock.nanoTime())).isFalse();
        clock.advanceMillis(1_000);
        assertThat(request.isDue(clock.nanoTime())).isTrue();
    }

    @Test
    void request_thatIsDropped_isNotSentAnyMore() {
        request.drop();
        assertThat(request.isDone()).isTrue();
        assertThat(told).isEmpty();
    }

    @Test
    void request_thatIsDroppedWhileItIsUnderWay_leavesAtItsEnd() {
        send();
        request.drop();
        assertThat(told).containsExactly("may have run");
        request.answered(new Reply("BUSY", List.of(1L)), 7);
        assertThat(told).containsExactly("may have run", "may have run", "leaves");
        assertThat(woken).hasValue(0);
    }

    @Test
    void request_thatIsDroppedAfterItsEnd_mayHaveRun() {
        send();
        request.answered(new Reply("BUSY", List.of(1L)), 7);
        request.drop();
        assertThat(told).containsExactly("may have run");
    }

    @Test
    void request_whoseAnswerMeetsAnError_mayHaveRun() {
        send();
        request.answered(new Reply("BUSY", List.of(1L)), 7);
        error = new InternalError("of the test");
        assertThatThrownBy(request::deliver).isSameAs(error);
        assertThat(told).containsExactly("may have run");
    }
}
