package io.github.redislocks.compat;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;

/** The sentences of ReentrantLock's documentation on fair locks. */
@ParameterizedClass
@EnumSource(names = {"JDK_FAIR", "REDIS_FAIR", "REDIS_FAIR_BY_TWO_CLIENTS"})
class FairSentencesTest extends Sentences {

    private final List<String> served = new CopyOnWriteArrayList<>();

    /** A thread that takes its place now, and is then served once. */
    private Actor<Void> queue(String label, Subject by, Step acquire) {
        int places = locks.places();
        Actor<Void> waiter = start(() -> {
            acquire.run();
            served.add(label);
            by.unlock();
            return null;
        });
        awaitThat().until(() -> locks.places() > places);
        return waiter;
    }

    @Test
    void acquire_anyForm_isInOrderOfArrival() throws InterruptedException {
        Holder holder = new Holder(lock);
        List<Actor<Void>> waiters = new ArrayList<>();
        List<String> order = new ArrayList<>();
        for (int i = 0; i < 12; i++) {
            Subject by = i / 2 % 2 == 0 ? lock : there;
            Step acquire =
                    switch (i % 3) {
                        case 0 -> by::lock;
                        case 1 -> by::lockInterruptibly;
                        default ->
                            () -> assertThat(by.tryLock(20, TimeUnit.SECONDS)).isTrue();
                    };
            order.add("waiter " + i);
            waiters.add(queue("waiter " + i, by, acquire));
        }
        holder.end();
        for (Actor<Void> waiter : waiters) {
            waiter.result();
        }
        assertThat(served).isEqualTo(order);
        assertFree();
    }

    @Test
    void tryLock_timedWhileOthersWait_doesNotBarge() throws InterruptedException {
        for (int round = 0; round < 20; round++) {
            lock.lock();
            Holder next = new Holder(there);
            lock.unlock();
            // The next thread may hold the lock by now or not: in either case no other may.
            assertThat(lock.tryLock(0, TimeUnit.SECONDS)).isFalse();
            next.end();
            assertFree();
        }
    }

    @Test
    void signal_whileOthersWait_isBehindThem() throws InterruptedException {
        Condition condition = lock.newCondition();
        Actor<Void> signalled = start(() -> {
            lock.lock();
            condition.await();
            served.add("signalled");
            lock.unlock();
            return null;
        });
        lockWithWaiters(lock, condition, 1);
        Actor<Void> waited = queue("waited", there, there::lock);
        condition.signal();
        Actor<Void> late = queue("late", lock, lock::lock);
        lock.unlock();
        signalled.result();
        waited.result();
        late.result();
        assertThat(served).containsExactly("waited", "signalled", "late");
        assertFree();
    }

    @Test
    void await_timeThatIsOver_letsThoseGoFirstThatWait() throws InterruptedException {
        lock.lock();
        Actor<Void> waited = queue("waited", there, there::lock);
        assertThat(lock.newCondition().await(0, TimeUnit.SECONDS)).isFalse();
        served.add("await");
        lock.unlock();
        waited.result();
        assertThat(served).containsExactly("waited", "await");
        assertFree();
    }

    @Test
    void interrupt_inTheMiddle_leavesTheOrderOfTheOthers() throws InterruptedException {
        Holder holder = new Holder(lock);
        Actor<Void> first = queue("first", there, there::lock);
        Actor<Void> middle = queue("middle", there, there::lockInterruptibly);
        Actor<Void> last = queue("last", lock, lock::lock);
        middle.thread.interrupt();
        awaitThat().until(middle::isDone);
        holder.end();
        first.result();
        last.result();
        assertThat(served).containsExactly("first", "last");
        awaitFree();
    }
}
