package io.github.redislocks.residency;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.redislocks.LockLost;
import io.github.redislocks.events.EventNotifier;
import io.github.redislocks.fixture.FakeClock;
import io.github.redislocks.lease.Losses;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Holds;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Owner;
import io.github.redislocks.state.WaitLimit;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

/** The records of losses under a lease, which threads that find a loss may make at any time. */
class ThreadLossesTest {

    private final LockKeys keys = LockKeys.of("p", "a");
    private final Owner owner = new Owner("client:1");
    private final FakeClock clock = new FakeClock();
    private final EventNotifier events = new EventNotifier(List.of());
    private final ThreadLosses records = new ThreadLosses(new Losses(clock, (of, attempt) -> {}, events, () -> {}));
    private final Residence residence = new Residence(clock, "client:r1", keys, records, new Holds());

    private ThreadHold hold(long token) {
        return hold(token, keys, owner);
    }

    private ThreadHold hold(long token, LockKeys lock, Owner of) {
        Attempt attempt =
                new Attempt(7, lock, residence, new Attempt.Request(30_000, true, false), WaitLimit.endless());
        Hold lease = new Hold(attempt, new Attempt.Grant(5, false, Long.MAX_VALUE, 0, true), 0, 10, null);
        return new ThreadHold(lease, of, token, false, 0);
    }

    @Test
    void record_addedAgainAfterItsUnlock_staysRemoved() {
        ThreadHold lost = hold(5);
        records.add(lost);
        assertThat(records.of(keys, owner)).isSameAs(lost);
        records.remove(lost);
        records.add(lost);
        assertThat(records.of(keys, owner)).isNull();
    }

    @Test
    void record_addedTwice_isOneRecord() {
        ThreadHold lost = hold(5);
        records.add(lost);
        records.add(lost);
        records.remove(lost);
        assertThat(records.of(keys, owner)).isNull();
    }

    @Test
    void latestRecord_removed_restoresTheEarlier() {
        ThreadHold first = hold(5);
        ThreadHold second = hold(6);
        records.add(first);
        records.add(second);
        assertThat(records.of(keys, owner)).isSameAs(second);
        records.remove(second);
        assertThat(records.of(keys, owner)).isSameAs(first);
    }

    /** Records a loss that is not told yet. */
    private ThreadHold lost(ThreadHold hold) {
        hold.begin();
        assertThat(hold.lose(LockLost.Reason.TAKEN)).isTrue();
        records.add(hold);
        return hold;
    }

    private void inspect() {
        records.inspect(clock.nanoTime());
    }

    @Test
    void earlierLoss_thatCouldNotBeTold_isTold() {
        ThreadHold first = lost(hold(5));
        ThreadHold second = lost(hold(6));
        inspect();
        assertThat(second.isUntold()).isFalse();
        assertThat(first.isUntold()).isFalse();
    }

    @Test
    void merge_reportedLosses_areOneRecordThatIsToBeUnlockedTwice() {
        ThreadHold first = lost(hold(5));
        lost(hold(6));
        inspect();
        records.merge(keys, owner);
        assertThat(records.of(keys, owner)).isSameAs(first);
        assertThat(first.unlockedAfterLoss()).isFalse();
        assertThat(first.unlockedAfterLoss()).isTrue();
    }

    @Test
    void merge_lossThatIsNotReportedYet_keepsItsRecord() {
        lost(hold(5));
        inspect();
        ThreadHold second = lost(hold(6));
        records.merge(keys, owner);
        assertThat(records.of(keys, owner)).isSameAs(second);
    }

    @Test
    void lossWhoseTellingMeetsAnError_keepsNoOtherUntold() {
        List<ThreadHold> told = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            told.add(lost(hold(5, LockKeys.of("p", "b" + i), owner)));
        }
        lost(hold(5, keys, new Untellable()));
        assertThatThrownBy(this::inspect).isInstanceOf(OutOfMemoryError.class);
        assertThat(told).noneMatch(ThreadHold::isUntold);
    }

    /** An owner whose loss cannot be told. */
    private static final class Untellable extends Owner {

        Untellable() {
            super("client:2");
        }

        @Override
        public String description() {
            throw new OutOfMemoryError("of the test");
        }
    }

    @Test
    void lossWhoseTellingMeetsAnError_keepsNoEarlierLossOfItsThreadUntold() {
        AtomicBoolean failed = new AtomicBoolean();
        Owner failing = new Owner("client:2") {
            @Override
            public String description() {
                if (failed.compareAndSet(false, true)) {
                    throw new OutOfMemoryError("of the test");
                }
                return "it";
            }
        };
        ThreadHold first = lost(hold(5, keys, failing));
        lost(hold(6, keys, failing));
        assertThatThrownBy(this::inspect).isInstanceOf(OutOfMemoryError.class);
        assertThat(first.isUntold()).isFalse();
    }

    @Test
    void lossWhoseTellingMeetsAnError_leavesNoRecordOfAThreadThatHasEnded() {
        Owner ended = new Owner("client:3") {
            @Override
            public boolean isAlive() {
                return false;
            }
        };
        lost(hold(5, keys, ended));
        lost(hold(5, LockKeys.of("p", "b"), new Untellable()));
        assertThatThrownBy(this::inspect).isInstanceOf(OutOfMemoryError.class);
        assertThat(records.of(keys, ended)).isNull();
    }

    @Test
    void record_ofAThreadThatHasEnded_isForgotten_butNotALaterOne() {
        ThreadHold[] later = new ThreadHold[1];
        Owner ended = new Owner("client:2") {
            @Override
            public boolean isAlive() {
                if (later[0] == null) {
                    later[0] = lost(hold(6, keys, this));
                }
                return false;
            }
        };
        lost(hold(5, keys, ended));
        inspect();
        assertThat(records.of(keys, ended)).isSameAs(later[0]);
        inspect();
        assertThat(records.of(keys, ended)).isNull();
    }
}
