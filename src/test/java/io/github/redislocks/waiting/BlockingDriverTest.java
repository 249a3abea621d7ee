package io.github.redislocks.waiting;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.redis.ServerTimes;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.WaitLimit;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** An acquisition that meets an error leaves no attempt behind. */
@Timeout(30)
class BlockingDriverTest extends StillClient {

    /** An acquisition that meets an error at its first step, and another error when it is to be left. */
    private static final class Failing extends Acquisition {

        Failing(Attempt attempt, Settlements.Settlement settlement) {
            super(attempt, settlement);
        }

        @Override
        protected void begin() {}

        @Override
        protected long next(Attempt.@Nullable Verdict verdict, long now) {
            throw new InternalError("of the step");
        }

        @Override
        protected void strand() {
            throw new InternalError("of the rescue");
        }

        @Override
        protected long timeoutNanos(long now) {
            return MILLI;
        }

        @Override
        protected Call call(ServerTimes.Date notAfter) {
            throw new AssertionError();
        }

        @Override
        protected boolean answered(Reply reply, ServerTimes.Date notAfter, long sentNanos) {
            throw new AssertionError();
        }

        @Override
        protected void failed(RedisException failure, ServerTimes.Date notAfter) {
            throw new AssertionError();
        }

        @Override
        protected void goOnWithout(Attempt.Grant lapsed) {
            throw new AssertionError();
        }
    }

    @Test
    void acquisition_whoseRescueMeetsAnErrorToo_leavesTheQueue() throws InterruptedException {
        Attempt attempt = enter();
        attempt.known();
        Acquisition failing = new Failing(attempt, client.settlements().of(attempt, WaitLimit.endless(), null));
        AtomicReference<@Nullable Throwable> met = new AtomicReference<>();
        Thread thread = new Thread(() ->
                met.set(catchThrowable(() -> client.acquisitions().driver().drive(failing))));
        thread.start();
        await().until(() -> met.get() != null || commands().size() == 1);
        commands().forEach(leave -> answer(leave, "DONE", 0L));
        thread.join();
        assertThat(met.get()).isInstanceOf(InternalError.class);
        assertThat(client.attempts().isUnderWay(attempt)).isFalse();
        assertThat(client.localQueue().size()).isZero();
    }
}
