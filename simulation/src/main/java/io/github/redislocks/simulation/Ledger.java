package io.github.redislocks.simulation;

import io.github.redislocks.PermitHandle;
import io.github.redislocks.simulation.boot.Simulated;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;

/** Records what the callers of all clients do under the locks. Checks exclusion and tokens as the callers see them. */
final class Ledger {

    /** A hold of a lock, as the caller knows it. */
    static final class Possession {
        private final String name;
        /** The parts of the lock or pool that belong to nobody else meanwhile: the lock itself, or permits. */
        private final List<String> parts;

        private final String by;
        private final Client client;
        private long sinceNanos;
        private long token;
        /** How the caller's last call ended the possession; null if no call did. */
        private Events.State end;
        /**
         * Whether the caller has called {@code lost()} of its handle, and, in the next field, whether the loss was
         * reported.
         */
        private boolean asked;

        private boolean reportedLost;

        private Possession(String name, List<String> parts, String by, Client client) {
            this.name = name;
            this.parts = parts;
            this.by = by;
            this.client = client;
        }

        /** Notes that the caller has called {@code lost()} of its handle. */
        void asksForLoss() {
            asked = true;
        }

        /** Notes that the handle has reported the loss. */
        void reportsLoss() {
            reportedLost = true;
        }
    }

    private record Retained(long token, long next) {}

    /** A tolerance, since Redis counts the time to live of keys in milliseconds. */
    private static final long ROUNDED_MICROS = 2_000;

    private final World world;
    private final Server server;
    private final List<Possession> all = new ArrayList<>();
    private final Map<String, Possession> latest = new HashMap<>();
    private final Map<String, Long> lastToken = new HashMap<>();
    /** For each lock, the latest possession of a reader, and those of the present readers. */
    private final Map<String, Possession> latestReader = new HashMap<>();

    private final Set<Possession> readers = new HashSet<>();
    /** For each lock, the last hold that was released by {@code releaseAfter}, and the first token after it. */
    private final Map<String, Retained> retained = new HashMap<>();

    private int acquired;

    Ledger(World world, Server server) {
        this.world = world;
        this.server = server;
    }

    /** Notes that a caller has acquired a lock. The token counts if the caller still holds the lock. */
    Possession acquired(String name, String by, Client client, BooleanSupplier isHeld, LongSupplier token) {
        Possession possession = new Possession(name, List.of(name), by, client);
        all.add(possession);
        cameBack(possession, isHeld, token);
        return possession;
    }

    /** Notes that a caller has got permits. */
    Possession takes(PermitHandle handle, String by, Client client) {
        List<String> parts =
                handle.numbers().stream().map(number -> "permit " + number).toList();
        Possession possession = new Possession(handle.name(), parts, by, client);
        all.add(possession);
        cameBack(possession, handle::isHeld, handle::fencingToken);
        return possession;
    }

    /** Notes that a caller reads. The version is the token of the last writer. */
    Possession reads(String name, String by, Client client, BooleanSupplier isHeld, LongSupplier version) {
        Possession possession = new Possession(name, List.of(), by, client);
        all.add(possession);
        return atOnce(() -> {
            acquired++;
            if (isHeld.getAsBoolean()) {
                possession.token = version.getAsLong();
                possession.sinceNanos = world.now();
                readers.add(possession);
                latestReader.put(name, possession);
                world.event("%s reads %s, version %d", by, name, possession.token);
                Long before = lastToken.put(name, possession.token);
                if (before != null
                        && before > possession.token
                        && server.isPromised(name)
                        && !server.mayRepeatTokens(name)) {
                    world.fail("version " + possession.token + " of " + name + " after the token " + before);
                }
            }
            log(possession, "IN");
            return possession;
        });
    }

    /** Called before a reader unlocks. Checks that nobody wrote if the caller still reads. */
    void stopsReading(Possession possession, BooleanSupplier isHeld, LongSupplier version) {
        atOnce(() -> {
            log(possession, "OUT");
            readers.remove(possession);
            if (isHeld.getAsBoolean() && server.isPromised(possession.name)) {
                checkOther(possession, latest.get(possession.name));
                if (possession.token != 0 && possession.token != version.getAsLong()) {
                    world.fail(possession.by + " reads another version of " + possession.name + " than before");
                }
            }
            return null;
        });
    }

