package io.github.redislocks.redis;

import io.github.redislocks.concurrent.DutyLoop;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisClientConfig;

/**
 * The thread that asks the nodes of a cluster who has which slots: one node after the other, once a second, faster
 * while a node does not answer calls, and at once when a call met news.
 */
final class ClusterWatch implements AutoCloseable {

    private static final Logger log = LoggerFactory.getLogger(ClusterWatch.class);

    private static final long PAUSE_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final long TROUBLED_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(50);
    private static final long LEAST_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(5);
    /** For one answer, that others need not wait long; and if all nodes are slower than that. */
    private static final long TIMEOUT_NANOS = TimeUnit.MILLISECONDS.toNanos(250);

    private static final long LONG_TIMEOUT_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final List<HostAndPort> seeds;
    private final JedisClientConfig config;
    private final Consumer<Slots> onNews;
    private final Workers workers = new Workers("cluster");
    private final DutyLoop loop = new DutyLoop("redis-locks-cluster", this::watch);
    /** Addresses of nodes that did not answer their last call. */
    private final Set<String> troubled = ConcurrentHashMap.newKeySet();

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition news = lock.newCondition();
    private final Rota rota;
    private final Map<HostAndPort, Connections> connections = new ConcurrentHashMap<>();
    private Slots slots = Slots.UNKNOWN;
    /** Of the thread that asks. */
    private long notBeforeNanos = System.nanoTime();

    private long timeoutNanos = TIMEOUT_NANOS;
    /** Whether somebody waits for an answer. */
    private boolean asked;

    private volatile boolean closed;

    /** OnNews: told of each change, by the thread that asks, which holds a lock meanwhile. */
    ClusterWatch(List<HostAndPort> seeds, JedisClientConfig config, Consumer<Slots> onNews) {
        this.seeds = seeds;
        this.config = config;
        this.onNews = onNews;
        this.rota = new Rota(seeds);
    }

    void start() {
        loop.start();
    }

    /** Notes that a node answered, or that it did not: then all are asked more often, until it does again. */
    void troubled(String address, boolean now) {
        if (now) {
            if (troubled.add(address)) {
                loop.wake();
            }
        } else if (!troubled.isEmpty()) {
            troubled.remove(address);
        }
    }

    boolean isTroubled(String address) {
        return troubled.contains(address);
    }

    /** Notes that an owner has said himself that a slot is not his, and asks him whose it is. */
    void denied(int slot, ClusterNode owner) {
        lock.lock();
        try {
            slots = slots.denied(slot, owner);
            rota.prefer(owner.address());
        } finally {
            lock.unlock();
        }
    }

    /** Asks at once, and waits for what is heard from now on, until a deadline. An interrupt is kept. */
    void awaitNews(long deadline) {
        lock.lock();
        try {
            asked = true;
            loop.wake();
            boolean inTime = true;
            while (inTime && asked && !closed) {
                inTime = Uninterrupted.until(deadline, nanos -> news.awaitNanos(nanos) > 0);
            }
        } finally {
            lock.unlock();
        }
    }

    /** Whether every node that is known has failed to answer. */
    boolean isHopeless() {
        lock.lock();
        try {
            return closed || rota.isHopeless();
        } finally {
            lock.unlock();
        }
    }

    /** Why nobody knows who has a slot. */
    String troubles() {
        lock.lock();
        try {
            return closed
                    ? "The connections to the cluster have been closed"
                    : "No node of the cluster names the master: " + rota.troubles();
        } finally {
            lock.unlock();
        }
    }

    private void watch() {
        breathe();
        HostAndPort node = next();
        boolean answered = false;
        try {
            heard(node, ask(node));
            answered = true;
        } catch (RuntimeException e) {
            failed(node, e);
        }
        if (!isWanted() && !closed) {
            LockSupport.parkNanos(this, answered && troubled.isEmpty() ? PAUSE_NANOS : TROUBLED_PAUSE_NANOS);
        }
    }

    /** Bounds the questions, however many calls want news. */
    private void breathe() {
        long now = System.nanoTime();
        while (now - notBeforeNanos < 0) {
            LockSupport.parkNanos(this, notBeforeNanos - now);
            now = System.nanoTime();
        }
        notBeforeNanos = now + LEAST_PAUSE_NANOS;
    }

    /** Whether somebody waits, and there is hope. */
    private boolean isWanted() {
        lock.lock();
        try {
            return asked && !rota.isHopeless();
        } finally {
            lock.unlock();
        }
    }

    private HostAndPort next() {
        lock.lock();
        try {
            return rota.next();
        } finally {
            lock.unlock();
        }
    }

    private ClusterView ask(HostAndPort node) {
        Connections connection = connections.computeIfAbsent(node, first -> new Connections(node, config, 1));
        if (closed) {
            connection.close();
        }
        Endpoint endpoint = new Endpoint(node.toString(), workers);
        return new ClusterQuestion(node, endpoint, connection, timeoutNanos).perform(true);
    }

    private void heard(HostAndPort node, ClusterView view) {
        lock.lock();
        try {
            rota.answered(node);
            troubled.remove(node.toString());
            Slots heard = slots.heard(view);
            if (heard != slots && !closed) {
                slots = heard;
                onNews.accept(heard);
                keep(view);
            }
            // Each time: a call to a master that is gone may end, and be noted, after that was heard.
            troubled.retainAll(slots.owners().stream()
                    .map(owner -> owner.address().toString())
                    .collect(Collectors.toSet()));
            asked = false;
            news.signalAll();
        } finally {
            lock.unlock();
        }
    }

    private void failed(HostAndPort node, RuntimeException failure) {
        String message = String.valueOf(failure.getMessage());
        String trouble = message.contains("cluster support disabled")
                ? node + " is no node of a cluster: for a single server, write redis://" + node
                : message;
        lock.lock();
        try {
            if (rota.failed(node, trouble) && !closed) {
                log.warn("A node of the cluster does not say who has which slots: {}", trouble);
            }
            if (isHopeless()) {
                asked = false;
                timeoutNanos = LONG_TIMEOUT_NANOS;
            }
            news.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Goes on with the nodes that there are now, and those that were named at first. */
    private void keep(ClusterView view) {
        Set<HostAndPort> wanted = new LinkedHashSet<>(view.addresses());
        wanted.addAll(seeds);
        rota.keep(wanted);
        connections.forEach((address, connection) -> {
            if (!wanted.contains(address) && connections.remove(address, connection)) {
                connection.close();
            }
        });
    }

    @Override
    public void close() {
        lock.lock();
        try {
            closed = true;
            news.signalAll();
        } finally {
            lock.unlock();
        }
        connections.values().forEach(Connections::close);
        loop.close();
        workers.close();
    }
}
