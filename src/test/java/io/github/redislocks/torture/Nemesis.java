package io.github.redislocks.torture;

import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.args.ClientType;
import redis.clients.jedis.params.ClientKillParams;

/** Does harm, by a seed, to an arena, and logs when each deed begins and ends. */
final class Nemesis {

    private static final int LEASE_MILLIS = (int) TestLocks.LEASE.toMillis();

    private final Arena arena;
    private final Random random;

    Nemesis(Arena arena, long seed) {
        this.arena = arena;
        this.random = new Random(seed);
    }

    /** Does one deed, and returns when it is over. */
    void strike(Fault fault) throws InterruptedException {
        int index = random.nextInt(arena.size());
        boolean personal = fault == Fault.KILL_WORKER || fault == Fault.PAUSE_WORKER;
        String victim = personal ? arena.name(index) : "";
        arena.log.add(Event.NEMESIS, Event.Kind.STRIKE, victim, 0, fault.name());
        harm(fault, index);
        arena.log.add(Event.NEMESIS, Event.Kind.CEASE, victim, 0, fault.name());
        if (fault == Fault.KILL_WORKER) {
            arena.replace(index);
        }
    }

    private void harm(Fault fault, int index) {
        switch (fault) {
            case NOTHING -> {}
            case KILL_WORKER -> arena.worker(index).kill9();
            case PAUSE_WORKER -> {
                arena.worker(index).pause();
                sleep(LEASE_MILLIS + 500, 2 * LEASE_MILLIS);
                arena.worker(index).resume();
            }
            case PAUSE_SERVER -> {
                arena.server.pause();
                sleep(1_000, 5_000);
                arena.server.resume();
            }
            case DEBUG_SLEEP ->
                admin(jedis -> jedis.sendCommand(
                        () -> "DEBUG".getBytes(java.nio.charset.StandardCharsets.US_ASCII),
                        "SLEEP",
                        Double.toString(between(500, 1_900) / 1e3)));
            case KILL_NORMAL -> kill(ClientType.NORMAL);
            case KILL_PUBSUB -> kill(ClientType.PUBSUB);
            case KILL_ALL -> {
                kill(ClientType.NORMAL);
                kill(ClientType.PUBSUB);
            }
            case SCRIPT_FLUSH -> admin(Jedis::scriptFlush);
        }
    }

    private void kill(ClientType type) {
        admin(jedis -> jedis.clientKill(new ClientKillParams().type(type).skipMe(ClientKillParams.SkipMe.YES)));
    }

    private void admin(java.util.function.Consumer<Jedis> deed) {
        try (Jedis jedis = arena.server.client()) {
            deed.accept(jedis);
        }
    }

    private int between(int leastMillis, int mostMillis) {
        return leastMillis + random.nextInt(mostMillis - leastMillis + 1);
    }

    /** Lets time pass: what is waited for is nothing but time. */
    void sleep(int leastMillis, int mostMillis) {
        long until = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(between(leastMillis, mostMillis));
        while (System.nanoTime() < until) {
            LockSupport.parkNanos(until - System.nanoTime());
        }
    }
}
