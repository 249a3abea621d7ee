package io.github.redislocks.torture;

import io.github.redislocks.LockLost;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/** The story of the events of all logs, in order: holds, waits, writes, strikes and stalls. */
final class History {

    /** How a hold or a wait ended. */
    enum Ending {
        OPEN,
        FREED,
        LOST,
        KILLED,
        ACQUIRED,
        CANCELLED,
        REFUSED,
        FAILED
    }

    /** Tokens between two turns of a residence that a thread took and gave back at once. */
    private static final long MOST_BETWEEN_KEPT = 10;

    /**
     * For how long a client may keep a share that nobody uses, so that a handle's try for no time does not get the
     * lock.
     */
    private static final long LINGER_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

    private static final long ON_ITS_WAY_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

    /** A hold from its entry to its end, as its thread saw it. */
    static final class Hold {
        final Event in;
        /** When its acquisition began. */
        final long askedNanos;
        /** When the library last said that it was held. */
        long believedNanos;

        long outNanos;
        long endNanos = Long.MAX_VALUE;
        Ending ending = Ending.OPEN;
        /** Whether Redis gave no answer to its release, which may have run or not. */
        boolean releaseUnknown;
        /** How long after its beginning its release keeps the lock taken. */
        long keptNanos;
        /** Whether the library said that the hold before was not released. */
        boolean alarmed;
        /** The one that was taken from Redis, if the client kept the lock since then: else this one. */
        Hold first = this;
        /** The hold counts that the library said, in order. */
        final List<Event> counts = new ArrayList<>();

        Hold(Event in, long askedNanos) {
            this.in = in;
            this.askedNanos = askedNanos;
            this.believedNanos = in.nanos();
        }

        /** From when on Redis may have had it: a grant is on its way before its thread can say so. */
        long begunNanos() {
            return Math.max(askedNanos, in.nanos() - ON_ITS_WAY_NANOS);
        }

        /** Until when the lock is taken: by the hold, or by nobody since its release keeps it. */
        long takenUntilNanos() {
            return ending == Ending.FREED ? Math.max(endNanos, in.nanos() + keptNanos) : endNanos;
        }

        /** When its thread did no more under it. */
        long leftNanos() {
            return ending == Ending.FREED ? outNanos : endNanos;
        }

        /** From when on Redis may have had the lease that it is under. */
        long leaseBegunNanos() {
            return first.begunNanos();
        }

        boolean isRenewed() {
            return in.text().equals(Event.RENEWED) || isRead() || hasPermits();
        }

        /** Whether others may read at the same time. */
        boolean isRead() {
            return in.text().equals(Event.READ);
        }

        boolean hasPermits() {
            return in.text().startsWith(Event.PERMITS);
        }

        /** Whether nobody else may hold the same lock. */
        boolean isExclusive() {
            return !isRead() && !hasPermits();
        }

        /** The things that nobody else may have, or of a reader no writer: the lock, or each of the permits. */
        List<String> things() {
            return hasPermits()
                    ? Arrays.stream(in.text().split(" ", -1))
                            .skip(1)
                            .map(number -> in.lock() + " " + number)
                            .toList()
                    : List.of(in.lock());
        }
    }

    /** A call that wanted a lock. */
    static final class Wait {
        final Event ask;
        long endNanos = Long.MAX_VALUE;
        Ending ending = Ending.OPEN;

        Wait(Event ask) {
            this.ask = ask;
        }
    }

    /** A change of the resource, and under which hold. */
    record Write(Event event, Hold hold) {}

    /** A look at both values of the resource during which no writer may have changed them. */
    record Reading(Event saw, long copy, long fromNanos) {}

    /** A deed of the nemesis. */
    record Strike(Fault fault, String victim, long beginNanos, long endNanos) {

        boolean touches(long from, long to) {
            return from <= endNanos && to >= beginNanos;
        }
    }

    final List<Hold> holds = new ArrayList<>();
    final List<Wait> waits = new ArrayList<>();
    final List<Write> writes = new ArrayList<>();
    final List<Reading> readings = new ArrayList<>();
    final List<Strike> strikes = new ArrayList<>();
    /** For how long the workers keep locks that nobody holds: those that do, by name. */
    private final Map<String, Long> keptNanos = new HashMap<>();

