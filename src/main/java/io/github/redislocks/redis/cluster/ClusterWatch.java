package io.github.redislocks.redis.cluster;

import io.github.redislocks.concurrent.Bell;
import io.github.redislocks.concurrent.DutyLoop;
import io.github.redislocks.concurrent.Loggers;
import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.jedis.ConnectionPool;
import io.github.redislocks.redis.jedis.Endpoint;
import io.github.redislocks.redis.jedis.IoThreads;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisClientConfig;

/**
 * The thread that has the nodes of a cluster asked which slots each master has: one node after the other, once a
 * second, faster while a node does not answer calls, and at once when a call met news. While an answer is long in
 * coming and a call waits for it, the next node is asked as well.
 */
public final class ClusterWatch implements AutoCloseable {

    private static final long PAUSE_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final long TROUBLED_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(50);
    private static final long LEAST_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(5);
    /** How long an answer may take before the next node is asked; and how long it is waited for at least. */
    private static final long PATIENCE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private static final long LEAST_TIMEOUT_NANOS = TimeUnit.SECONDS.toNanos(1);

    private enum Answer {
        HEARD,
        NONE,
        NOT_YET
    }

    private final List<HostAndPort> seeds;
    private final JedisClientConfig config;
    private final Consumer<SlotMap> onNews;
    private final long timeoutNanos;
    private final IoThreads workers;
    private final DutyLoop loop;
    /** Addresses of nodes that did not answer their last call. */
    private final Set<String> troubled = ConcurrentHashMap.newKeySet();

    private final ReentrantLock lock = new ReentrantLock();
    private final Bell news = new Bell();
    private final NodeRotation rota;
    private final Map<HostAndPort, ConnectionPool> connections = new ConcurrentHashMap<>();
    private SlotMap slots = SlotMap.UNKNOWN;
    /** Of the thread that asks. */
    private long notBeforeNanos = System.nanoTime();

    /** Whether somebody waits for an answer. */
    private boolean asked;

    private volatile boolean closed;

    /**
     * @param timeoutNanos how long an answer is worth waiting for
     * @param onNews told of each change, by one thread at a time, which holds a lock meanwhile; again, if it throws
     */
    public ClusterWatch(
            List<HostAndPort> seeds, JedisClientConfig config, long timeoutNanos, Consumer<SlotMap> onNews) {
        this(seeds, config, timeoutNanos, onNews, Threads.DAEMONS);
    }

    /** With threads of a client. */
    public ClusterWatch(
            List<HostAndPort> seeds,
            JedisClientConfig config,
            long timeoutNanos,
            Consumer<SlotMap> onNews,
            Threads threads) {
        this.workers = new IoThreads(threads, "cluster");
        this.loop = new DutyLoop(threads, "cluster", this::watch);
        this.seeds = seeds;
        this.config = config;
        this.onNews = onNews;
        this.timeoutNanos = Math.max(LEAST_TIMEOUT_NANOS, timeoutNanos);
        this.rota = new NodeRotation(seeds);
    }

    public void start() {
        loop.start();
    }

    /** Notes that a node answered, or that it did not: then all are asked more often, until it does again. */
    public void troubled(String address, boolean now) {
        if (now) {
            if (troubled.add(address)) {
                loop.wake();
            }
        } else if (!troubled.isEmpty()) {
            troubled.remove(address);
        }
    }

    public boolean isTroubled(String address) {
        return troubled.contains(address);
    }

    /** Notes that the master of a slot has said itself that the slot is not its own, and asks it for the new one. */
    public void denied(int slot, ClusterNode owner) {
        lock.lock();
        try {
            slots = slots.denied(slot, owner);
            rota.prefer(owner.address());
        } finally {
            lock.unlock();
        }
    }

    /** Asks at once, and waits for what is heard from now on, until a deadline. An interrupt is kept. */
    public void awaitNews(long deadline) {
        lock.lock();
        try {
            asked = true;
        } finally {
            lock.unlock();
        }
        loop.wake();
        news.await(deadline, () -> !isAsked());
    }

    /** Whether somebody waits for an answer that may come. */
    private boolean isAsked() {
        lock.lock();
        try {
            return asked && !closed;
        } finally {
            lock.unlock();
        }
    }

