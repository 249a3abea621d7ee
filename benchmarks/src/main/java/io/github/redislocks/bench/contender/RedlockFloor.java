package io.github.redislocks.bench.contender;

import io.github.redislocks.redis.Script;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.UUID;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import redis.clients.jedis.Connection;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisClientConfig;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.util.JedisURIHelper;

/**
 * The floor of a quorum: {@code SET NX PX} on all masters, and compare-and-delete. Each calling thread has its own
 * connection to each master, writes to all masters and then reads all answers. No other thread wakes up, which is
 * faster than a thread for each master. A thread without a majority withdraws its votes and tries again after a random
 * pause. A master that hangs would delay the thread. The floor does not renew, counts no tokens, and wakes no waiter.
 */
final class RedlockFloor implements LockClient {

    private static final Script UNLOCK = Script.load(RedlockFloor.class, "floor_unlock");
    private static final String LEASE_MILLIS = "30000";
    private static final int PAUSE_MILLIS = 10;

    private final List<String> uris;
    private final Queue<Wire> all = new ConcurrentLinkedQueue<>();
    private final ThreadLocal<List<Wire>> ofCaller = ThreadLocal.withInitial(this::wires);

    /** A connection that sends only when it is flushed. */
    private static final class Wire extends Connection {

        Wire(HostAndPort address, JedisClientConfig config) {
            super(address, config);
        }

        void send(Protocol.Command command, String... arguments) {
            sendCommand(command, arguments);
            flush();
        }
    }

    RedlockFloor(Setting setting) {
        uris = List.of(setting.uris());
        for (Wire wire : ofCaller.get()) {
            wire.send(Protocol.Command.SCRIPT, "LOAD", UNLOCK.source());
            wire.getOne();
        }
    }

    private List<Wire> wires() {
        List<Wire> wires = new ArrayList<>();
        for (String each : uris) {
            URI uri = URI.create(each);
            JedisClientConfig config = DefaultJedisClientConfig.builder(uri).build();
            wires.add(new Wire(JedisURIHelper.getHostAndPort(uri), config));
        }
        all.addAll(wires);
        return wires;
    }

    @Override
    public Mutex mutex(String key) {
        return new Mutex() {
            private String me = "";

            @Override
            public void lock() {
                me = UUID.randomUUID().toString();
                while (ask(Protocol.Command.SET, key, me, "NX", "PX", LEASE_MILLIS) <= uris.size() / 2) {
                    unlock();
                    LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(1)
                            * ThreadLocalRandom.current().nextInt(1, PAUSE_MILLIS));
                }
            }

            @Override
            public void unlock() {
                ask(Protocol.Command.EVALSHA, UNLOCK.sha1(), "1", key, me);
            }
        };
    }

    /** Sends a command to all masters, and returns how many have done it. */
    private int ask(Protocol.Command command, String... arguments) {
        List<Wire> wires = ofCaller.get();
        for (Wire wire : wires) {
            wire.send(command, arguments);
        }
        int done = 0;
        for (Wire wire : wires) {
            Object answer = wire.getOne();
            done += answer == null || Long.valueOf(0).equals(answer) ? 0 : 1;
        }
        return done;
    }

    @Override
    public void close() {
        all.forEach(Wire::close);
    }
}