    final List<Event> stalls = new ArrayList<>();
    final List<Event> others = new ArrayList<>();
    final Set<String> actors = new HashSet<>();
    final Map<String, Long> workerBegins = new HashMap<>();
    final long beginNanos;
    final long endNanos;

    private final Map<String, Hold> holding = new HashMap<>();
    private final Map<String, Hold> last = new HashMap<>();
    private final Map<String, Wait> waiting = new HashMap<>();
    private final Map<String, Event> awaiting = new HashMap<>();
    private final Set<String> alarmed = new HashSet<>();
    private Event strike;

    History(List<Event> events) {
        beginNanos = events.isEmpty() ? 0 : events.get(0).nanos();
        endNanos = events.isEmpty() ? 0 : events.get(events.size() - 1).nanos();
        events.forEach(this::add);
        findResidences();
        findShares();
    }

    /** A client that keeps a lock gives its threads tokens one after the other; Redis' own follow its time. */
    private void findResidences() {
        Map<String, Hold> before = new HashMap<>();
        holds.stream()
                .filter(hold -> hold.isExclusive() && keptNanos.containsKey(hold.in.worker()))
                .sorted(Comparator.comparingLong(hold -> hold.in.number()))
                .forEach(hold -> {
                    Hold earlier = before.put(hold.in.worker() + " " + hold.in.lock(), hold);
                    if (earlier != null && hold.in.number() - earlier.in.number() <= MOST_BETWEEN_KEPT) {
                        hold.first = earlier.first;
                    }
                });
    }

    /** The readers of a client use one share, as long as no writer comes between. */
    private void findShares() {
        Map<String, Hold> firsts = new HashMap<>();
        holds.stream().filter(Hold::isRead).forEach(hold -> {
            String share = hold.in.worker() + " " + hold.in.lock() + " " + hold.in.number();
            hold.first = firsts.computeIfAbsent(share, any -> hold);
        });
    }

    private void add(Event event) {
        if (event.kind() != Event.Kind.STRIKE && event.kind() != Event.Kind.CEASE) {
            workerBegins.putIfAbsent(event.worker(), event.nanos());
        }
        switch (event.kind()) {
            case ASK -> {
                actors.add(event.actor());
                Wait wait = new Wait(event);
                waits.add(wait);
                waiting.put(event.actor(), wait);
            }
            case IN -> entered(event);
            case ALARM -> alarmed.add(event.actor());
            case COUNT -> {
                Hold hold = holding.get(event.actor());
                if (hold != null) {
                    hold.counts.add(event);
                }
            }
            case HELD -> {
                Hold hold = holding.get(event.actor());
                if (hold != null) {
                    hold.believedNanos = event.nanos();
                }
            }
            case WROTE -> writes.add(new Write(event, last.get(event.actor())));
            case SAW -> {
                String[] words = event.text().split(" ", -1);
                Hold hold = holding.get(event.actor());
                long from = Math.min(Long.parseLong(words[1]), hold == null ? event.nanos() : hold.begunNanos());
                readings.add(new Reading(event, Long.parseLong(words[0]), from));
            }
            case OUT -> out(event);
            case FREED -> {
                Hold hold = holding.remove(event.actor());
                if (hold != null) {
                    // The call returned normally, so the lock was held when it began.
                    hold.believedNanos = hold.outNanos;
                    hold.keptNanos = event.number();
                    end(hold, event, Ending.FREED);
                }
            }
            case LOST -> lost(event);
            case NO -> endWait(event, Ending.REFUSED);
            case CANCELLED -> endWait(event, Ending.CANCELLED);
            case FAIL -> {
                endWait(event, Ending.FAILED);
                others.add(event);
            }
            case STALL -> stalls.add(event);
            case RESIDENT -> keptNanos.merge(event.actor(), event.number(), Math::max);
            case STRIKE -> strike = event;
            case CEASE -> cease(event);
            case REFUSED, TOLD, BUG, END -> others.add(event);
        }
    }

