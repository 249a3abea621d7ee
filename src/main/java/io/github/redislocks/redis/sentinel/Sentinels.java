package io.github.redislocks.redis.sentinel;

import io.github.redislocks.concurrent.Loggers;
import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.redis.Address;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Servers;
import io.github.redislocks.redis.topology.Observer;
import io.github.redislocks.redis.topology.Topology;
import io.github.redislocks.redis.topology.TopologyWatch;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Asks the Sentinels of a master again and again for the master's address. The address counts that more than half of
 * them name. So a Sentinel that was cut off and returns with old data, or that monitors another server by the same
 * name, misleads no client.
 */
public final class Sentinels extends TopologyWatch<Sentinels.Sighting> {

    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(250);
    /** How long a reply may take before the watch asks the next Sentinel as well. */
    private static final long PATIENCE_NANOS = TimeUnit.MILLISECONDS.toNanos(20);
    /** The reply of a Sentinel: the address of the master, and the epoch of the failover that made it the master. */
    public record Sighting(Address address, long epoch) {

        private static Sighting of(List<?> master, List<?> address) {
            // Take the last match: a master may have the name "config-epoch", which comes earlier in the reply.
            Object epoch = master.get(master.lastIndexOf("config-epoch") + 1);
            return new Sighting(
                    new Address((String) address.get(0), Integer.parseInt((String) address.get(1))),
                    Long.parseLong((String) epoch));
        }
    }

    private final String masterName;
    private final Consumer<Address> onMaster;

    private volatile @Nullable Address master;
    private volatile boolean troubled;

    /**
     * @param timeoutNanos how long to wait for a reply
     * @param onMaster called with the first address and with each new one, by one thread at a time; called again if it
     *     throws
     */
    public Sentinels(
            Topology.Sentinel topology,
            Servers servers,
            long timeoutNanos,
            Consumer<Address> onMaster,
            Threads threads) {
        super(
                "sentinels-" + topology.masterName(),
                topology.addresses(),
                servers,
                timeoutNanos,
                PATIENCE_NANOS,
                threads);
        this.masterName = topology.masterName();
        this.onMaster = onMaster;
    }

    /** Notes whether calls to the master fail. While they do, the Sentinels are asked more often. */
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
            observers().forEach(Observer::hurry);
        } finally {
            lock.unlock();
        }
        wake();
    }

    /**
     * Waits until a master is known or every Sentinel has failed to name one, until {@code deadline} at most. An
     * interrupt does not end the wait; its flag is set again.
     */
    public void awaitMaster(long deadline) {
        await(deadline, this::isDecided);
    }

    /**
     * Whether a master is known, or no Sentinel names one. Waits for the lock, which is held while the listener runs:
     * so a known master is one for which the listener has run.
     */
    private boolean isDecided() {
        lock.lock();
        try {
            return master != null || isHopeless();
        } finally {
            lock.unlock();
        }
    }

    /**
     * Makes the exception for a call while no master is known. The cause is a refusal if every Sentinel has refused.
     */
    public RedisException.Unanswered troubles() {
        return troubles(
                "The connections to the master " + masterName + " have been closed",
                "No Sentinel names the master " + masterName,
                sentinel -> name(sentinel) + " has not answered yet");
    }

    private static String name(Observer<Sighting> sentinel) {
        return "the Sentinel " + sentinel.address;
    }

    @Override
    @Nullable
    protected Observer<Sighting> next(List<Observer<Sighting>> free, long now) {
        return free.stream()
                .filter(sentinel -> sentinel.dueInNanos(pauseNanos(), now) == 0)
                .findFirst()
                .orElse(null);
    }

    @Override
    protected long pauseNanos(List<Observer<Sighting>> free, long now) {
        return free.stream()
                .mapToLong(sentinel -> sentinel.dueInNanos(pauseNanos(), now))
                .reduce(pauseNanos(), Math::min);
    }

    private long pauseNanos() {
        return troubled || master == null ? TROUBLED_PAUSE_NANOS : PAUSE_NANOS;
    }

    /**
     * Asks for the epoch ({@code SENTINEL MASTER}) before the address. In the other order, an old address could come
     * with a new epoch, and would be believed for ever. The reply to {@code SENTINEL MASTER} also has an address, which
     * is not used: until the failover has moved all replicas, it is the address of the old master.
     */
    @Override
    protected Sighting ask(Observer<Sighting> sentinel) {
        List<Object> replies = question(
                sentinel,
                "the address of the master " + masterName,
                List.of(
                        List.of("SENTINEL", "MASTER", masterName),
                        List.of("SENTINEL", "GET-MASTER-ADDR-BY-NAME", masterName)));
        return Sighting.of((List<?>) replies.get(0), (List<?>) replies.get(1));
    }

    @Override
    @Nullable
    protected String use(Observer<Sighting> from, Sighting seen, long now) {
        decide(now);
        if (master == null || master.equals(seen.address())) {
            return null;
        }
        if (!from.differs()) {
            // Ask the other Sentinels soon: they may confirm the new address.
            hurry();
        }
        return name(from) + " says that it is at " + seen.address() + ", and this client stays at " + master
                + " unless more than half of the " + observers().size()
                + " Sentinels that it knows say so. Check that Sentinel.";
    }

    @Override
    protected void noReply(Observer<Sighting> from, long now) {
        decide(now);
    }

    private void decide(long now) {
        List<Optional<Sighting>> seen = observers().stream()
                .map(sentinel -> Optional.ofNullable(sentinel.answer()))
                .toList();
        Address chosen = chosen(master, seen, mayChoose(now));
        if (chosen != null && !chosen.equals(master) && !isClosed()) {
            // Call the listener before `master` is set: if the listener throws, it is called again with the next reply.
            onMaster.accept(chosen);
            master = chosen;
        }
    }

    /**
     * Chooses the master: the address that more than half of all Sentinels name. If there is no such address, the known
     * master stays. If no master is known yet and {@code late} is true, chooses the address that most Sentinels name;
     * of several such addresses, the one with the greatest epoch.
     *
     * @param said the last reply of each Sentinel; empty for a Sentinel that does not reply
     * @param late whether the time to wait for other Sentinels is over
     */
    public static @Nullable Address chosen(@Nullable Address known, List<Optional<Sighting>> said, boolean late) {
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

    @Override
    @Nullable
    protected String remedy(Observer<Sighting> from, String message) {
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
        Loggers.CONNECTION.warn("A Sentinel of the master {} gives no usable answer: {}", masterName, trouble);
    }
}
