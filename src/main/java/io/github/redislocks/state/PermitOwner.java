package io.github.redislocks.state;

import io.github.redislocks.LockLost;
import java.util.function.Consumer;

/** A handle as the owner of some permits of a pool. */
public final class PermitOwner extends HandleOwner {

    /** How many permits the owner wants. */
    public final int count;

    private final PermitPool pool;
    /** The numbers of the permits, as Redis sent them; empty until the permits are held. */
    private volatile String numbers = "";

    /** Makes the owner for a handle, as {@link HandleOwner} does. */
    public PermitOwner(
            String clientId, long number, Object handle, Consumer<LockLost> onLost, PermitPool pool, int count) {
        super(clientId, number, handle, onLost);
        this.pool = pool;
        this.count = count;
    }

    public PermitPool pool() {
        return pool;
    }

    @Override
    public void granted(String numbers) {
        this.numbers = numbers;
    }

    /** The numbers of the permits, separated by blanks. */
    public String numbers() {
        return numbers;
    }
}
