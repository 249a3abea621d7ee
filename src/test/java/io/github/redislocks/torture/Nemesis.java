package io.github.redislocks.torture;

import java.nio.charset.StandardCharsets;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.args.ClientType;
import redis.clients.jedis.params.ClientKillParams;

/** Does harm, by a seed, to an arena, and logs when each deed begins and ends. */
final class Nemesis {

    /** From the beginning of a promotion that lags until the replica certainly does, and the same before its end. */
    static final long LAG_BEGINS_NANOS = TimeUnit.MILLISECONDS.toNanos(150);

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
        strike(fault, isPersonal(fault) && random.nextBoolean() ? holder(index) : index);
    }

    /** Does it to the worker that has the lock which is held for long. */
    void strikeHolder(Fault fault) throws InterruptedException {
        strike(fault, holder(0));
    }

    private void strike(Fault fault, int index) throws InterruptedException {
        boolean personal = isPersonal(fault);
        String victim = personal ? arena.name(index) : "";
        arena.log.add(Event.NEMESIS, Event.Kind.STRIKE, victim, 0, fault.name());
        if (personal) {
            harmWorker(fault, index);
        } else if (fault.isProxied) {
            harmNetwork(fault);
        } else {
            harmServer(fault);
        }
        arena.log.add(Event.NEMESIS, Event.Kind.CEASE, victim, 0, fault.name());
        if (fault == Fault.KILL_WORKER) {
            arena.replace(index);
        }
    }

    private static boolean isPersonal(Fault fault) {
        return fault == Fault.KILL_WORKER || fault == Fault.PAUSE_WORKER;
    }

    /** The worker that holds for long, as Redis sees it; another if there is none for a second. */
    private int holder(int another) {
        long until = System.nanoTime() + TimeUnit.SECONDS.toNanos(1);
        try (Jedis jedis = arena.servers.current().client()) {
            while (System.nanoTime() < until) {
                String owner = jedis.hget("redis-locks:{" + Hammer.LONG + "}", "owner");
                for (int i = 0; owner != null && i < arena.size(); i++) {
                    if (owner.contains(":" + arena.worker(i).pid() + ":")) {
                        return i;
                    }
                }
                LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(5));
            }
        }
        return another;
    }

    private void harmWorker(Fault fault, int index) {
        if (fault == Fault.KILL_WORKER) {
            arena.worker(index).kill9();
        } else {
            arena.worker(index).pause();
            sleep(LEASE_MILLIS + 500, 2 * LEASE_MILLIS);
            arena.worker(index).resume();
        }
    }

    private void harmServer(Fault fault) {
        switch (fault) {
            case NOTHING -> {}
            case PAUSE_SERVER -> {
                arena.servers.current().pause();
                sleep(1_000, 5_000);
                arena.servers.current().resume();
            }
            case DEBUG_SLEEP -> debugSleep(between(500, 1_500));
            case NARROW_POOL -> debugSleep(between(200, 1_000));
            case KILL_NORMAL -> kill(ClientType.NORMAL);
            case KILL_PUBSUB -> kill(ClientType.PUBSUB);
            case KILL_ALL -> {
                kill(ClientType.NORMAL);
                kill(ClientType.PUBSUB);
            }
            case SCRIPT_FLUSH -> admin(Jedis::scriptFlush);
            case FLUSHALL -> admin(Jedis::flushAll);
            case RESTART_WITH_DATA -> restart();
            case RESTART_WITHOUT_DATA -> {
                // For a server that keeps files because another fault of the round needs them.
                admin(Jedis::flushAll);
                restart();
            }
            case MEMORY_FULL -> {
                admin(jedis -> jedis.configSet("maxmemory", "1"));
                sleep(500, 2_500);
                admin(jedis -> jedis.configSet("maxmemory", "0"));
            }
            case NO_PUBLISH -> {
                admin(jedis -> jedis.aclSetUser("default", "-publish"));
                sleep(1_000, 4_000);
                admin(jedis -> jedis.aclSetUser("default", "+publish"));
            }
            default -> throw new IllegalArgumentException(fault + " is not done to a server");
        }
    }

    private void harmNetwork(Fault fault) {
        switch (fault) {
            case PROMOTE_CURRENT -> arena.servers.switchOver(false);
            case PROMOTE_LAGGING -> {
                arena.servers.lag();
                sleep(400, 1_500);
                arena.servers.switchOver(true);
            }
            case LOSE_REPLIES -> {
                arena.servers.proxy().dropReplies();
                sleep(20, 200);
            }
            case LOSE_REQUESTS -> {
                arena.servers.proxy().dropRequests();
                sleep(20, 200);
            }
            case ONE_WAY -> {
                if (random.nextBoolean()) {
                    arena.servers.proxy().dropReplies();
                } else {
                    arena.servers.proxy().dropRequests();
                }
                sleep(1_000, 4_000);
            }
            case DELAY -> {
                for (int i = 0; i < 10; i++) {
                    arena.servers.proxy().holdReplies();
                    sleep(50, 400);
                    arena.servers.proxy().pass();
                    sleep(10, 100);
                }
            }
            case LATE_REQUESTS -> {
                arena.servers.proxy().holdRequests();
                sleep(1_200, 2_500);
            }
            case CUT -> {
                arena.servers.proxy().refuse();
                arena.servers.proxy().cut();
                sleep(100, 1_500);
                arena.servers.proxy().admit();
            }
            default -> throw new IllegalArgumentException(fault + " is not done to a network");
        }
        arena.servers.proxy().pass();
    }

    private void restart() {
        arena.servers.current().kill();
        sleep(50, 1_000);
        arena.servers.current().restart();
    }

    private void debugSleep(int millis) {
        admin(jedis -> jedis.sendCommand(
                () -> "DEBUG".getBytes(StandardCharsets.US_ASCII), "SLEEP", Double.toString(millis / 1e3)));
    }

    private void kill(ClientType type) {
        admin(jedis -> jedis.clientKill(new ClientKillParams().type(type).skipMe(ClientKillParams.SkipMe.YES)));
    }

    private void admin(Consumer<Jedis> deed) {
        try (Jedis jedis = arena.servers.current().client()) {
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
