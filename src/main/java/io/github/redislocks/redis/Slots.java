package io.github.redislocks.redis;

import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.function.Predicate;
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

    /**
     * With what a node says; this very object if that is nothing new. Two who claim a slot by the same epoch, as after
     * a CLUSTER FAILOVER TAKEOVER on one side of a cut cluster, soon agree on a greater one if both live: until then
     * the one that is known stays, unless it is silent.
     */
    Slots heard(ClusterView view, Predicate<ClusterNode> silent) {
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
        return Arrays.equals(slots, next) ? this : new Slots(next);
    }

    private static boolean overrules(ClusterView.Claim claim, Held known, Predicate<ClusterNode> silent) {
        if (claim.epoch() != known.epoch) {
            return claim.epoch() > known.epoch;
        }
        return claim.owner().id().equals(known.owner.id()) || silent.test(known.owner);
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
