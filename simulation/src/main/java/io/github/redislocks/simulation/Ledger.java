package io.github.redislocks.simulation;

import io.github.redislocks.simulation.boot.Simulated;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;

/** Records what the callers of all clients do under the locks, and checks exclusion and tokens as callers see them. */
final class Ledger {

    /** A hold of a lock, as its caller knows it. */
    static final class Possession {
        private final String name;
        private final String by;
        private final Client client;
        private long sinceNanos;
        private long token;
        /** How the last call of the caller ended the possession; null if none did. */
        private Events.State end;
        /** Whether the caller has asked its handle for the news of a loss, and whether that has come. */
        private boolean asked;

        private boolean reportedLost;

        private Possession(String name, String by, Client client) {
            this.name = name;
            this.by = by;
            this.client = client;
        }

        /** Notes that the caller has asked its handle for the news of a loss. */
        void asksForLoss() {
            asked = true;
        }

        /** Notes that the news of the loss has come. */
        void reportsLoss() {
            reportedLost = true;
        }
    }

    private record Retained(long token, long next) {}

    /** Redis counts the lives of keys in milliseconds. */
    private static final long ROUNDED_MICROS = 2_000;

    private final World world;
    private final Server server;
    private final List<Possession> all = new ArrayList<>();
    private final Map<String, Possession> latest = new HashMap<>();
    private final Map<String, Long> lastToken = new HashMap<>();
    /** The last hold of each lock of which the handle lets the lock stay taken, and the first token thereafter. */
    private final Map<String, Retained> retained = new HashMap<>();

    private int acquired;

    Ledger(World world, Server server) {
        this.world = world;
        this.server = server;
    }

    /** A caller has acquired a lock; its token counts if it holds the lock still. */
    Possession acquired(String name, String by, Client client, BooleanSupplier isHeld, LongSupplier token) {
        Possession possession = new Possession(name, by, client);
        all.add(possession);
        cameBack(possession, isHeld, token);
        return possession;
    }

    /** A caller has the lock again that it gave up in a Condition, with another token. */
    void cameBack(Possession possession, BooleanSupplier isHeld, LongSupplier token) {
        atOnce(() -> {
            acquired++;
            long before = possession.token;
            possession.token = 0;
            if (isHeld.getAsBoolean()) {
                possession.token = token.getAsLong();
                // Else it was not given up: an interrupt came first.
                if (possession.token != before) {
                    possession.sinceNanos = world.now();
                    latest.put(possession.name, possession);
                    check(possession.name, possession.by, possession.token);
                }
            }
            log(possession, "IN");
            return null;
        });
    }

    /** Notes that a caller has released a possession, or was notified then of its loss. */
    void ended(Possession possession, boolean released) {
        possession.end = released ? Events.State.RELEASED : Events.State.LOST;
        log(possession, released ? "FREED" : "LOST");
    }

    /** Notes that a released lock has to stay taken until a time after Redis gave it, which its token tells. */
    void retains(Possession possession, Duration least) {
        if (possession.token != 0) {
            long next = possession.token + least.toNanos() / 1000 - ROUNDED_MICROS;
            retained.put(possession.name, new Retained(possession.token, next));
        }
    }

    private void log(Possession possession, String kind) {
        world.log(possession.client.toString(), possession.by, kind, possession.name, possession.token, "");
    }

    private void check(String name, String by, long token) {
        world.event("%s has %s with token %d", by, name, token);
        Long before = lastToken.put(name, token);
        if (before != null && before >= token && server.isPromised(name, token) && !server.mayRepeatTokens(name)) {
            world.fail("token " + token + " of " + name + " after " + before);
        }
        Retained last = retained.get(name);
        if (last != null
                && token > last.token
                && token < last.next
                && server.isPromised(name, last.token)
                && !server.hasOddTokens()) {
            world.fail("token " + token + " of " + name + ", which is taken until " + last.next);
        }
    }

    /** A caller is about to release: if it still holds the lock, nobody else may have come to it. */
    void leaves(Possession possession, BooleanSupplier isHeld) {
        atOnce(() -> {
            log(possession, "OUT");
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

    /** Callers, listeners and handles have to agree on the end of each possession, once all clients are closed. */
    void checkTold() {
        for (Possession each : all) {
            if (each.token != 0 && each.client.isClosed() && !server.mayRepeatTokens(each.name)) {
                Events.State heard = each.client.events.endOf(each.name, each.token);
                if (each.end != null && each.end != heard && !each.client.events.mayHearLate(each.end, heard)) {
                    world.fail(each.by + " has " + each.end + " " + each.name + " with token " + each.token
                            + ", and its listener " + heard);
                }
                if (each.asked && each.reportedLost != (heard == Events.State.LOST)) {
                    world.fail(each.by + ": the handle of " + each.name + " with token " + each.token + " told "
                            + (each.reportedLost ? "a loss" : "no loss") + ", and the listener was told " + heard);
                }
            }
        }
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
