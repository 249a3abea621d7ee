package io.github.redislocks.engine;

import io.github.redislocks.LockInspection;
import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.LocalHold;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Owner;
import io.github.redislocks.state.Residence;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** What a client knows of its own threads at a lock, and Redis does not: their names, and how many share a place. */
final class LocalThreads {

    /** By the owner, as Redis knows it. */
    private final Map<String, String> names = new HashMap<>();
    /** For how many a place stands, by the owner that has it or may take it. */
    private final Map<String, Integer> threads = new HashMap<>();

    /** The thread that has the lock under a residence, of which Redis knows nothing; or null. */
    private final @Nullable LocalHold holding;

    LocalThreads(LockKeys keys, Iterable<Hold> holds, Iterable<Attempt> attempts, @Nullable Residence residence) {
        this.holding = residence == null ? null : residence.holding();
        for (Hold hold : holds) {
            if (hold.lock().equals(keys.lock())) {
                name(hold.owner);
            }
        }
        Collection<Thread> queued = residence == null ? List.of() : residence.queuedThreads();
        List<String> sharers = new ArrayList<>();
        int behind = queued.size();
        if (holding != null) {
            name(holding.owner);
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

    /** What Redis knows, with that. */
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
        LocalHold local = holding;
        if (local != null && had.owner().toString().equals(local.residence.id)) {
            LockInspection.Owner thread = named(LockInspection.Owner.parse(local.owner.id));
            return LockInspection.Holder.of(thread, local.count(), local.token, had.remainingLease(), since(local));
        }
        return LockInspection.Holder.of(named(had.owner()), had.holds(), had.token(), had.remainingLease());
    }

    /** Since when a thread has the lock, by the clock of the server, which has said when its client got it. */
    private static Instant since(LocalHold local) {
        Hold lease = local.inRedis();
        long laterNanos = Math.max(0, local.acquiredNanos - lease.acquiredNanos);
        return Instant.EPOCH.plus(lease.token + laterNanos / 1_000, ChronoUnit.MICROS);
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
