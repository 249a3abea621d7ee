package io.github.redislocks;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What can be asked of a lock, and done to it, by threads that need not hold it. */
final class Queries {

    private final Client client;
    private final Keys keys;

    Queries(Client client, Keys keys) {
        this.client = client;
        this.keys = keys;
    }

    LockInspection inspect() {
        return LockInspection.of(keys.name(), ask(Protocol.inspect(keys)));
    }

    /** The threads of this client that wait for the lock, or are about to learn that it is theirs. */
    List<Thread> queuedThreads() {
        List<Thread> threads = new ArrayList<>();
        for (Attempt attempt : client.attempts.values()) {
            if (attempt.waits
                    && attempt.condition == null
                    && attempt.keys.lock().equals(keys.lock())) {
                threads.add(attempt.owner.thread);
            }
        }
        return threads;
    }

    /** The threads of this client that wait in a Condition. */
    List<Thread> waitingThreads(RedisCondition condition) {
        List<Thread> threads = new ArrayList<>();
        for (Attempt attempt : client.attempts.values()) {
            if (condition.equals(attempt.condition)) {
                threads.add(attempt.owner.thread);
            }
        }
        return threads;
    }

    boolean isLocked() {
        return ask(Protocol.locked(keys)).is("LOCKED");
    }

    boolean forceUnlock() {
        Reply seen = ask(Protocol.locked(keys));
        if (seen.is("FREE")) {
            return false;
        }
        String token = seen.text(0);
        if (!ask(Protocol.force(keys, token)).is("GONE")) {
            endHere(token);
        }
        return true;
    }

    /** Ends the hold if it is one of this client, which is not to believe in it until its next renewal. */
    private void endHere(String token) {
        for (Hold hold : client.holds.all()) {
            if (hold.lock().equals(keys.lock()) && Long.toString(hold.token).equals(token)) {
                client.lose(hold, LockLost.Reason.TAKEN);
            }
        }
    }

    private Reply ask(Call call) {
        client.checkOpen();
        long sent = client.clock.nanoTime();
        try {
            return client.run(call, client.options.commandTimeoutNanos());
        } catch (RedisException e) {
            throw client.unavailable.toDo(
                    keys,
                    "could not be looked at",
                    "If it was to be forced, that may have been done.",
                    client.clock.nanoTime() - sent,
                    e);
        }
    }

    /** The thread of this JVM that holds the lock, as far as this client knows, or null. */
    @Nullable
    Thread localOwner() {
        for (Hold hold : client.holds.all()) {
            if (hold.lock().equals(keys.lock()) && client.isValid(hold)) {
                return hold.thread();
            }
        }
        return null;
    }
}
