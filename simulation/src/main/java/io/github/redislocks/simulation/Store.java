package io.github.redislocks.simulation;

import java.util.HashMap;
import java.util.Map;

/**
 * A store of things that callers give to each other under the locks. A caller that finds the store empty waits in a
 * Condition, without a time limit. If the caller goes on waiting although the store is not empty, a signal was lost.
 */
final class Store {

    /** The name of the Condition in which callers wait. */
    static final String CONDITION = "store";

    private final Map<String, Integer> things = new HashMap<>();

    boolean isEmpty(String name) {
        return things.getOrDefault(name, 0) <= 0;
    }

    /** Adds a thing. The caller must hold the lock, and signal after that. */
    void add(String name) {
        things.merge(name, 1, Integer::sum);
    }

    /** Takes a thing; or takes a thing back whose signal failed. */
    void take(String name) {
        things.merge(name, -1, Integer::sum);
    }
}
