package io.github.redislocks.simulation;

import io.github.redislocks.state.LockKeys;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;

/** The turns of the readers and the writers of one lock, as Redis has them. */
final class Order {

    private final World world;
    private final Node node;
    private final LockKeys keys;
    private final Predicate<String> listens;
    /** For each place of a share, the token of the first writer since the share came; empty if there was none. */
    private final Map<String, String> writerSince = new HashMap<>();

    /** The token of the writer that has the lock; empty if none has it. */
    private String writer = "";
    /** The number of the read phase; empty if a writer came after the last one. */
    private String phase = "";
    /** The shares of the read phase at the last look. */
    private Set<String> readers = Set.of();
    /** The writer that was the first in line at the last look; empty if none was in line. */
    private String first = "";

    private long writtenUntil;

    /**
     * Makes an observer.
     *
     * @param listens whether messages reach a client; without them its shares wait for their heartbeats
     */
    Order(World world, Node node, LockKeys keys, Predicate<String> listens) {
        this.listens = listens;
        this.world = world;
        this.node = node;
        this.keys = keys;
    }

    /** Whether clients read now. */
    boolean isReading() {
        return LockKeys.READERS.equals(lock().get("owner"));
    }

    /** Whether no writer has the lock or waits in line. */
    boolean isReadable() {
        String owner = lock().get("owner");
        return (owner == null || owner.equals(LockKeys.READERS))
                && firstWriter().isEmpty();
    }

    /** The attempt of the share that a client has; null if it has none. */
    Long shareOf(String client) {
        String share = lock().get("s:" + client);
        return isLive(share) ? Long.valueOf(share.split(" ")[0]) : null;
    }

    /** Whether a share waits. */
    boolean isAwaited() {
        return node.redis.hash(keys.shares()).values().stream().anyMatch(this::isLive);
    }

    /** Until when a writer had the lock or was in line, as far as {@link #look} has seen. */
    long writtenUntil() {
        return writtenUntil;
    }

    /** Notes that somebody has ended or deleted what Redis has: the turns begin anew. */
    void broken() {
        phase = "";
        writerSince.clear();
    }

    private Map<String, String> lock() {
        return node.redis.hash(keys.lock());
    }

    private boolean isLive(String share) {
        return share != null && Long.parseLong(share.split(" ")[1]) >= node.micros();
    }

    private String firstWriter() {
        return node.redis.zset(keys.queue()).entrySet().stream()
                .min(Map.Entry.comparingByValue())
                .map(Map.Entry::getKey)
                .orElse("");
    }

    /**
     * Looks after a request, in a schedule without faults. Fails if a share that waits is passed over by a second
     * writer, or if readers pass over the first writer in line for a second time.
     */
    void look() {
        if (!isReadable()) {
            writtenUntil = Long.MAX_VALUE;
        } else if (writtenUntil == Long.MAX_VALUE) {
            writtenUntil = world.now();
        }
        Map<String, String> lock = lock();
        writer = isReading() ? "" : lock.getOrDefault("token", "");
        if (isReading()) {
            checkTurn(lock.get("attempt"));
        } else if (!writer.isEmpty()) {
            phase = "";
        }
        checkShares();
        first = firstWriter();
    }

    /** Checks that readers neither begin a second phase nor join the present one while a writer is in line. */
    private void checkTurn(String next) {
        Set<String> present = new HashSet<>();
        lock().forEach((field, text) -> {
            if (field.startsWith("s:")) {
                present.add(field + " " + text.split(" ")[0]);
            }
        });
        boolean waits = !first.isEmpty() && first.equals(firstWriter());
        if (waits && !phase.isEmpty() && !(phase.equals(next) && readers.containsAll(present))) {
            world.fail("readers pass over the writer " + first + " of " + keys.lock());
        }
        phase = next;
        readers = present;
    }

    private void checkShares() {
        Set<String> places = new HashSet<>();
        node.redis.hash(keys.shares()).forEach((client, text) -> {
            if (isLive(text) && listens.test(client)) {
                places.add(client + " " + text.split(" ")[0]);
            }
        });
        writerSince.keySet().retainAll(places);
        for (String place : places) {
            String before = writerSince.getOrDefault(place, "");
            if (!before.isEmpty() && !writer.isEmpty() && !before.equals(writer)) {
                world.fail("a writer passes over the share " + place + " of " + keys.lock());
            }
            writerSince.put(place, before.isEmpty() ? writer : before);
        }
    }
}
