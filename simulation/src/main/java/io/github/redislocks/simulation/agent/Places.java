package io.github.redislocks.simulation.agent;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** The parts of the library in which a thread can be preempted: its top-level classes, by number. */
public final class Places {

    private static final String LIBRARY = "io/github/redislocks/";
    private static final Map<String, Integer> NUMBERS = new HashMap<>();
    private static final List<String> NAMES = new ArrayList<>();

    private Places() {}

    static synchronized int of(String className) {
        int nested = className.indexOf('$');
        String part = className.substring(LIBRARY.length(), nested < 0 ? className.length() : nested);
        return NUMBERS.computeIfAbsent(part, name -> {
            NAMES.add(name);
            return NAMES.size() - 1;
        });
    }

    /** The names of all parts, in no particular order. */
    public static synchronized Stream<String> names() {
        return List.copyOf(NAMES).stream();
    }

    /** The number of the part with this name. */
    public static synchronized int number(String name) {
        return NUMBERS.get(name);
    }

    /** The part with this number, such as {@code lease/Renewals}. */
    public static synchronized String name(int place) {
        return NAMES.get(place);
    }

    public static synchronized int count() {
        return NAMES.size();
    }
}