    /** Whether the client of a worker may have kept a lock in a time, or have been giving it up. */
    boolean mayBeKept(String lock, long from, long to) {
        return holds.stream()
                .filter(hold -> hold.in.lock().equals(lock) && hold.askedNanos <= to)
                .anyMatch(hold -> {
                    long lingers = hold.isRead() ? LINGER_NANOS : 0;
                    long kept = keptNanos.getOrDefault(hold.in.worker(), 0L);
                    return hold.leftNanos() + Math.max(2 * kept, lingers) >= from;
                });
    }

    private void entered(Event event) {
        Wait wait = waiting.get(event.actor());
        long asked = wait == null ? event.nanos() : wait.ask.nanos();
        endWait(event, Ending.ACQUIRED);
        Event await = awaiting.remove(event.actor());
        Hold hold = new Hold(event, await == null ? asked : await.nanos());
        hold.alarmed = alarmed.remove(event.actor());
        holds.add(hold);
        holding.put(event.actor(), hold);
        last.put(event.actor(), hold);
    }

    private void out(Event event) {
        Hold hold = holding.get(event.actor());
        if (hold == null) {
            return;
        }
        hold.outNanos = event.nanos();
        if (event.text().equals(Event.AWAIT)) {
            holding.remove(event.actor());
            awaiting.put(event.actor(), event);
            end(hold, event, Ending.FREED);
        }
    }

    private void lost(Event event) {
        endWait(event, Ending.LOST);
        Hold hold = holding.remove(event.actor());
        if (hold == null && awaiting.remove(event.actor()) != null) {
            hold = last.get(event.actor());
        }
        if (hold != null) {
            hold.releaseUnknown = hold.outNanos != 0 && event.text().equals(LockLost.Reason.UNCONFIRMED.name());
            end(hold, event, Ending.LOST);
        }
    }

    private static void end(Hold hold, Event event, Ending ending) {
        hold.endNanos = event.nanos();
        hold.ending = ending;
    }

    private void endWait(Event event, Ending ending) {
        Wait wait = waiting.remove(event.actor());
        if (wait != null) {
            wait.endNanos = event.nanos();
            wait.ending = ending;
        }
    }

    private void cease(Event event) {
        Fault fault = Fault.valueOf(event.text());
        strikes.add(new Strike(fault, event.lock(), strike.nanos(), event.nanos()));
        if (fault != Fault.KILL_WORKER) {
            return;
        }
        for (String actor : List.copyOf(holding.keySet())) {
            if (actor.startsWith(event.lock() + "/")) {
                end(holding.remove(actor), event, Ending.KILLED);
            }
        }
        for (String actor : List.copyOf(waiting.keySet())) {
            if (actor.startsWith(event.lock() + "/")) {
                Wait wait = waiting.remove(actor);
                wait.endNanos = event.nanos();
                wait.ending = Ending.KILLED;
            }
        }
    }

    /** The longest that a process which was not itself being harmed stood still in a time. */
    long stallNanos(long from, long to) {
        return stalls.stream()
                .filter(stall -> stall.nanos() >= from && stall.nanos() - stall.number() <= to)
                .filter(stall -> strikes.stream()
                        .noneMatch(strike -> strike.victim().equals(stall.worker())
                                && strike.touches(stall.nanos() - stall.number(), stall.nanos())))
                .mapToLong(Event::number)
                .max()
                .orElse(0);
    }

    /** Whether the server forgot the lease of one of two holds, and the later one began after that. */
    boolean dataLostBetween(Hold one, Hold other) {
        return dataLostBetween(
                Math.min(one.leaseBegunNanos(), other.leaseBegunNanos()), Math.max(one.in.nanos(), other.in.nanos()));
    }

    /** Whether the server forgot holds in a time. */
    boolean dataLostBetween(long from, long to) {
        return strikes.stream().anyMatch(strike -> strike.fault().losesData && strike.touches(from, to));
    }

    /** The longest that a worker stood still in a time, for whatever reason. */
    long stallNanos(String worker, long from, long to) {
        return stalls.stream()
                .filter(stall -> stall.worker().equals(worker))
                .filter(stall -> stall.nanos() >= from && stall.nanos() - stall.number() <= to)
                .mapToLong(Event::number)
                .max()
                .orElse(0);
    }
}