    /** Whether every node that is known has failed to answer. */
    public boolean isHopeless() {
        lock.lock();
        try {
            return closed || rota.isHopeless();
        } finally {
            lock.unlock();
        }
    }

    /** Why the master of a slot is unknown. The cause is a refusal if refusals are all that the nodes answer. */
    public RedisException.Unanswered troubles() {
        lock.lock();
        try {
            String text = closed
                    ? "The connections to the cluster have been closed"
                    : "No node of the cluster names the master: " + rota.troubles();
            return new RedisException.Unanswered(text, false, closed ? null : rota.refusal());
        } finally {
            lock.unlock();
        }
    }

    private void watch() {
        breathe();
        HostAndPort node = next();
        Answer answer = node == null ? Answer.NOT_YET : answer(node);
        if ((!isWanted() || node == null) && !closed) {
            boolean soon = node == null || answer == Answer.NONE || !troubled.isEmpty();
            LockSupport.parkNanos(this, soon ? TROUBLED_PAUSE_NANOS : PAUSE_NANOS);
        }
    }

    /** Has a worker ask, and waits a moment for the answer; what comes later is heard as well. */
    private Answer answer(HostAndPort node) {
        CompletableFuture<Answer> answer = new CompletableFuture<>();
        boolean begun = false;
        try {
            workers.execute(() -> {
                answer.complete(ask(node));
                loop.wake();
            });
            begun = true;
        } catch (RejectedExecutionException closing) {
            return Answer.NONE;
        } finally {
            if (!begun) {
                failed(node, "it could not be asked", null);
            }
        }
        long deadline = System.nanoTime() + PATIENCE_NANOS;
        while (!answer.isDone() && !closed && deadline - System.nanoTime() > 0) {
            LockSupport.parkNanos(this, deadline - System.nanoTime());
        }
        return answer.getNow(Answer.NOT_YET);
    }

    /** A worker's part. */
    private Answer ask(HostAndPort node) {
        String trouble = "it could not be asked";
        RuntimeException thrown = null;
        boolean heard = false;
        try {
            heard(node, view(node));
            heard = true;
        } catch (RuntimeException e) {
            trouble = String.valueOf(e.getMessage());
            thrown = e;
            if (trouble.contains("cluster support disabled")) {
                trouble = node + " is no node of a cluster: for a single server, write redis://" + node;
                thrown = new RedisException.Refused(trouble, e);
            }
        } finally {
            if (!heard) {
                failed(node, trouble, thrown);
            }
        }
        return heard ? Answer.HEARD : Answer.NONE;
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

    /** Null if each is being asked. */
    private @Nullable HostAndPort next() {
        lock.lock();
        try {
            return rota.next();
        } finally {
            lock.unlock();
        }
    }

    private ClusterView view(HostAndPort node) {
        ConnectionPool connection = connections.computeIfAbsent(node, first -> new ConnectionPool(node, config, 1));
        if (closed) {
            connection.close();
        }
        Endpoint endpoint = new Endpoint(node.toString(), workers);
        return new ClusterRequest(node, endpoint, connection, timeoutNanos).perform(true);
    }

    private void heard(HostAndPort node, ClusterView view) {
        lock.lock();
        try {
            rota.answered(node);
            troubled.remove(node.toString());
            SlotMap heard =
                    slots.heard(view, owner -> isTroubled(owner.address().toString()));
            if (heard != slots && !closed) {
                // First: if that goes wrong, the next answer has it done.
                onNews.accept(heard);
                slots = heard;
                keep(view);
            }
            // Each time: a call to a master that is gone may end, and be noted, after that was heard.
            troubled.retainAll(slots.owners().stream()
                    .map(owner -> owner.address().toString())
                    .collect(Collectors.toSet()));
            asked = false;
            news.ring();
        } finally {
            lock.unlock();
        }
    }

    private void failed(HostAndPort node, String trouble, @Nullable RuntimeException thrown) {
        lock.lock();
        try {
            boolean news = rota.failed(node, trouble, thrown, System.nanoTime()) && !closed;
            if (isHopeless()) {
                asked = false;
            }
            this.news.ring();
            if (news) {
                Loggers.CONNECTION.warn("A node of the cluster does not say who has which slots: {}", trouble);
            }
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
            news.ring();
        } finally {
            lock.unlock();
        }
        connections.values().forEach(ConnectionPool::close);
        loop.close();
        workers.close();
    }
}
