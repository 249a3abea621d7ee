package io.github.redislocks.quorum;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.redis.Outcome;
import io.github.redislocks.script.Scripts;
import io.github.redislocks.state.LockKeys;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.locks.LockSupport;

/** Asks one master whether a lock is held, and notes each outcome that it is told. */
class NotedQuestion extends MajorityPoll {

    final List<Outcome> told = new CopyOnWriteArrayList<>();

    NotedQuestion(LockKeys keys) {
        super(1, Scripts.locked(keys), Set.of("FREE"), "FREE", Long.MAX_VALUE);
    }

    @Override
    public void asked(PolledMaster from, long mayRunUntilNanos, Outcome outcome) {
        told.add(outcome);
    }

    /** The outcome, which it was told once. */
    Outcome heard(long deadlineNanos) {
        await(deadlineNanos, LockSupport::parkNanos);
        assertThat(told).hasSize(1);
        return told.get(0);
    }
}
