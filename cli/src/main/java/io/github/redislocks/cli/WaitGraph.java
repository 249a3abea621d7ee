package io.github.redislocks.cli;

import io.github.redislocks.LockInspection;
import io.github.redislocks.LockOwner;
import io.github.redislocks.concurrent.Shown;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * The waits of owners for each other. Each owner waits for one lock at a time. A client that keeps locks by its
 * residency is a separate owner of each such lock, and Redis does not know which thread of the client holds the lock.
 * So a waiting thread of that client may be the holder of any of these locks.
 */
final class WaitGraph {

    /** A wait: the waiter, the lock, and the holder of the lock. */
    private record Wait(LockOwner waiter, String lock, LockOwner holder) {

        /** Whether the holder of this wait may be the waiter of the next one. */
        boolean mayLeadTo(Wait next) {
            return holder.equals(next.waiter)
                    || (!next.equals(this) && (holder.isResidence() || next.waiter.isResidence()));
        }

        boolean isCertain() {
            return !waiter.isResidence() && !holder.isResidence();
        }
    }

    private final Map<String, List<Wait>> byClient = new TreeMap<>();

    void add(LockInspection seen) {
        seen.holder()
                .ifPresent(holder -> seen.queue()
                        .forEach(waiter -> byClient.computeIfAbsent(
                                        waiter.owner().clientId(), client -> new ArrayList<>())
                                .add(new Wait(waiter.owner(), seen.lockName(), holder.owner()))));
    }

    int waiters() {
        return byClient.values().stream().mapToInt(List::size).sum();
    }

    /** Describes each circle of waits once, by a sentence. */
    List<String> circles() {
        List<String> circles = new ArrayList<>();
        Set<Wait> done = new HashSet<>();
        byClient.values().forEach(waits -> waits.forEach(wait -> follow(wait, new ArrayList<>(), done, circles)));
        return circles;
    }

    private void follow(Wait wait, List<Wait> path, Set<Wait> done, List<String> circles) {
        if (path.contains(wait)) {
            circles.add(sentence(path.subList(path.indexOf(wait), path.size())));
        } else if (done.add(wait)) {
            path.add(wait);
            byClient.getOrDefault(wait.holder.clientId(), List.of()).stream()
                    .filter(wait::mayLeadTo)
                    .forEach(next -> follow(next, path, done, circles));
            path.remove(path.size() - 1);
        }
    }

    private static String sentence(List<Wait> circle) {
        boolean certain = circle.stream().allMatch(Wait::isCertain);
        return circle.stream()
                .map(wait -> wait.waiter + " waits for \"" + wait.lock + "\", which " + wait.holder + " holds")
                .map(Shown::of)
                .collect(Collectors.joining(
                        "; ",
                        certain ? "Deadlock: " : "Deadlock, if in each client that keeps locks one thread does both: ",
                        "."));
    }
}
