package io.github.redislocks.testkit.twin;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The keys of one server with their values and expiry. A value is a {@code String}, a {@code LinkedHashMap} or a
 * {@link ScoredSet}. Guarded by the server's lock.
 */
final class Keyspace {

    static final long NEVER = Long.MAX_VALUE;
    private static final AtomicLong RUN_IDS = new AtomicLong(0xabc000);

    private final Map<String, Entry> entries = new HashMap<>();
    private @Nullable List<String> declared;
    private long nowMicros;
    private long startMicros;
    private String runId = newRunId();
    private boolean promoted;
    private boolean replica;

    private static final class Entry {
        private final Object value;
        private long expiryMillis = NEVER;

        Entry(Object value) {
            this.value = value;
        }
    }

    /** A hash, with its fields in the order in which they were added. */
    static final class Hash extends LinkedHashMap<String, String> {
        private static final long serialVersionUID = 1L;
    }

    /**
     * Begins a run at the given time.
     *
     * @param keys the keys that may be touched; null for all keys
     */
    void begin(long micros, @Nullable List<String> keys) {
        nowMicros = micros;
        declared = keys;
        if (startMicros == 0) {
            startMicros = micros;
        }
    }

    private static String newRunId() {
        return Long.toHexString(RUN_IDS.incrementAndGet());
    }

    /** Deletes everything, as a restart of a server without persistence does. */
    void restart() {
        clear();
        startMicros = nowMicros;
        runId = newRunId();
        promoted = false;
    }

    /** Becomes another server: a promoted replica of this server, with the same uptime. */
    void promoteReplica() {
        runId = newRunId();
        promoted = true;
    }

    /** Makes this server a replica, or promotes it. */
    void replica(boolean value) {
        promoted |= replica && !value;
        replica = value;
    }

    boolean isReplica() {
        return replica;
    }

    /** The run id, which differs for each start of each server. */
    String runId() {
        return runId;
    }

    /** Whether this server was a replica and has been promoted. */
    boolean isPromoted() {
        return promoted;
    }

    /** The uptime as Redis computes it: the difference of two times in whole seconds. */
    long uptimeSeconds() {
        return nowMicros / 1_000_000 - startMicros / 1_000_000;
    }

    long nowMicros() {
        return nowMicros;
    }

    long nowMillis() {
        return nowMicros / 1_000;
    }

    boolean exists(String key) {
        return find(key) != null;
    }

    /** Returns a value that differs after any change of a key. */
    String mark(String key) {
        Entry entry = entries.get(key);
        return entry == null || entry.expiryMillis < nowMillis() ? "" : entry.value + " until " + entry.expiryMillis;
    }

    boolean delete(String key) {
        boolean existed = exists(key);
        entries.remove(key);
        return existed;
    }

    void clear() {
        entries.clear();
    }

    List<String> keys() {
        return new ArrayList<>(entries.keySet())
                .stream().filter(this::exists).sorted().toList();
    }

    /**
     * The keys that match. From this call on, the running script may touch any key, since it could not declare the keys
     * that it finds here.
     */
    List<String> scan(Predicate<String> matches) {
        declared = null;
        return keys().stream().filter(matches).toList();
    }

    @Nullable
    String string(String key) {
        return typed(key, String.class);
    }

    @Nullable
    Hash hash(String key) {
        return typed(key, Hash.class);
    }

    @Nullable
    ScoredSet scoredSet(String key) {
        return typed(key, ScoredSet.class);
    }

    Hash hashToWrite(String key) {
        return toWrite(key, Hash.class, Hash::new);
    }

    ScoredSet scoredSetToWrite(String key) {
        return toWrite(key, ScoredSet.class, ScoredSet::new);
    }

    /** Replaces the value of a key, and removes its expiry. */
    void put(String key, Object value) {
        check(key);
        entries.put(key, new Entry(value));
    }

    /** When the key expires; {@link #NEVER} if it does not expire or does not exist. */
    long expiryMillis(String key) {
        Entry entry = find(key);
        return entry == null ? NEVER : entry.expiryMillis;
    }

    /** Sets when a key expires. A time in the past deletes the key. Returns whether the key existed. */
    boolean expireAt(String key, long millis) {
        Entry entry = find(key);
        if (entry == null) {
            return false;
        }
        entry.expiryMillis = millis;
        if (millis <= nowMillis()) {
            entries.remove(key);
        }
        return true;
    }

    /** The time to live of a key in milliseconds; -2 if it does not exist, -1 if it does not expire. */
    long pttl(String key) {
        Entry entry = find(key);
        if (entry == null) {
            return -2;
        }
        return entry.expiryMillis == NEVER ? -1 : entry.expiryMillis - nowMillis();
    }

    private <T> T toWrite(String key, Class<T> type, Supplier<T> empty) {
        T value = typed(key, type);
        if (value == null) {
            value = empty.get();
            entries.put(key, new Entry(value));
        }
        return value;
    }

    private <T> @Nullable T typed(String key, Class<T> type) {
        Entry entry = find(key);
        if (entry == null) {
            return null;
        }
        if (!type.isInstance(entry.value)) {
            throw new CommandException(CommandException.WRONG_TYPE);
        }
        return type.cast(entry.value);
    }

    private @Nullable Entry find(String key) {
        check(key);
        Entry entry = entries.get(key);
        if (entry != null && entry.expiryMillis < nowMillis()) {
            entries.remove(key);
            return null;
        }
        return entry;
    }

    private void check(String key) {
        if (declared != null && !declared.contains(key)) {
            throw new IllegalStateException("The script touches \"" + key + "\", which is not in its KEYS " + declared);
        }
    }
}
