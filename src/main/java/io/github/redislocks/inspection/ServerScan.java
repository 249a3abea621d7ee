package io.github.redislocks.inspection;

import io.github.redislocks.LockUnavailableException;
import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.waiting.Attempts;
import java.util.Iterator;
import java.util.NoSuchElementException;

/**
 * A scan of all keys of one server. Each request reads one part, so that the server's other clients do not wait long,
 * and is sent when the caller wants the part. Each reply starts with the cursor of the next part. A cursor is valid for
 * one server process only: if the replies show that the server was restarted or replaced, the scan begins again.
 */
abstract class ServerScan implements Iterator<Reply> {

    /**
     * How often the scan of a server begins, at most: if the server is replaced still more often, the scan is given up.
     */
    static final int MOST_BEGINNINGS = 5;

    private static final String BEGIN_AND_END = "0";

    private final Clock clock;
    private final long timeoutNanos;
    private final Redis server;
    private final Attempts attempts;
    private String cursor = BEGIN_AND_END;
    private boolean begun;
    private String runId = "";
    private int beginnings;

    ServerScan(Clock clock, long timeoutNanos, Redis server, Attempts attempts) {
        this.clock = clock;
        this.timeoutNanos = timeoutNanos;
        this.server = server;
        this.attempts = attempts;
    }

    /** Makes the call for the part that starts at the cursor {@code from}. */
    abstract Call call(String from);

    /** The id of the server process that sent a part; empty if it is not known. */
    String runId(Reply part) {
        return "";
    }

    /** The exception for a part that could not be read. */
    abstract LockUnavailableException unavailable(String address, long triedNanos, RedisException cause);

    @Override
    public final boolean hasNext() {
        return !begun || !cursor.equals(BEGIN_AND_END);
    }

    @Override
    public final Reply next() {
        if (!hasNext()) {
            throw new NoSuchElementException();
        }
        attempts.checkOpen();
        long sent = clock.nanoTime();
        try {
            Reply part = server.run(call(cursor), timeoutNanos);
            begun = true;
            cursor = part.text(0);
            String id = runId(part);
            if (!id.equals(runId)) {
                runId = id;
                beginAgain();
            }
            return part;
        } catch (RedisException e) {
            attempts.checkOpen();
            throw unavailable(server.address(), clock.nanoTime() - sent, e);
        }
    }

    /** Handles a changed run id: begins the scan again, unless this was the first part of the scan. */
    private void beginAgain() {
        if (beginnings++ > 0) {
            begun = false;
            cursor = BEGIN_AND_END;
        }
        if (beginnings > MOST_BEGINNINGS) {
            throw new RedisException.Unanswered("it was another server than before each time", true, null);
        }
    }
}
