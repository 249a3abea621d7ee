package io.github.redislocks.cli;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;

/** A collection with a bound: it keeps only its greatest elements. */
final class Kept<T> {

    private final int limit;
    private final Comparator<T> order;
    private final PriorityQueue<T> kept;
    private long leftOut;
    private T greatestLeftOut;

    Kept(int limit, Comparator<T> order) {
        this.limit = limit;
        this.order = order;
        this.kept = new PriorityQueue<>(order);
    }

    void add(T one) {
        kept.add(one);
        if (kept.size() > limit) {
            leftOut++;
            T least = kept.poll();
            if (greatestLeftOut == null || order.compare(least, greatestLeftOut) > 0) {
                greatestLeftOut = least;
            }
        }
    }

    List<T> all() {
        return new ArrayList<>(kept);
    }

    long leftOut() {
        return leftOut;
    }

    /** The greatest element that was dropped because of the bound; null if none was dropped. */
    T greatestLeftOut() {
        return greatestLeftOut;
    }
}
