package io.github.redislocks.simulation;

import io.github.redislocks.simulation.boot.Simulated;
import java.util.HashMap;
import java.util.Map;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;

/**
 * What the callers of all clients do under the locks, and whether that may be: exclusion and tokens, as callers see
 * them.
 */
final class Ledger {

    /** One possession of one lock, as its caller knows it. */
    static final class Possession {
        private final String name;
        private final String by;
        private final long sinceNanos;
        private long token;

        private Possession(String name, String by, long sinceNanos) {
            this.name = name;
            this.by = by;
            this.sinceNanos = sinceNanos;
        }
    }

    private final World world;
    private final Server server;
    private final Map<String, Possession> latest = new HashMap<>();
    private final Map<String, Long> lastToken = new HashMap<>();
    private int acquired;

    Ledger(World world, Server server) {
        this.world = world;
        this.server = server;
    }

    /** A caller has acquired a lock; its token counts if it holds the lock still. */
    Possession acquired(String name, String by, BooleanSupplier isHeld, LongSupplier token) {
        return atOnce(() -> {
            Possession possession = new Possession(name, by, world.now());
            acquired++;
            if (isHeld.getAsBoolean()) {
                latest.put(name, possession);
                possession.token = token.getAsLong();
                check(name, by, possession.token);
            }
            return possession;
        });
    }

    private void check(String name, String by, long token) {
        world.event("%s has %s with token %d", by, name, token);
        Long before = lastToken.put(name, token);
        if (before != null && before >= token && server.isPromised(name, token) && !server.mayForgetTokens()) {
            world.fail("token " + token + " of " + name + " after " + before);
        }
    }

    /** A caller is about to release: if it still holds the lock, nobody else may have come to it. */
    void leaves(Possession possession, BooleanSupplier isHeld) {
        atOnce(() -> {
            Possession last = latest.get(possession.name);
            if (isHeld.getAsBoolean()
                    && last != possession
                    && last != null
                    && last.sinceNanos > possession.sinceNanos
                    && server.isPromised(possession.name, Math.min(possession.token, last.token))) {
                world.fail(String.format(
                        "%s holds %s still, and %s acquired it %.3f ms ago",
                        possession.by, possession.name, last.by, (world.now() - last.sinceNanos) / 1e6));
            }
            return null;
        });
    }

    int acquired() {
        return acquired;
    }

    private interface Looking<T> {
        T look();
    }

    /** Looks without being preempted. */
    private static <T> T atOnce(Looking<T> looking) {
        Simulated.mask();
        try {
            return looking.look();
        } finally {
            Simulated.unmask();
        }
    }
}
