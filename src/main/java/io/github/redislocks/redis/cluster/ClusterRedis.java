package io.github.redislocks.redis.cluster;

import io.github.redislocks.concurrent.IoThreads;
import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.redis.Address;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.redis.Servers;
import io.github.redislocks.redis.SingleServer;
import io.github.redislocks.redis.topology.Topology;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;

/**
 * A cluster as one Redis: each call goes to the master that has the slot of the call's first key.
 * {@link RedirectedCall} describes how a call finds its master while slots move.
 *
 * <p>{@link ClusterMasters} describes what happens when a new master takes over a slot.
 */
public final class ClusterRedis implements Redis {

    /** The most nodes to which a call of a batch is sent, one after the other. */
    private static final int BATCH_TRIPS = 3;

    private final String address;
    private final ClusterMasters masters;
    private final IoThreads workers;
    private final AtomicInteger subscriptions = new AtomicInteger();
    private final NodeWatches watches;

    public ClusterRedis(Topology.Cluster topology, Servers servers, long timeoutNanos, Threads threads) {
        workers = new IoThreads(threads, "cluster-batch");
        address = topology.nodes().stream()
                .map(Address::toString)
                .collect(Collectors.joining(",", "the cluster of ", ""));
        masters = new ClusterMasters(
                address,
                servers,
                news -> new ClusterWatch(topology.nodes(), servers, timeoutNanos, news, threads),
                System::nanoTime);
        watches = new NodeWatches(masters::all, threads, timeoutNanos);
    }

    /** Starts to ask the nodes about their slots, without waiting for a reply. */
    public ClusterRedis start() {
        masters.start();
        return this;
    }

    @Override
    public void onMoved(Runnable listener) {
        masters.onMoved(listener);
    }

    @Override
    public void find(String key, long timeoutNanos) {
        masters.owner(masters.slotOf(key), System.nanoTime() + timeoutNanos);
    }

    @Override
    public Reply run(Call call, long timeoutNanos) {
        RedirectedCall redirected = new RedirectedCall(masters, call, timeoutNanos);
        while (true) {
            SingleServer server = redirected.next();
            server.openLane(timeoutNanos);
            Outcome outcome = redirected.isAsking()
                    ? server.runAsking(call, redirected.left())
                    : run(server, call, redirected.left());
            if (redirected.settle(outcome)) {
                return redirected.result();
            }
            redirected.pause();
        }
    }

    private static Outcome run(SingleServer server, Call call, long timeoutNanos) {
        try {
            return Outcome.of(server.run(call, timeoutNanos));
        } catch (RedisException e) {
            return Outcome.of(e);
        }
    }

    /**
     * Sends redirected calls to the next node at once. Does not wait for a slot that is being moved, since the other
     * calls of the batch would wait, too.
     */
    @Override
    public List<Outcome> runAll(List<Call> calls, long timeoutNanos) {
        List<RedirectedCall> all = calls.stream()
                .map(call -> new RedirectedCall(masters, call, timeoutNanos))
                .toList();
        List<RedirectedCall> open = all;
        for (int trip = 1; trip <= BATCH_TRIPS && !open.isEmpty(); trip++) {
            if (trip > 1) {
                open.stream()
                        .filter(RedirectedCall::wantsNews)
                        .findFirst()
                        .orElse(open.get(0))
                        .pause();
            }
            Map<SingleServer, List<RedirectedCall>> plain = new LinkedHashMap<>();
            Map<SingleServer, List<RedirectedCall>> asking = new LinkedHashMap<>();
            for (RedirectedCall redirected : open) {
                try {
                    SingleServer server = redirected.next();
                    (redirected.isAsking() ? asking : plain)
                            .computeIfAbsent(server, first -> new ArrayList<>())
                            .add(redirected);
                } catch (RedisException nobody) {
                    redirected.fail(nobody);
                }
            }
            plain.forEach(this::watch);
            List<Runnable> batches = new ArrayList<>();
            plain.forEach((server, part) -> batches.add(
                    () -> settle(part, server.runAll(calls(part), part.get(0).left()))));
            asking.forEach((server, part) -> batches.add(() ->
                    settle(part, server.runAllAsking(calls(part), part.get(0).left()))));
            atOnce(batches);
            open = open.stream().filter(redirected -> !redirected.isDone()).toList();
        }
        return all.stream().map(RedirectedCall::outcome).toList();
    }

