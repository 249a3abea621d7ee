package io.github.redislocks.redis.sentinel;

import io.github.redislocks.concurrent.Loggers;
import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.jedis.Topology;
import io.github.redislocks.redis.topology.Observer;
import io.github.redislocks.redis.topology.TopologyWatch;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.HostAndPort;

/**
 * Asks the Sentinels of a master again and again for its address. More than half of them decide, as they do among
 * themselves. So a Sentinel that was cut off and returns with old news, or that monitors another server by the same
 * name, misleads no client.
 */
public final class Sentinels extends TopologyWatch<Sentinels.Sighting> {

    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(250);
    /** How long a reply may take before the next Sentinel is asked. */
    private static final long PATIENCE_NANOS = TimeUnit.MILLISECONDS.toNanos(20);
    /** The first reply waits this fraction of a command timeout for the others before the first master is chosen. */
    private static final int PATIENCE = 4;

    /** How long a Sentinel may differ before that is logged: longer than the news of a failover takes to spread. */
    private static final long DISSENT_NANOS = TimeUnit.SECONDS.toNanos(5);

    /** The reply of a Sentinel: the address of the master, and the epoch of the failover that made it the master. */
    public record Sighting(HostAndPort address, long epoch) {}

    /** Notes that a Sentinel names another master than most. */
    private static final class Dissent {

        private final long sinceNanos;
        private boolean told;

        Dissent(long sinceNanos) {
            this.sinceNanos = sinceNanos;
        }
    }

    private final String masterName;
    private final long timeoutNanos;
    private final Consumer<HostAndPort> onMaster;

    /** The last reply of each Sentinel that answers. Guarded by the lock. */
    private final Map<Observer, Sighting> said = new HashMap<>();
    /** The Sentinels that name another master than most. Guarded by the lock. */
    private final Map<Observer, Dissent> dissents = new HashMap<>();

    private volatile @Nullable HostAndPort master;
    /** When to stop waiting for the other Sentinels and choose the first master; 0 until one has answered. */
    private long decideAtNanos;

    private volatile boolean troubled;

    /**
     * @param timeoutNanos how long to wait for a reply
     * @param onMaster called with the first master and with each new one, by one thread at a time; called again if it
     *     throws
     */
    public Sentinels(Topology.Sentinel topology, long timeoutNanos, Consumer<HostAndPort> onMaster, Threads threads) {
        super(
                "sentinels-" + topology.masterName(),
                topology.addresses(),
                topology.config(),
                timeoutNanos,
                PATIENCE_NANOS,
                threads);
        this.timeoutNanos = timeoutNanos;
        this.masterName = topology.masterName();
        this.onMaster = onMaster;
    }

    /** Notes whether the master does not answer; the Sentinels are then asked more often. */
    public void troubled(boolean now) {
        if (troubled != now) {
            troubled = now;
            if (now) {
                hurry();
            }
        }
    }

    private void hurry() {
        lock.lock();
        try {
            for (Observer sentinel : observers()) {
                sentinel.hurry();
            }
        } finally {
            lock.unlock();
        }
        wake();
    }

    /** Waits until a master is known or every Sentinel has failed to name one. An interrupt is kept. */
    public void awaitMaster(long deadline) {
        await(deadline, this::isDecided);
    }

    /**
     * Takes the lock, so it is not true before the listener has been told of a new master, which is done with the lock.
     */
    private boolean isDecided() {
        lock.lock();
        try {
            return master != null || isHopeless();
        } finally {
            lock.unlock();
        }
    }

    /** Why no master is known. The cause is a refusal if every Sentinel has refused. */
    public RedisException.Unanswered troubles() {
        return troubles(
                "The connections to the master " + masterName + " have been closed",
                "No Sentinel names the master " + masterName,
                sentinel -> name(sentinel) + " has not answered yet");
    }

    private static String name(Observer sentinel) {
        return "the Sentinel " + sentinel.address;
    }

    @Override
    @Nullable
    protected Observer next(List<Observer> free, long now) {
        for (Observer sentinel : free) {
            if (sentinel.dueInNanos(pauseNanos(), now) == 0) {
                return sentinel;
            }
        }
        return null;
    }

