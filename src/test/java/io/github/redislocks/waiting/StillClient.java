package io.github.redislocks.waiting;

import io.github.redislocks.client.Inside;
import io.github.redislocks.client.LockClient;
import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.fixture.FakeClock;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Settings;
import io.github.redislocks.state.Timing;
import io.github.redislocks.state.WaitLimit;
import io.github.redislocks.testkit.twin.InMemoryRedis;
import io.github.redislocks.watchdog.PendingCommand;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;

/** A client that was not started, so that nothing happens in it but what the test does, and time stands still. */
abstract class StillClient {

    static final long MILLI = 1_000_000;
    static final long LEASE = 30_000;

    final FakeClock clock = new FakeClock();
    final InMemoryRedis redis = new InMemoryRedis(clock.server());
    final Inside client = Inside.of(new LockClient("client", options(), List.of(), clock, redis, Threads.DAEMONS));
    final LockKeys keys = LockKeys.of("redis-locks", "job");

    StillClient() {
        clock.advanceMillis(1_000);
    }

    Settings options() {
        return Settings.DEFAULTS;
    }

    @AfterEach
    void closeRedis() {
        redis.close();
    }

    /** A call of this thread that has begun. */
    Attempt begin(boolean fair) {
        Attempt attempt = client.attempts()
                .make(keys, client.owners().caller(), new Attempt.Request(LEASE, true, fair), WaitLimit.endless());
        client.attempts().begin(attempt);
        return attempt;
    }

    /** An attempt that stands in the local queue. */
    Attempt enter() {
        Attempt attempt = begin(false);
        client.localQueue().enter(attempt);
        return attempt;
    }

    /** A hold of the attempt, for its lease. */
    Hold hold(Attempt attempt) {
        long now = clock.nanoTime();
        Attempt.Grant grant = new Attempt.Grant(5, false, now + Timing.validityNanos(LEASE), now, true);
        Hold hold = new Hold(attempt, grant, now, now + Timing.renewalNanos(LEASE), null);
        client.holds().put(hold);
        return hold;
    }

    /** The commands that were left to the background. */
    List<PendingCommand> commands() {
        List<PendingCommand> commands = new ArrayList<>();
        client.watchdog().commands().forEach(commands::add);
        return commands;
    }

    PendingCommand command() {
        List<PendingCommand> commands = commands();
        if (commands.size() != 1) {
            throw new AssertionError(commands.size() + " commands");
        }
        return commands.get(0);
    }

    /** Answers a command as the watchdog does. */
    void answer(PendingCommand command, String code, Object... values) {
        command.begin();
        command.call(clock.nanoTime(), MILLI);
        command.answered(new Reply(code, List.of(values)), clock.nanoTime());
        command.end();
    }
}
