package io.github.redislocks.redis;

import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.util.JedisClusterCRC16;

/**
 * Who has each slot of a cluster, as far as is known; immutable. Whoever takes a slot over has a greater epoch than
 * everybody before, so that of two who claim it the greater one is believed: a node that was cut off and comes back
 * with old news leads nobody back.
 */
final class Slots {

    static final int COUNT = 16_384;
    static final Slots UNKNOWN = new Slots(new Held[COUNT]);

    /** A claim that any other overrules. */
    private static final long DENIED = -1;

    private record Held(ClusterNode owner, long epoch) {}

    private final @Nullable Held[] slots;

    private Slots(@Nullable Held[] slots) {
        this.slots = slots;
    }

    static int of(String key) {
        return JedisClusterCRC16.getSlot(key);
    }

    @Nullable
    ClusterNode owner(int slot) {
        Held held = slots[slot];
        return held == null ? null : held.owner;
    }

    Set<ClusterNode> owners() {
        Set<ClusterNode> owners = new LinkedHashSet<>();
        for (Held held : slots) {
            if (held != null) {
                owners.add(held.owner);
            }
        }
        return owners;
    }

    /** With what a node says; this very object if that is nothing new. */
    Slots heard(ClusterView view) {
        @Nullable Held[] next = slots.clone();
        for (ClusterView.Claim claim : view.claims()) {
            Held held = new Held(claim.owner(), claim.epoch());
            for (int slot = claim.first(); slot <= claim.last(); slot++) {
                Held known = slots[slot];
                if (known == null || claim.epoch() >= known.epoch) {
                    next[slot] = held.equals(known) ? known : held;
                }
            }
        }
        return Arrays.equals(slots, next) ? this : new Slots(next);
    }

    /**
     * After an owner has said himself that the slot is not his. Otherwise a cluster whose epochs begin anew, because
     * somebody has reset it, would not be believed.
     */
    Slots denied(int slot, ClusterNode owner) {
        Held held = slots[slot];
        if (held == null || !held.owner.equals(owner)) {
            return this;
        }
        @Nullable Held[] next = slots.clone();
        next[slot] = new Held(owner, DENIED);
        return new Slots(next);
    }

    /** As if nobody had the slots of these. */
    Slots without(Set<ClusterNode> owners) {
        @Nullable Held[] next = slots.clone();
        for (int slot = 0; slot < COUNT; slot++) {
            Held held = next[slot];
            if (held != null && owners.contains(held.owner)) {
                next[slot] = null;
            }
        }
        return new Slots(next);
    }
}
