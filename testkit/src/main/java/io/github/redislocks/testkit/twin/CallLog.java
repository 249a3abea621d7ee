package io.github.redislocks.testkit.twin;

import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;

/** A log of the last 10,000 calls of one client, with a count for each script. Initially the log is on. */
public final class CallLog {

    private static final int KEPT_CALLS = 10_000;

    private final ReentrantLock lock = new ReentrantLock();
    private final Deque<LoggedCall> calls = new ArrayDeque<>();
    private final Map<String, Integer> counts = new TreeMap<>();
    private long messages;
    private volatile boolean on = true;

    CallLog() {}

    /** Turns the log on or off. */
    public void turn(boolean value) {
        on = value;
    }

    boolean isOn() {
        return on;
    }

    /** The calls that ran, in their order. */
    public List<LoggedCall> calls() {
        return locked(() -> List.copyOf(calls));
    }

    /** The number of calls that ran, for each script. A call counts even if the client did not get the answer. */
    public Map<String, Integer> counts() {
        return locked(() -> Map.copyOf(counts));
    }

    /** The number of calls of the given scripts that ran. */
    public int count(String... scripts) {
        Map<String, Integer> all = counts();
        return Arrays.stream(scripts)
                .mapToInt(script -> all.getOrDefault(script, 0))
                .sum();
    }

    /** The number of calls and messages that reached the server. */
    public long requests() {
        return locked(
                () -> counts.values().stream().mapToLong(Integer::longValue).sum() + messages);
    }

    /** The number of messages that the client published without a script. */
    public long messages() {
        return locked(() -> messages);
    }

    /** Deletes all entries and counts. */
    public void clear() {
        locked(() -> {
            calls.clear();
            counts.clear();
            messages = 0;
            return messages;
        });
    }

    void add(LoggedCall call) {
        locked(() -> {
            calls.addLast(call);
            if (calls.size() > KEPT_CALLS) {
                calls.removeFirst();
            }
            return counts.merge(call.script(), 1, Integer::sum);
        });
    }

    void addMessage() {
        if (on) {
            locked(() -> ++messages);
        }
    }

    private <T> T locked(Supplier<T> work) {
        lock.lock();
        try {
            return work.get();
        } finally {
            lock.unlock();
        }
    }
}