    private void watch(SingleServer server, List<RedirectedCall> calls) {
        if (calls.stream().anyMatch(each -> each.call().request().renews())) {
            watches.want(server);
        }
    }

    private static List<Call> calls(List<RedirectedCall> all) {
        return all.stream().map(RedirectedCall::call).toList();
    }

    private static void settle(List<RedirectedCall> all, List<Outcome> outcomes) {
        for (int i = 0; i < all.size(); i++) {
            all.get(i).settle(outcomes.get(i));
        }
    }

    /** Runs the first batch on the calling thread and the others on separate threads. Returns when all are done. */
    private void atOnce(List<Runnable> batches) {
        List<CompletableFuture<Void>> others = new ArrayList<>();
        for (Runnable batch : batches.subList(Math.min(1, batches.size()), batches.size())) {
            try {
                others.add(CompletableFuture.runAsync(batch, workers::execute));
            } catch (RejectedExecutionException noThread) {
                batch.run();
            }
        }
        if (!batches.isEmpty()) {
            batches.get(0).run();
        }
        others.forEach(CompletableFuture::join);
    }

    /**
     * Subscribes at another node each time, so that a node that hangs is not used twice in a row. The master of the
     * channel's slot, to which messages are published, is the last choice.
     */
    @Override
    public Subscription subscribe(String channel, long timeoutNanos) {
        long deadline = System.nanoTime() + timeoutNanos;
        SingleServer sender = masters.owner(masters.slotOf(channel), deadline);
        List<SingleServer> servers = masters.all();
        servers.remove(sender);
        if (!servers.isEmpty()) {
            Collections.rotate(servers, -Math.floorMod(subscriptions.getAndIncrement(), servers.size()));
        }
        servers.add(sender);
        servers.sort(Comparator.comparing(server -> masters.isTroubled(server.address())));
        for (int tried = 1; ; tried++) {
            SingleServer server = servers.get(tried - 1);
            long left = Math.max(1, deadline - System.nanoTime());
            boolean last = tried == servers.size();
            try {
                return server.subscribe(channel, last ? left : Math.max(1, left / 2));
            } catch (RedisException.Unanswered e) {
                masters.note(server, e);
                if (last || deadline - System.nanoTime() <= 0) {
                    throw e;
                }
            }
        }
    }

    /** Subscribes at each master, since each master reports only keys that were read there. */
    @Override
    public Subscription watch(String channel, Watcher watcher, long timeoutNanos) {
        Subscription subscription = subscribe(channel, timeoutNanos);
        watches.start(watcher);
        return subscription;
    }

    @Override
    public void publish(String channel, String message, long timeoutNanos) {
        long deadline = System.nanoTime() + timeoutNanos;
        SingleServer server = masters.owner(masters.slotOf(channel), deadline);
        if (masters.isTroubled(server.address())) {
            // Publish at a node that answers: every node forwards a message to all nodes.
            server = masters.all().stream()
                    .filter(other -> !masters.isTroubled(other.address()))
                    .findFirst()
                    .orElse(server);
        }
        try {
            server.publish(channel, message, Math.max(1, deadline - System.nanoTime()));
        } catch (RedisException e) {
            masters.note(server, e);
            throw e;
        }
    }

    @Override
    public List<? extends Redis> servers() {
        return masters.all();
    }

    @Override
    public int connections() {
        return masters.all().stream().mapToInt(SingleServer::connections).sum();
    }

    @Override
    public boolean hasOneSlot() {
        return false;
    }

    @Override
    public String serverOf(String key) {
        SingleServer server = masters.owner(masters.slotOf(key));
        return server == null ? "" : server.address();
    }

    @Override
    public String address() {
        return address;
    }

    @Override
    public void close() {
        masters.close();
        workers.close();
    }
}
