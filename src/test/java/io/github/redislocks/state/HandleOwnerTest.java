package io.github.redislocks.state;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.LockLost;
import io.github.redislocks.fixture.Moment;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A handle's owner wakes the thread that waits, and reports a loss. */
@Timeout(10)
class HandleOwnerTest {

    private final Object handle = new Object();
    private final List<LockLost> losses = new ArrayList<>();
    private final AtomicInteger news = new AtomicInteger();
    private final HandleOwner owner = new Owners("client").handle(handle, losses::add);

    private void wakeFromElsewhere() throws InterruptedException {
        Thread thread = new Thread(owner::wake);
        thread.start();
        thread.join();
    }

    @Test
    void whatIsRunOnNews_isRunByWhoeverHasThem() throws InterruptedException {
        owner.wakes(news::incrementAndGet);
        assertThat(owner.thread()).isNull();
        owner.wake();
        wakeFromElsewhere();
        assertThat(news).hasValue(2);
        owner.rests();
        owner.wake();
        assertThat(news).hasValue(2);
    }

    /** Though a thread is a Runnable as well. */
    @Test
    void threadThatWaits_isUnparked() throws InterruptedException {
        Thread waiter = new Thread(() -> {
            owner.waits();
            LockSupport.park(owner);
        });
        waiter.start();
        while (waiter.getState() != Thread.State.WAITING) {
            Moment.pass();
        }
        assertThat(owner.thread()).isSameAs(waiter);
        owner.wake();
        waiter.join();
        owner.rests();
        assertThat(owner.thread()).isNull();
    }

    @Test
    void handle_livesUntilItIsForgotten_andIsToldOfItsLoss() {
        assertThat(owner.isAlive()).isTrue();
        assertThat(owner.description()).isEqualTo("handle h1");
        assertThat(owner.id).isEqualTo("client:h1");
        LockLost loss = LockLost.of("job", 5, owner.description(), LockLost.Reason.TAKEN);
        owner.lost(loss);
        assertThat(losses).containsExactly(loss);
        owner.forget();
        assertThat(owner.isAlive()).isFalse();
        assertThat(handle).isNotNull();
    }
}
