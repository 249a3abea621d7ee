package io.github.redislocks.client;

import io.github.redislocks.LockInspection;
import io.github.redislocks.LockOwner;
import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.residency.Residences;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.Held;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Owner;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Data of a client's threads at one lock that Redis does not have: their names, and how many share a place in the
 * queue.
 */
final class LocalThreads {

    /** Thread names by the id of their owner in Redis. */
    private final Map<String, String> names = new HashMap<>();
    /** The number of threads that share a place, by the id of the owner that has the place or may take it. */
    private final Map<String, Integer> threads = new HashMap<>();

    private final LockKeys keys;
    /** Knows which threads hold a lock under a lease of the client. */
    private final Residences residences;

    LocalThreads(LockKeys keys, Iterable<Hold> holds, Iterable<Attempt> attempts, Residences residences) {
        this.keys = keys;
        this.residences = residences;
        for (Hold hold : holds) {
            if (hold.lock().equals(keys.lock())) {
                name(hold.owner);
            }
        }
        Held held = residences.held(keys);
        Collection<Thread> queued = residences.queuedThreads(keys);
        List<String> sharers = new ArrayList<>();
        int behind = queued.size();
        if (held != null) {
            name(held.owner);
        }
        for (Attempt attempt : attempts) {
            if (!attempt.keys.lock().equals(keys.lock())) {
                continue;
            }
            name(attempt.owner);
            if (attempt.fair) {
                threads.put(attempt.owner.id, 1);
            } else if (attempt.waits) {
                sharers.add(attempt.owner.id);
                Thread thread = attempt.owner.thread();
                if (thread != null && queued.contains(thread)) {
                    behind--;
                }
            }
        }
        for (String sharer : sharers) {
            threads.put(sharer, sharers.size() + behind);
        }
    }

    private void name(Owner owner) {
        Thread thread = owner.thread();
        if (thread != null) {
            names.put(owner.id, Threads.name(thread));
        }
    }

    /** Returns the inspection with the names and numbers of threads added. */
    LockInspection addTo(LockInspection seen) {
        Optional<LockInspection.Holder> holder = seen.holder();
        if (holder.isPresent()) {
            holder = Optional.of(known(holder.get()));
        }
        List<LockInspection.Waiting> conditions = new ArrayList<>();
        for (LockInspection.Waiting waiting : seen.conditions()) {
            conditions.add(LockInspection.Waiting.of(waiting.condition(), known(waiting.waiters())));
        }
        return LockInspection.of(
                seen.lockName(), holder, seen.keptFor(), known(seen.queue()), seen.queueLength(), conditions);
    }

    private LockInspection.Holder known(LockInspection.Holder had) {
        LockInspection.Holder holder = residences.known(keys, had);
        return LockInspection.Holder.of(named(holder.owner()), holder.holds(), holder.token(), holder.remainingLease())
                .withSince(holder.since());
    }

    private List<LockInspection.Waiter> known(List<LockInspection.Waiter> waiters) {
        List<LockInspection.Waiter> known = new ArrayList<>(waiters.size());
        for (LockInspection.Waiter waiter : waiters) {
            int behind = threads.getOrDefault(waiter.owner().toString(), 0);
            known.add(LockInspection.Waiter.of(named(waiter.owner()), waiter.age(), behind));
        }
        return known;
    }

    private LockOwner named(LockOwner owner) {
        String name = names.get(owner.toString());
        return name == null ? owner : owner.withThreadName(name);
    }
}
