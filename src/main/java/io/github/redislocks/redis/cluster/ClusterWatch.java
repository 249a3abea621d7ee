package io.github.redislocks.redis.cluster;

import io.github.redislocks.concurrent.Loggers;
import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.redis.Address;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Servers;
import io.github.redislocks.redis.topology.Observer;
import io.github.redislocks.redis.topology.TopologyWatch;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Asks the nodes of a cluster, one after the other, which master has which slots: once a second, more often while a
 * node does not answer calls, and at once after a redirected call. If a reply takes long while a call waits for it, the
 * watch asks the next node as well.
 */
public final class ClusterWatch extends TopologyWatch<ClusterView> {

    private static final long PAUSE_NANOS = TimeUnit.SECONDS.toNanos(1);
    /** How long a reply may take before the watch asks the next node as well. */
    private static final long PATIENCE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    /** After this number of questions, one question goes to the next node even if that node failed last time. */
    private static final int TURNS_PER_FAILED = 4;

    private static final List<List<String>> NODES_AND_SLOTS =
            List.of(List.of("CLUSTER", "NODES"), List.of("CLUSTER", "SLOTS"));

    private final List<Address> seeds;
    private final Consumer<SlotMap> onNews;
    /** Addresses of nodes that did not answer their last call. */
    private final Set<String> troubled = ConcurrentHashMap.newKeySet();

    /** The current slot map. The lock guards this field and the fields below. */
    private SlotMap slots = SlotMap.UNKNOWN;

    private @Nullable Address preferred;
    private int turn;
    /** Whether the last question got no usable reply: none, or the view of another cluster. */
    private boolean failed;
    /** Whether a call waits for a reply. */
    private boolean wanted;
    /** Whether more than half of the seeds have named the present cluster. */
    private boolean chosenByMost;

    /**
     * @param timeoutNanos how long to wait for a reply
     * @param onNews called with each new slot map, by one thread at a time that holds the lock of the watch; called
     *     again if it throws
     */
    public ClusterWatch(
            List<Address> seeds, Servers servers, long timeoutNanos, Consumer<SlotMap> onNews, Threads threads) {
        super("cluster", seeds, servers, timeoutNanos, PATIENCE_NANOS, threads);
        this.seeds = seeds;
        this.onNews = onNews;
    }

    /** Notes whether a node answers calls. While a node does not, the watch asks more often. */
    public void troubled(String address, boolean now) {
        if (now) {
            if (troubled.add(address)) {
                wake();
            }
        } else if (!troubled.isEmpty()) {
            troubled.remove(address);
        }
    }

    public boolean isTroubled(String address) {
        return troubled.contains(address);
    }

    /**
     * Notes that a slot's master has replied that it does not have the slot. That node is asked next, since it names
     * the new master.
     */
    public void denied(int slot, ClusterNode owner) {
        lock.lock();
        try {
            slots = slots.denied(slot, owner);
            preferred = owner.address();
        } finally {
            lock.unlock();
        }
    }

    /**
     * Asks at once, and waits for the next reply, until {@code deadline} at most. An interrupt does not end the wait;
     * its flag is set again.
     */
    public void awaitNews(long deadline) {
        lock.lock();
        try {
            wanted = true;
        } finally {
            lock.unlock();
        }
        wake();
        await(deadline, () -> !isWanted());
    }

    /** Whether a call waits for a reply that may still come. */
    private boolean isWanted() {
        lock.lock();
        try {
            return wanted && !isClosed();
        } finally {
            lock.unlock();
        }
    }

    /**
     * Makes the exception for a call whose slot has no known master. The cause is a refusal if every node has refused.
     */
    public RedisException.Unanswered troubles() {
        return troubles(
                "The connections to the cluster have been closed",
                "No node of the cluster names the master",
                node -> node.address + (node.isAsked() ? " has not answered yet" : " has not named a master"));
    }

    /**
     * Chooses a node that redirected a call, if there is one. Otherwise chooses the next node that replied last time;
     * now and then, chooses the next node in any case.
     */
    @Override
    @Nullable
    protected Observer<ClusterView> next(List<Observer<ClusterView>> free, long now) {
        Address first = preferred;
        preferred = null;
        boolean any = turn++ % TURNS_PER_FAILED == 0;
        return free.stream()
                .filter(node -> node.address.equals(first))
                .findFirst()
                .or(() -> free.stream()
                        .filter(node -> any || node.trouble() == null)
                        .findFirst())
                .or(() -> free.stream().findFirst())
                .orElse(null);
    }

