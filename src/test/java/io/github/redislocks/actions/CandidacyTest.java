package io.github.redislocks.actions;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.LockHandle;
import io.github.redislocks.concurrent.Agenda;
import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.concurrent.Threads;
import java.lang.reflect.Proxy;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A candidate that is ended leaves no lock behind. */
@Timeout(60)
class CandidacyTest {

    private final Agenda agenda = new Agenda(Clock.SYSTEM, Threads.DAEMONS, "leaders");
    private final AtomicInteger released = new AtomicInteger();
    private final LockHandle handle = (LockHandle) Proxy.newProxyInstance(
            getClass().getClassLoader(), new Class<?>[] {LockHandle.class}, (proxy, method, args) -> {
                assertThat(method.getName()).isEqualTo("releaseAsync");
                released.incrementAndGet();
                return CompletableFuture.completedFuture(true);
            });

    /** A matter that counts its steps. */
    private static final class Counter extends Agenda.Matter {

        final AtomicInteger steps = new AtomicInteger();
        volatile boolean ends;

        @Override
        protected long goOn(long nowNanos) {
            steps.incrementAndGet();
            return ends ? Agenda.ENDED : Agenda.NEWS_ONLY;
        }

        @Override
        protected void wrapUp() {}
    }

    /** Waits until the agenda has taken all steps that were due. */
    private void awaitSteps() {
        Counter counter = new Counter();
        agenda.add(counter);
        // The first of two turns may have begun before the call.
        for (int turn = 1; turn <= 2; turn++) {
            int steps = turn;
            counter.ends = turn == 2;
            agenda.news(counter);
            await().until(() -> counter.steps.get() == steps);
        }
    }

    @Test
    void candidate_thatIsEndedWhileItAsks_givesTheLockBack() {
        Candidacy candidacy = new Candidacy(
                new Candidacy.Office("job", term -> {}, false),
                new Candidacy.Electorate(
                        agenda,
                        () -> {
                            agenda.wrapUp();
                            awaitSteps();
                            return CompletableFuture.completedFuture(handle);
                        },
                        () -> false));
        candidacy.begin();
        await().until(() -> candidacy.ended().isDone());
        assertThat(released).hasValue(1);
    }
}
