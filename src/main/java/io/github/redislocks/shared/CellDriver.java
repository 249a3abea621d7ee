package io.github.redislocks.shared;

import io.github.redislocks.state.Held;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.WaitLimit;
import io.github.redislocks.waiting.BatchDriver;
import io.github.redislocks.waiting.Driver;
import io.github.redislocks.waiting.Step;
import org.jspecify.annotations.Nullable;

/**
 * Drives the acquisition of a read lock by a handle, without a thread that waits. The handle waits in its cell as a
 * thread does, and may become the asker.
 */
final class CellDriver implements Driver {

    private final Entrance entrance;
    private final Cell cell;
    private final WaitLimit limit;
    /** The request for a share on behalf of all that wait; null while the handle does not ask. */
    private @Nullable BatchDriver asking;

    private boolean asked;

    CellDriver(Entrance entrance, Cell cell, WaitLimit limit) {
        this.entrance = entrance;
        this.cell = cell;
        this.limit = limit;
    }

    @Override
    public void begin() {
        entrance.waits(cell);
    }

    @Override
    public long advance() throws InterruptedException {
        while (true) {
            long next = asking == null ? entrance.next(cell, limit, entrance.clock.nanoTime()) : advance(asking);
            if (next == Step.ASK) {
                asked = true;
                asking = entrance.asks(limit);
            } else if (next == Step.ENDED) {
                leaveIfOut();
                return Step.ENDED;
            } else if (next != 0) {
                return next;
            }
        }
    }

    /** Goes on with the request for a share; returns the same as {@link Entrance#next}. */
    private long advance(BatchDriver request) throws InterruptedException {
        try {
            long pause = request.advance();
            Hold hold = request.hold();
            if (hold != null) {
                begin(hold);
                return Step.ENDED;
            }
            if (pause == Step.ENDED) {
                endAsking();
            }
            return pause;
        } catch (Shares.Superseded e) {
            // A downgrade of this client makes the share, and lets this handle in.
            request.abandon();
            endAsking();
            return 0;
        }
    }

    private void begin(Hold hold) {
        // Forget the request: the share now belongs to all readers, so an error of this handle must not end the share.
        asking = null;
        try {
            entrance.begin(cell, hold);
        } finally {
            entrance.endsAsking();
        }
    }

    private void endAsking() {
        asking = null;
        entrance.endsAsking();
    }

    /** Ends the wait if the handle was not let in. */
    private void leaveIfOut() {
        if (cell.waitsNoMore()) {
            entrance.giveUp(cell);
            entrance.checkOutage(asked, limit);
        }
    }

    @Override
    public @Nullable Held hold() {
        return asking == null ? cell.entered(asked) : null;
    }

    @Override
    public boolean cancel() {
        if (asking != null) {
            if (!asking.cancel()) {
                return false;
            }
            endAsking();
        }
        entrance.giveUp(cell);
        return true;
    }

    @Override
    public void abandon() {
        try {
            if (asking != null) {
                asking.abandon();
            }
        } finally {
            end();
        }
    }

    @Override
    public void strand() {
        try {
            if (asking != null) {
                asking.strand();
            }
        } finally {
            end();
        }
    }

    private void end() {
        try {
            if (asking != null) {
                endAsking();
            }
        } finally {
            entrance.giveUp(cell);
        }
    }
}
