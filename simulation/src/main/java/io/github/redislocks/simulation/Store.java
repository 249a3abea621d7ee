package io.github.redislocks.simulation;

import java.util.HashMap;
import java.util.Map;

/**
 * A store of things that callers give to one another under the locks. A caller that finds the store empty waits in a
 * Condition, without a time limit. If it goes on waiting though something is there, a signal was lost.
 */
final class Store {

    /** The Condition of each lock in which callers wait. */
    static final String CONDITION = "store";

    private final Map<String, Integer> things = new HashMap<>();

    boolean isEmpty(String name) {
        return things.getOrDefault(name, 0) <= 0;
    }

    /** Adds one thing. Only who holds the lock, and who signals after it. */
    void add(String name) {
        things.merge(name, 1, Integer::sum);
    }

    /** Takes one thing, or takes back one of which nobody could be told. */
    void take(String name) {
        things.merge(name, -1, Integer::sum);
    }
}