    @Override
    protected long pauseNanos(List<Observer> free, long now) {
        long pause = pauseNanos();
        for (Observer sentinel : free) {
            pause = Math.min(pause, sentinel.dueInNanos(pauseNanos(), now));
        }
        return pause;
    }

    private long pauseNanos() {
        return troubled || master == null ? TROUBLED_PAUSE_NANOS : PAUSE_NANOS;
    }

    @Override
    protected Sighting ask(Observer sentinel) {
        return new SentinelRequest(sentinel.endpoint, sentinel.connection, masterName, questionNanos).perform(true);
    }

    @Override
    protected void heard(Observer from, Sighting seen, long now) {
        said.put(from, seen);
        if (decideAtNanos == 0) {
            decideAtNanos = now + timeoutNanos / PATIENCE;
        }
        decide(now);
        if (noteDissent(from, seen, now)) {
            // The other Sentinels may have newer information.
            hurry();
        }
    }

    @Override
    protected void unheard(Observer from, long now) {
        said.remove(from);
        decide(now);
    }

    private void decide(long now) {
        boolean late = decideAtNanos != 0 && now - decideAtNanos >= 0;
        boolean all = true;
        List<Optional<Sighting>> seen = new ArrayList<>();
        for (Observer sentinel : observers()) {
            Sighting last = said.get(sentinel);
            seen.add(Optional.ofNullable(last));
            all &= last != null || sentinel.trouble() != null;
        }
        HostAndPort chosen = chosen(master, seen, late || all);
        if (chosen != null && !chosen.equals(master) && !isClosed()) {
            // Before the field is set: if the listener throws, the next reply calls it again.
            onMaster.accept(chosen);
            master = chosen;
        }
    }

    /**
     * Chooses the master: the one that more than half of all Sentinels name. If there is none, the known master stays.
     * If no master is known and the time to wait for other Sentinels is over, it is the one that most Sentinels name,
     * and of several such the one with the greatest epoch.
     *
     * @param said the last reply of each Sentinel, empty for one that does not answer
     */
    public static @Nullable HostAndPort chosen(
            @Nullable HostAndPort known, List<Optional<Sighting>> said, boolean late) {
        List<Sighting> all = said.stream().flatMap(Optional::stream).toList();
        Sighting first = all.stream()
                .max(Comparator.comparingLong((Sighting seen) -> votes(seen, all))
                        .thenComparing(Sighting::epoch))
                .orElse(null);
        if (first == null) {
            return known;
        }
        boolean enough = 2 * votes(first, all) > said.size() || (known == null && late);
        return enough ? first.address() : known;
    }

    private static long votes(Sighting seen, List<Sighting> all) {
        return all.stream()
                .filter(other -> other.address().equals(seen.address()))
                .count();
    }

    /** Notes whether a Sentinel names another master than most, and logs it if that lasts; true if it is new. */
    private boolean noteDissent(Observer from, Sighting seen, long now) {
        if (master == null || master.equals(seen.address())) {
            dissents.remove(from);
            return false;
        }
        Dissent dissent = dissents.get(from);
        if (dissent == null) {
            dissents.put(from, new Dissent(now));
            return true;
        }
        if (!dissent.told && now - dissent.sinceNanos > DISSENT_NANOS) {
            dissent.told = true;
            Loggers.CONNECTION.warn(
                    "The master {} is at {}, and {} says that it is at {}: this client stays unless more than half of"
                            + " the {} Sentinels that it was told of say so. Check that Sentinel.",
                    masterName,
                    master,
                    name(from),
                    seen.address(),
                    observers().size());
        }
        return false;
    }

    @Override
    @Nullable
    protected String remedy(Observer from, String message) {
        if (message.startsWith("ERR No such master")) {
            return name(from)
                    + " knows no such master: compare the name with \"sentinel monitor\" in its configuration";
        }
        if (message.startsWith("ERR unknown command")) {
            return from.address + " is no Sentinel: for a single server, write redis://" + from.address;
        }
        return null;
    }

    @Override
    protected void warn(String trouble) {
        Loggers.CONNECTION.warn("A Sentinel of the master {} does not help: {}", masterName, trouble);
    }
}