    @Override
    protected long pauseNanos(List<Observer<ClusterView>> free, long now) {
        if (wanted && !isHopeless() && !free.isEmpty()) {
            return 0;
        }
        return failed || free.isEmpty() || !troubled.isEmpty() ? TROUBLED_PAUSE_NANOS : PAUSE_NANOS;
    }

    /**
     * Asks for the epochs before the owners of the slots. In the other order, an old owner could come with a new epoch,
     * and would be believed for ever.
     */
    @Override
    protected ClusterView ask(Observer<ClusterView> node) {
        List<Object> replies = question(node, "the slots of the cluster", NODES_AND_SLOTS);
        return ClusterView.of(node.address, replies.get(0), replies.get(1));
    }

    @Override
    @Nullable
    protected String use(Observer<ClusterView> from, ClusterView view, long now) {
        troubled.remove(from.address.toString());
        SlotMap base = base(view, now);
        // An unusable reply counts as no reply: the next node is asked soon.
        failed = base == null;
        SlotMap changed = base == null
                ? slots
                : base.with(view, owner -> isTroubled(owner.address().toString()));
        if (changed != slots && !isClosed()) {
            // Call the listener before `slots` is set: if the listener throws, it is called again with the next reply.
            onNews.accept(changed);
            slots = changed;
            Set<Address> known = new LinkedHashSet<>(view.addresses());
            known.addAll(seeds);
            keep(known);
        }
        // Remove nodes that are no masters, after each reply: a call to a former master may fail late, and add it
        // again.
        troubled.retainAll(
                slots.owners().stream().map(owner -> owner.address().toString()).collect(Collectors.toSet()));
        wanted = false;
        return base != null
                ? null
                : from.address + " is a node of another cluster. This client stays while a node of its own replies, and"
                        + " unless more than half of the addresses that it knows name the other. Check that address.";
    }

    /**
     * The map to which the claims of a view are added. This is the current map if the view shares a node with it.
     * Otherwise the view is of another cluster. If most seeds name that cluster, and no node of the current cluster
     * replies, the client changes to it: the result is an empty map. Else the result is null: the view must not be
     * used.
     */
    private @Nullable SlotMap base(ClusterView view, long now) {
        Set<String> known = slots.owners().stream().map(ClusterNode::id).collect(Collectors.toSet());
        Map<Address, ClusterView> said = new HashMap<>();
        boolean isThere = false;
        for (Observer<ClusterView> node : observers()) {
            ClusterView last = node.answer();
            isThere |= last == null ? node.trouble() == null : last.isOf(known);
            if (last != null) {
                said.put(node.address, last);
            }
        }
        boolean byMost = 2 * votes(view, seeds, said) > seeds.size();
        if (view.isOf(known)) {
            chosenByMost |= byMost;
            return slots;
        }
        boolean goesOver = known.isEmpty()
                ? byMost || (mayChoose(now) && view.isOf(first(seeds, said)))
                : byMost && !(chosenByMost && isThere);
        if (!goesOver || view.claims().isEmpty()) {
            return null;
        }
        chosenByMost = byMost;
        return SlotMap.UNKNOWN;
    }

    /**
     * The number of seeds that name the cluster of a view. A seed that does not reply counts if it is a node of that
     * cluster.
     */
    public static long votes(ClusterView of, List<Address> seeds, Map<Address, ClusterView> said) {
        return seeds.stream()
                .filter(seed -> {
                    ClusterView last = said.get(seed);
                    return last == null ? of.addresses().contains(seed) : last.isOf(of.ids());
                })
                .count();
    }

    /** The nodes of the cluster that the first seed with a reply names. */
    private static Set<String> first(List<Address> seeds, Map<Address, ClusterView> said) {
        return seeds.stream()
                .flatMap(seed -> Stream.ofNullable(said.get(seed)))
                .filter(view -> !view.claims().isEmpty())
                .findFirst()
                .map(ClusterView::ids)
                .orElse(Set.of());
    }

    @Override
    protected void noReply(Observer<ClusterView> from, long now) {
        failed = true;
        if (isHopeless()) {
            wanted = false;
        }
    }

    @Override
    @Nullable
    protected String remedy(Observer<ClusterView> from, String message) {
        return message.contains("cluster support disabled")
                ? from.address + " is no node of a cluster: for a single server, write redis://" + from.address
                : null;
    }

    @Override
    protected void warn(String trouble) {
        Loggers.CONNECTION.warn("A node of the cluster does not say who has which slots: {}", trouble);
    }
}
