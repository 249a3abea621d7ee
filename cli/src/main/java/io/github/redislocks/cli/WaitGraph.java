package io.github.redislocks.cli;

import io.github.redislocks.LockInspection;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/** Who waits for whom. An owner waits for one lock at a time, so each has at most one way out. */
final class WaitGraph {

    /** For which lock an owner waits, and who holds that. */
    private record Wait(String lock, LockInspection.Owner holder) {}

    private final Map<LockInspection.Owner, Wait> waits = new LinkedHashMap<>();

    void add(LockInspection seen) {
        seen.holder()
                .ifPresent(holder -> seen.queue()
                        .forEach(waiter -> waits.put(waiter.owner(), new Wait(seen.lockName(), holder.owner()))));
    }

    int waiters() {
        return waits.size();
    }

    /** Each circle once, as a sentence. */
    List<String> circles() {
        List<String> circles = new ArrayList<>();
        Set<LockInspection.Owner> done = new HashSet<>();
        for (LockInspection.Owner start : waits.keySet()) {
            List<LockInspection.Owner> path = new ArrayList<>();
            LockInspection.Owner at = start;
            while (waits.containsKey(at) && done.add(at)) {
                path.add(at);
                at = waits.get(at).holder();
            }
            if (path.contains(at)) {
                circles.add(sentence(path.subList(path.indexOf(at), path.size())));
            }
        }
        return circles;
    }

    private String sentence(List<LockInspection.Owner> circle) {
        return circle.stream()
                .map(owner -> owner + " waits for \"" + waits.get(owner).lock() + "\", which "
                        + waits.get(owner).holder() + " holds")
                .map(Shown::of)
                .collect(Collectors.joining("; ", "Deadlock: ", "."));
    }
}
