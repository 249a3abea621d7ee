package io.github.redislocks.client;

import io.github.redislocks.residency.Residences;
import io.github.redislocks.shared.Shares;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.WaitLimit;
import io.github.redislocks.waiting.Downgrade;
import io.github.redislocks.waiting.Wanted;
import org.jspecify.annotations.Nullable;

/** Passes on that somebody wants a lock, which this client may keep for its threads, or share as a reader. */
record WantedLocks(Residences residences, Shares shares) implements Wanted {

    @Override
    public void byWaiter(String lock, long attempt) {
        residences.byWaiter(lock, attempt);
        shares.byWaiter(lock, attempt);
    }

    @Override
    public void byTry(String lock, String clientId, long attempt) {
        shares.byTry(lock, () -> residences.byTry(lock, clientId, attempt));
    }

    @Override
    public boolean byWriter(LockKeys keys, WaitLimit limit) {
        return shares.byWriter(keys, limit);
    }

    @Override
    public @Nullable Downgrade byRelease(Hold hold) {
        return shares.byRelease(hold);
    }

    @Override
    public void byAttempt(LockKeys keys) {
        residences.byAttempt(keys);
    }
}
