package io.github.redislocks.quorum;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.redis.Outcome;
import io.github.redislocks.script.Inspections;
import io.github.redislocks.state.LockKeys;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.locks.LockSupport;

/** Asks one master whether a lock is held, and notes each outcome. */
class NotedQuestion extends MajorityPoll {

    final List<Outcome> outcomes = new CopyOnWriteArrayList<>();

    NotedQuestion(LockKeys keys) {
        super(1, Inspections.locked(keys), Set.of("FREE"), "FREE", Long.MAX_VALUE);
    }

    @Override
    public void settled(PolledMaster from, long mayRunUntilNanos, Outcome outcome) {
        outcomes.add(outcome);
    }

    /** The outcome, of which there must be one. */
    Outcome outcome(long deadlineNanos) {
        await(deadlineNanos, LockSupport::parkNanos);
        assertThat(outcomes).hasSize(1);
        return outcomes.get(0);
    }
}