    /** Whether a caller of a running process reads under a lock. */
    boolean isRead(String name) {
        return readers.stream().anyMatch(each -> each.name.equals(name) && !world.isKilled(each.client.number));
    }

    /** Notes that a caller has the lock again after a wait in a Condition, with another token. */
    void cameBack(Possession possession, BooleanSupplier isHeld, LongSupplier token) {
        atOnce(() -> {
            acquired++;
            long before = possession.token;
            possession.token = 0;
            if (isHeld.getAsBoolean()) {
                possession.token = token.getAsLong();
                // With the same token, the lock was not given up: an interrupt came first.
                if (possession.token != before) {
                    possession.sinceNanos = world.now();
                    for (String part : possession.parts) {
                        latest.put(part, possession);
                        check(possession, part);
                    }
                }
            }
            log(possession, "IN");
            return null;
        });
    }

    /** Notes that a caller has released a possession, or that the release has reported its loss. */
    void ended(Possession possession, boolean released) {
        possession.end = released ? Events.State.RELEASED : Events.State.LOST;
        log(possession, released ? "FREED" : "LOST");
    }

    /**
     * Notes that a released lock has to stay taken for the given time after its grant. The token contains the time of
     * the grant.
     */
    void retains(Possession possession, Duration least) {
        if (possession.token != 0) {
            long next = possession.token + least.toNanos() / 1000 - ROUNDED_MICROS;
            retained.put(possession.name, new Retained(possession.token, next));
        }
    }

    private void log(Possession possession, String kind) {
        world.log(possession.client.toString(), possession.by, kind, possession.name, possession.token, "");
    }

    private void check(Possession possession, String part) {
        String name = possession.name;
        long token = possession.token;
        world.event("%s has %s with token %d", possession.by, part, token);
        Long before = lastToken.put(part, token);
        if (before != null && before >= token && server.isPromised(name, token) && !server.mayRepeatTokens(name)) {
            world.fail("token " + token + " of " + part + " after " + before);
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

    /** Called before a release. Checks that nobody else got the lock if the caller still holds it. */
    void leaves(Possession possession, BooleanSupplier isHeld) {
        atOnce(() -> {
            log(possession, "OUT");
            if (isHeld.getAsBoolean()) {
                for (String part : possession.parts) {
                    Possession last = latest.get(part);
                    if (last != null && server.isPromised(possession.name, Math.min(possession.token, last.token))) {
                        checkOther(possession, last);
                    }
                }
                if (server.isPromised(possession.name)) {
                    checkOther(possession, latestReader.get(possession.name));
                }
            }
            return null;
        });
    }

    /** Fails if the other possession began after this one, which has not ended yet. */
    private void checkOther(Possession possession, Possession last) {
        if (last != null && last != possession && last.sinceNanos > possession.sinceNanos) {
            world.fail(String.format(
                    "%s holds %s still, and %s acquired it %.3f ms ago",
                    possession.by, possession.name, last.by, (world.now() - last.sinceNanos) / 1e6));
        }
    }

    /**
     * Checks that callers, listeners and handles agree on the end of each possession. Call when all clients are closed.
     */
    void checkTold() {
        if (server.isShared()) {
            checkCounts();
            return;
        }
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

    /**
     * Checks that listeners heard of at least as many ends of each kind as callers saw. Readers of one phase have the
     * same token, so their possessions cannot be told apart.
     */
    private void checkCounts() {
        Map<String, Integer> counts = new HashMap<>();
        for (Possession each : all) {
            if (each.token != 0 && each.client.isClosed() && each.client.isHeard() && each.end != null) {
                String end = each.end + " " + each.name + "/" + each.token;
                int seen = counts.merge(each.client + " " + end, 1, Integer::sum);
                if (each.client.events.count(each.name, each.token, each.end) < seen) {
                    world.fail(each.by + " has " + end + ", and its listener does not know");
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

    /** Returns what {@code looking} finds, without a preemption meanwhile. */
    private static <T> T atOnce(Looking<T> looking) {
        Simulated.mask();
        try {
            return looking.look();
        } finally {
            Simulated.unmask();
        }
    }
}
