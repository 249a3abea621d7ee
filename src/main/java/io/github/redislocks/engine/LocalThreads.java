package io.github.redislocks.engine;

import io.github.redislocks.LockInspection;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Owner;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** What a client knows of its own threads at a lock, and Redis does not: their names, and how many share a place. */
final class LocalThreads {

    /** By the owner, as Redis knows it. */
    private final Map<String, String> names = new HashMap<>();
    /** For how many a place stands, by the owner that has it or may take it. */
    private final Map<String, Integer> threads = new HashMap<>();

    LocalThreads(LockKeys keys, Iterable<Hold> holds, Iterable<Attempt> attempts) {
        for (Hold hold : holds) {
            if (hold.lock().equals(keys.lock())) {
                name(hold.owner);
            }
        }
        List<String> sharers = new ArrayList<>();
        for (Attempt attempt : attempts) {
            if (!attempt.keys.lock().equals(keys.lock())) {
                continue;
            }
            name(attempt.owner);
            if (attempt.fair) {
                threads.put(attempt.owner.id, 1);
            } else if (attempt.waits) {
                sharers.add(attempt.owner.id);
            }
        }
        for (String sharer : sharers) {
            threads.put(sharer, sharers.size());
        }
    }

    private void name(Owner owner) {
        Thread thread = owner.thread();
        if (thread != null) {
            names.put(owner.id, thread.getName());
        }
    }

    /** What Redis knows, with that. */
    LockInspection addTo(LockInspection seen) {
        Optional<LockInspection.Holder> holder = seen.holder();
        if (holder.isPresent()) {
            LockInspection.Holder had = holder.get();
            holder = Optional.of(
                    LockInspection.Holder.of(named(had.owner()), had.holds(), had.token(), had.remainingLease()));
        }
        List<LockInspection.Waiting> conditions = new ArrayList<>();
        for (LockInspection.Waiting waiting : seen.conditions()) {
            conditions.add(LockInspection.Waiting.of(waiting.condition(), known(waiting.waiters())));
        }
        return LockInspection.of(
                seen.lockName(), holder, seen.keptFor(), known(seen.queue()), seen.queueLength(), conditions);
    }

    private List<LockInspection.Waiter> known(List<LockInspection.Waiter> waiters) {
        List<LockInspection.Waiter> known = new ArrayList<>(waiters.size());
        for (LockInspection.Waiter waiter : waiters) {
            int behind = threads.getOrDefault(waiter.owner().toString(), 0);
            known.add(LockInspection.Waiter.of(named(waiter.owner()), waiter.age(), behind));
        }
        return known;
    }

    private LockInspection.Owner named(LockInspection.Owner owner) {
        String name = names.get(owner.toString());
        return name == null ? owner : owner.withThreadName(name);
    }
}
