package io.github.redislocks.redis.cluster;

import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The known master of each slot of a cluster. Immutable. A master that takes over a slot has a greater epoch than all
 * masters before. So the map believes the claim with the greater epoch, and a node that was cut off and returns with
 * old data misleads no call.
 */
public final class SlotMap {

    public static final int COUNT = 16_384;
    public static final SlotMap UNKNOWN = new SlotMap(new Held[COUNT]);

    /** Less than every epoch: every claim overrules a claim with this one. */
    private static final long DENIED = -1;

    private record Held(ClusterNode owner, long epoch) {}

    private final @Nullable Held[] slots;

    private SlotMap(@Nullable Held[] slots) {
        this.slots = slots;
    }

    @Nullable
    public ClusterNode owner(int slot) {
        Held held = slots[slot];
        return held == null ? null : held.owner;
    }

    public Set<ClusterNode> owners() {
        Set<ClusterNode> owners = new LinkedHashSet<>();
        for (Held held : slots) {
            if (held != null) {
                owners.add(held.owner);
            }
        }
        return owners;
    }

    /**
     * Returns the map with the claims of a view added; returns this map if the claims change nothing. Two masters may
     * claim a slot with the same epoch, for instance after a CLUSTER FAILOVER TAKEOVER on one side of a split cluster.
     * If both live, one soon gets a greater epoch. Until then the known master stays, unless it is silent.
     */
    public SlotMap with(ClusterView view, Predicate<ClusterNode> silent) {
        @Nullable Held[] next = slots.clone();
        for (ClusterView.Claim claim : view.claims()) {
            Held held = new Held(claim.owner(), claim.epoch());
            for (int slot = claim.first(); slot <= claim.last(); slot++) {
                Held known = slots[slot];
                if (known == null || overrules(claim, known, silent)) {
                    next[slot] = held.equals(known) ? known : held;
                }
            }
        }
        return Arrays.equals(slots, next) ? this : new SlotMap(next);
    }

    private static boolean overrules(ClusterView.Claim claim, Held known, Predicate<ClusterNode> silent) {
        if (claim.epoch() != known.epoch) {
            return claim.epoch() > known.epoch;
        }
        return claim.owner().id().equals(known.owner.id()) || silent.test(known.owner);
    }

    /**
     * Returns the map after a slot's master has replied that it does not have the slot. From then on every other claim
     * to the slot is believed: an administrator may have moved the slot to a master with a lesser epoch.
     */
    public SlotMap denied(int slot, ClusterNode owner) {
        Held held = slots[slot];
        if (held == null || !held.owner.equals(owner)) {
            return this;
        }
        @Nullable Held[] next = slots.clone();
        next[slot] = new Held(owner, DENIED);
        return new SlotMap(next);
    }

    /** Returns the map without the slots of these masters. */
    public SlotMap without(Set<ClusterNode> owners) {
        @Nullable Held[] next = slots.clone();
        for (int slot = 0; slot < COUNT; slot++) {
            Held held = next[slot];
            if (held != null && owners.contains(held.owner)) {
                next[slot] = null;
            }
        }
        return new SlotMap(next);
    }
}
