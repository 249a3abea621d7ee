package io.github.redislocks.concurrent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongUnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Tests that each matter takes its steps in time, whatever one of them throws, and that the thread stops with the last.
 */
@Timeout(30)
class AgendaTest {

    private final List<Thread> threads = new CopyOnWriteArrayList<>();
    private final Agenda agenda = new Agenda(Clock.SYSTEM, Threads.of(this::make, "t"), "agenda");

    private Thread make(Runnable work) {
        Thread made = Threads.daemon("t", work);
        threads.add(made);
        return made;
    }

    /** A matter whose steps the test defines. */
    private static final class Step extends Agenda.Matter {

        final List<Thread> runs = new CopyOnWriteArrayList<>();
        private final LongUnaryOperator step;

        Step(LongUnaryOperator step) {
            this.step = step;
        }

        @Override
        protected long goOn(long nowNanos) {
            runs.add(Thread.currentThread());
            return step.applyAsLong(nowNanos);
        }

        @Override
        protected void wrapUp() {
            throw new AssertionError("not asked for");
        }
    }

    private Step add(LongUnaryOperator step) {
        Step made = new Step(step);
        agenda.add(made);
        agenda.news(made);
        return made;
    }

    @Test
    void news_ofAMatter_takesAStep() {
        Step matter = add(now -> Agenda.NEWS_ONLY);
        for (int i = 1; i < 1_000; i++) {
            int before = i;
            await().pollInterval(100, TimeUnit.MICROSECONDS).until(() -> matter.runs.size() == before);
            agenda.news(matter);
        }
        assertThat(matter.runs).containsOnly(threads.get(0));
    }

    @Test
    void matter_withADueTime_takesAStepThen() {
        AtomicInteger steps = new AtomicInteger();
        Step matter = add(now -> steps.incrementAndGet() < 20 ? now + 1_000_000 : Agenda.ENDED);
        await().until(() -> matter.runs.size() == 20);
    }

    @Test
    void thread_withoutMatters_stops_andStartsWithTheNext() {
        Step first = add(now -> Agenda.ENDED);
        await().until(() -> !threads.get(0).isAlive());
        assertThat(first.runs).hasSize(1);
        agenda.news(first);
        Step second = add(now -> Agenda.ENDED);
        await().until(() -> second.runs.size() == 1);
        assertThat(first.runs).as("the matter has no further steps").hasSize(1);
        assertThat(threads).hasSize(2);
    }

    @Test
    void matter_thatThrows_isRepeatedLater_andDelaysNoOther() {
        AtomicBoolean broken = new AtomicBoolean(true);
        Step failing = add(now -> {
            if (broken.get()) {
                throw new OutOfMemoryError("of the test");
            }
            return Agenda.ENDED;
        });
        Step other = add(now -> Agenda.NEWS_ONLY);
        await().until(() -> !other.runs.isEmpty());
        broken.set(false);
        await().until(() -> failing.runs.size() == 2);
        assertThat(threads).hasSize(1);
    }

    /** Another matter parks in its step, consumes the permit and interrupts the thread. */
    @Test
    void news_whileAnotherMatterParks_takesAStep() {
        AtomicBoolean parks = new AtomicBoolean();
        Step other = add(now -> Agenda.NEWS_ONLY);
        await().until(() -> other.runs.size() == 1);
        Step parking = add(now -> {
            parks.set(true);
            LockSupport.park(this);
            Thread.currentThread().interrupt();
            return Agenda.NEWS_ONLY;
        });
        await().untilTrue(parks);
        agenda.news(other);
        await().until(() -> other.runs.size() == 2);
        assertThat(parking.runs).hasSize(1);
    }

    @Test
    void add_withoutAThread_addsNothing() {
        Agenda poor = new Agenda(Clock.SYSTEM, Threads.of(work -> null, "t"), "agenda");
        Step matter = new Step(now -> Agenda.ENDED);
        assertThatThrownBy(() -> poor.add(matter)).isInstanceOf(IllegalStateException.class);
        poor.wrapUp();
        assertThat(matter.runs).isEmpty();
    }
}
