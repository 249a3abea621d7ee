package io.github.redislocks.residency;

import io.github.redislocks.client.SteppedClient;
import io.github.redislocks.engine.Sync;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Settings;
import io.github.redislocks.state.WaitLimit;
import io.github.redislocks.watchdog.PendingCommand;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import org.junit.jupiter.api.BeforeEach;

/** A client without background work that keeps a lock. */
abstract class SteppedResidence extends SteppedClient {

    static final Settings KEEPING = Settings.DEFAULTS.withResidency(Duration.ofHours(1));

    final Sync kept = client.lock("job", false, KEEPING);

    @BeforeEach
    void listen() {
        begin();
    }

    final Residence residence() {
        return residences.of(kept.keys(), 1);
    }

    /** A lease that is there in place of another. */
    abstract static class CopiedLease extends Hold {

        CopiedLease(Hold lease) {
            super(
                    new Attempt(
                            lease.attempt,
                            lease.keys(),
                            lease.owner,
                            new Attempt.Request(LEASE, true, false),
                            WaitLimit.endless()),
                    new Attempt.Grant(lease.token, false, lease.deadlineNanos(), lease.turnStartNanos, true),
                    lease.acquiredNanos,
                    Long.MAX_VALUE,
                    null);
        }
    }

    /** Has the client keep the lock by another lease than it has got. */
    final <T extends CopiedLease> T keepInstead(Function<Hold, T> copy) {
        kept.lock();
        kept.unlock();
        Hold lease = residence().lease();
        residence().ended(lease);
        client.holds.forget(lease);
        T other = copy.apply(lease);
        client.holds.put(other);
        residence().begin(other);
        clock.advanceMillis(1);
        return other;
    }

    final PendingCommand pending(String script) {
        for (PendingCommand command : client.watchdog.commands()) {
            if (!command.isDone() && command.call().script().name().equals(script)) {
                return command;
            }
        }
        throw new AssertionError(commands());
    }

    /** The scripts of the pending commands that are not done. */
    final List<String> left() {
        List<String> left = new ArrayList<>();
        for (PendingCommand command : client.watchdog.commands()) {
            if (!command.isDone()) {
                left.add(command.call().script().name());
            }
        }
        return left;
    }

    /** Has the release in the background answered. */
    final void release(Reply reply) {
        pending("release").answered(reply, clock.nanoTime());
    }
}
