package io.github.redislocks.waiting;

import io.github.redislocks.state.Attempt;
import org.jspecify.annotations.Nullable;

/** Receives what the messages of a {@link Mailbox} say, on the thread that reads them. */
public interface Messages {

    /** The attempt with a number; null if it is not under way. */
    @Nullable
    Attempt attempt(long number);

    /** The mailbox is open; {@code again} says that it was open before, so that messages may have been missed. */
    void opened(boolean again);

    /** An attempt that is not under way any more was granted the lock. */
    void grantedToNobody(long attempt);

    /** An attempt may have been granted the lock. The message does not prove the grant, so the attempt has to ask. */
    void doubted(Attempt attempt);

    /** The hold with this attempt and token was forced open. */
    void forced(long attempt, long token);

    /** The listener for messages that want a lock which this client may keep. */
    Wanted wanted();
}
