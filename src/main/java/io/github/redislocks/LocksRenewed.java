package io.github.redislocks;

import java.util.List;
import java.util.Map;

/**
 * The event of {@link LockListener#renewed}: Redis has confirmed renewals of holds. Renewals in quick succession are
 * one event.
 *
 * <pre>{@code
 * public void renewed(LocksRenewed event) {
 *     renewals.add(event.count());
 * }
 * }</pre>
 *
 * @since 0.1.0
 */
public final class LocksRenewed extends LockEvent {

    private final long count;

    private LocksRenewed(long count) {
        this.count = count;
    }

    /** Makes an event, for tests of listeners. */
    public static LocksRenewed of(long count) {
        return new LocksRenewed(count);
    }

    /** The number of confirmed renewals. A hold that was renewed twice counts twice. */
    public long count() {
        return count;
    }

    @Override
    List<Map.Entry<String, Object>> values() {
        return List.of(Map.entry("count", count));
    }
}
