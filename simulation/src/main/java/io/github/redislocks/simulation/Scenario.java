package io.github.redislocks.simulation;

import io.github.redislocks.LockUnavailableException;
import io.github.redislocks.simulation.agent.Places;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.PermitOwner;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;

/** The content of a schedule: clients, callers, faults, and the checks after each step and at the end. */
final class Scenario {

    private static final long SECOND = 1_000_000_000;
    private static final long MILLISECOND = 1_000_000;
    private static final int CLIENTS = 2;
    /** In one of this many schedules with a single server, some callers read or use permits. */
    private static final int SHARED_ONE_IN = Integer.getInteger("simulation.sharedOneIn", 3);
    /**
     * Longer than a waiter may have to wait for a free lock: the time to live of a place, a heartbeat, and an outage.
     */
    private static final long FREE_NANOS = 8 * SECOND;
    /** After this time nothing may be left of an unused lock: longer than any lease plus any fault. */
    private static final long LEFT_NANOS = 20 * SECOND;
    /** The same in a schedule without faults: longer than any lease. */
    private static final long CALM_NANOS = 4 * SECOND;
    /**
     * The time in which a holder has to learn, without a fault, that Redis does not have its hold: a renewal and its
     * answer.
     */
    private static final long NOTICED_NANOS = 1_200 * MILLISECOND;
    /** The time in which a message arrives and the client asks Redis. */
    private static final long MESSAGE_NANOS = 150 * MILLISECOND;
    /** The default lease, and the time by which a kept lock may exceed it. */
    private static final long LEASE_MILLIS = 2050;
    /** The time after which a waiting caller is given a thing. */
    private static final long GIVEN_NANOS = 2 * SECOND;
    /** The time after which no thread of a closed client may be left. */
    private static final long THREADS_NANOS = 3 * SECOND;

    /**
     * The parts of a schedule. Shrinking leaves some of them out.
     *
     * @param left the numbers of faults that are left out
     * @param preemptOneIn a thread is preempted at one of this many points; 0 for never; -1 to let the seed decide
     */
    record Input(long seed, Set<Integer> left, int operations, int callers, int preemptOneIn) {}

    final World world;
    final Server server;
    final Ledger ledger;
    final Store store = new Store();
    final Caller.Operation[] operations;
    final List<String> names = List.of("L0", "L1");
    private final Input input;
    private final List<Fault> plan;
    private final Client.Options options;
    private final Seeded random;
    private final Client[] clients = new Client[World.CLIENTS];
    private final List<Caller> callers = new ArrayList<>();
    private final Map<Thread, Client> threads = new HashMap<>();

    private int made;

    Scenario(World world, Input input) {
        this.world = world;
        this.input = input;
        this.random = new Seeded(input.seed * 17 + 3);
        this.options = Client.Options.of(random);
        Caller.Operation[] plain = Caller.some(random);
        Seeded shares = new Seeded(input.seed * 19 + 5);
        boolean shared = options.nodes() == 1 && shares.oneIn(SHARED_ONE_IN);
        this.operations = shared ? Caller.shared(shares) : plain;
        this.server = new Server(world, names, options, shared);
        this.ledger = new Ledger(world, server);
        Fault.Aim aim = server.isQuorum() ? Fault.Aim.QUORUM : shared ? Fault.Aim.SHARED : Fault.Aim.PLAIN;
        this.plan = new ArrayList<>(Fault.plan(input.seed, CLIENTS, aim));
        plan.removeIf(fault -> input.left.contains(fault.number()));
        plan.stream().filter(fault -> fault.kind() == Fault.Kind.STALL_THREAD).forEach(this::stalls);
    }

    private void stalls(Fault fault) {
        world.stall(fault.client(), Places.number(fault.script()), fault.nth(), fault.nanos(), () -> {
            world.event("c%d meets %s", fault.client(), fault);
            world.logFault("c" + fault.client(), fault.kind().name(), fault.nanos());
        });
    }

    List<Fault> plan() {
        return plan;
    }

    Client.Options options() {
        return options;
    }

    boolean isFair() {
        return options.fair();
    }

    boolean isWithoutFaults() {
        return plan.isEmpty();
    }

    /** The work of the first thread, which belongs to no client. */
    void run() {
        try {
            for (int i = 0; i < CLIENTS; i++) {
                begin(input.operations);
            }
            world.check(this::checkExclusion);
            disturb();
            watchWaiters();
            awaitCallers();
            world.event("all callers have ended");
            awaitNothingLeft();
            for (int i = 0; i < made; i++) {
                close(clients[i], Duration.ZERO);
            }
            checkLeft();
        } catch (Throwable e) {
            world.fail("scenario: " + Caller.text(e));
        } finally {
            world.end();
        }
    }

    /** Makes a client and starts its callers. */
    private void begin(int operations) {
        int number = made++;
        world.drift(number, random.below(5001) - 2500);
        Seeded numbers = random.another();
        Thread maker = world.thread(number, "maker", () -> {
            try {
                clients[number] = new Client(this, number, plan, options, numbers.another(), () -> replace(number));
            } catch (LockUnavailableException e) {
                world.event("c%d is not made: %s", number, e.getMessage());
                if (isWithoutFaults()) {
                    world.fail("client: " + Caller.text(e));
                }
            } catch (Throwable e) {
                world.fail("client: " + Caller.text(e));
            }
        });
        awaitEnd(maker, number);
        if (clients[number] == null) {
            return;
        }
        for (int i = 0; i < input.callers + (server.isShared() ? 1 : 0); i++) {
            Caller caller = new Caller(this, clients[number], "caller " + i + " of c" + number, numbers.another());
            callers.add(caller);
            start(clients[number], "caller-" + number + "-" + i, () -> caller.run(operations));
        }
    }

    /** Starts a thread of an application. The schedule waits for its end. */
    Thread start(Client client, String name, Runnable work) {
        Thread thread = world.thread(client.number, name, work);
        threads.put(thread, client);
        thread.start();
        return thread;
    }

    /** Starts another process in place of one that is gone. */
    private void replace(int number) {
        world.event("c%d is gone", number);
        if (made < Network.NOBODY) {
            world.thread(Network.NOBODY, "restart", () -> begin(2)).start();
        }
    }

    /** In some schedules, interrupts callers now and then, and closes a client while its callers are working. */
    private void disturb() {
        boolean interrupts = random.oneIn(3);
        boolean closes = random.oneIn(6);
        Seeded numbers = random.another();
        List<Thread> first = new ArrayList<>(threads.keySet());
        first.sort((a, b) -> a.getName().compareTo(b.getName()));
        world.thread(Network.NOBODY, "disturber", () -> {
                    for (int i = 0; interrupts && i < 4; i++) {
                        LockSupport.parkNanos(numbers.between(MILLISECOND, SECOND));
                        Thread one = first.get(numbers.below(first.size()));
                        world.event("%s is interrupted", one.getName());
                        one.interrupt();
                    }
                    if (closes) {
                        LockSupport.parkNanos(numbers.between(MILLISECOND, SECOND));
                        close(clients[numbers.below(CLIENTS)], Duration.ofNanos(numbers.between(0, SECOND)));
                    }
                })
                .start();
    }

    private void close(Client client, Duration drain) {
        if (client == null || world.isKilled(client.number) || client.isClosed()) {
            return;
        }
        awaitEnd(world.thread(client.number, "closer-" + client.number, () -> client.close(drain)), client.number);
    }

    /** Waits until a thread of a client has ended or its process was killed. */
    private void awaitEnd(Thread thread, int client) {
        thread.start();
        while (thread.isAlive() && !world.isKilled(client)) {
            LockSupport.parkNanos(10 * MILLISECOND);
        }
    }

    private void awaitCallers() {
        while (threads.entrySet().stream()
                .anyMatch(each -> each.getKey().isAlive() && !world.isKilled(each.getValue().number))) {
            LockSupport.parkNanos(200 * MILLISECOND);
        }
    }

    /** Fails if a caller waits for long for a free lock, or learns of a loss too late. */
    private void watchWaiters() {
        world.thread(Network.NOBODY, "waiters", () -> {
                    Map<String, Long> since = new HashMap<>();
                    while (true) {
                        LockSupport.parkNanos(isWithoutFaults() ? 25 * MILLISECOND : 200 * MILLISECOND);
                        for (String name : names) {
                            if (lasts(since, name, waits(name) && server.isFree(name), FREE_NANOS)) {
                                world.fail("somebody waits for " + name + ", which nobody has");
                            }
                            watchReaders(name, since);
                            Caller needy = needy(name);
                            boolean unheard = needy != null && !store.isEmpty(name);
                            if (lasts(since, name + " unheard", unheard && server.isFree(name), FREE_NANOS)) {
                                world.fail("somebody waits for a signal of " + name + " that was given");
                            }
                            if (needy != null && !unheard && world.now() - needy.needsSince() > GIVEN_NANOS) {
                                needy.isGiven(name);
                            }
                        }
                        boolean served = waits(Server.POOL) && server.pool().servesFirst();
                        if (lasts(since, Server.POOL, served, FREE_NANOS)) {
                            world.fail("somebody waits for permits, and enough are free");
                        }
                        if (isWithoutFaults() && !server.isQuorum()) {
                            checkAgreement(since);
                        }
                    }
                })
                .start();
    }

    /** Fails if a reader waits for long and nobody writes, or a writer waits for long and nobody reads. */
    private void watchReaders(String name, Map<String, Long> since) {
        Order order = server.order(name);
        boolean idle = waitsToRead(name) && order.isReadable();
        if (lasts(since, name + " idle", idle, FREE_NANOS)) {
            world.fail("somebody waits to read under " + name + ", and nobody writes");
        }
        boolean unread = waits(name) && order.isReading() && !ledger.isRead(name);
        if (lasts(since, name + " unread", unread && !waitsToRead(name), FREE_NANOS)) {
            world.fail("somebody waits to write under " + name + ", and nobody reads");
        }
    }

    private boolean waitsToRead(String name) {
        return callers.stream()
                .anyMatch(caller -> name.equals(caller.waitsFor()) && caller.waitsToRead() && !caller.isStopped());
    }

    /** Whether a condition has been true for longer than the given time. */
    private boolean lasts(Map<String, Long> since, String what, boolean isSo, long nanos) {
        if (!isSo) {
            since.remove(what);
            return false;
        }
        return world.now() - since.computeIfAbsent(what, key -> world.now()) > nanos;
    }

    private boolean waits(String name) {
        return callers.stream().anyMatch(caller -> name.equals(caller.waitsFor()) && !caller.isStopped());
    }

    /** The caller that has waited longest for a thing under a lock; null if no caller waits. */
    private Caller needy(String name) {
        return callers.stream()
                .filter(caller -> name.equals(caller.needs()) && !caller.isStopped())
                .min(Comparator.comparingLong(Caller::needsSince))
                .orElse(null);
    }

    /**
     * Checks that clients and Redis agree on each lock after a short time, in schedules in which no fault can delay
     * this.
     */
    private void checkAgreement(Map<String, Long> since) {
        for (int i = 0; i < made; i++) {
            Client client = clients[i];
            if (client != null && !client.isClosed()) {
                client.looked();
                List<Hold> valid = new ArrayList<>(4);
                client.addValid(valid);
                valid.forEach(hold -> checkNoticed(client, hold, since));
                names.forEach(name -> checkKnown(client, name, since));
                checkOthersKnown(client, since);
            }
        }
    }

    /** Checks that a hold that Redis does not have is valid only for a short time, unless nobody asks about it. */
    private void checkNoticed(Client client, Hold hold, Map<String, Long> since) {
        String name = hold.keys().name();
        boolean gone = !server.has(hold);
        boolean plain = !hold.owner.isShared() && !hold.keys().arePermits();
        boolean heard = plain
                && (options.watchDeletions()
                        || server.wasForced(name, hold.token) && client.hasListenedSince(hold.acquiredNanos));
        if (lasts(
                since,
                hold.lock() + " gone " + hold.attempt,
                gone && (hold.isRenewed() || heard),
                heard ? MESSAGE_NANOS : NOTICED_NANOS)) {
            world.fail("a holder of " + name + " does not learn of its loss, token " + hold.token);
        }
        boolean outlasts = plain && hold.use() == null && server.pttlMillis(name) > LEASE_MILLIS;
        if (lasts(since, name + " long " + hold.token, !gone && outlasts, MESSAGE_NANOS)) {
            world.fail(client + " keeps " + name + " for " + server.pttlMillis(name) + " ms");
        }
    }

    /** Checks that a lock of a client in Redis belongs to a thread or handle, or is being handed to one. */
    private void checkKnown(Client client, String name, Map<String, Long> since) {
        String owner = server.field(name, "owner");
        String attempt = server.field(name, "attempt");
        boolean unknown =
                owner != null && client.isOwner(owner) && attempt != null && !client.knows(Long.parseLong(attempt));
        if (lasts(since, name + " of nobody in " + client, unknown, MESSAGE_NANOS)) {
            world.fail(client + " has " + name + " in Redis, and none of its threads knows");
        }
    }

    /** Checks that the shares and permits of a client in Redis belong to its threads or handles. */
    private void checkOthersKnown(Client client, Map<String, Long> since) {
        for (String name : names) {
            Long share = server.order(name).shareOf(client.id());
            boolean unknown = share != null && !client.knows(share);
            if (lasts(since, name + " read by nobody in " + client + share, unknown, MESSAGE_NANOS)) {
                world.fail(client + " has a share of " + name + " in Redis, and none of its threads knows");
            }
        }
        for (String place : server.pool().owners()) {
            boolean unknown =
                    client.isOwner(place) && !client.knows(Long.parseLong(place.substring(place.lastIndexOf(':') + 1)));
            if (lasts(since, "permits of nobody: " + place, unknown, MESSAGE_NANOS)) {
                world.fail(client + " has permits in Redis, and none of its handles knows");
            }
        }
    }

    /**
     * Checks that at most one hold of each lock is valid, each by the clock of its client, or shares only; and that no
     * permit has two owners.
     */
    private void checkExclusion() {
        if (server.isShared()) {
            noteListeners();
        }
        List<Hold> valid = valid();
        for (int i = 0; i < valid.size(); i++) {
            for (int j = i + 1; j < valid.size(); j++) {
                checkTwo(valid.get(i), valid.get(j));
            }
        }
    }

    private void noteListeners() {
        for (int i = 0; i < made; i++) {
            if (clients[i] != null) {
                server.listens(clients[i].id(), clients[i].listens());
            }
        }
    }

    private List<Hold> valid() {
        List<Hold> valid = new ArrayList<>(4);
        for (int i = 0; i < made; i++) {
            if (clients[i] != null && !world.isKilled(i)) {
                clients[i].addValid(valid);
            }
        }
        return valid;
    }

    private void checkTwo(Hold one, Hold other) {
        if (one.lock().equals(other.lock()) && !mayBeBoth(one, other)) {
            if (isPromised(one) && isPromised(other)) {
                world.fail("two valid holds of " + one.lock() + ", tokens " + one.token + " and " + other.token);
            }
        }
    }

    /** Whether two holds of one lock or pool may be valid at the same time. */
    private static boolean mayBeBoth(Hold one, Hold other) {
        if (one.owner instanceof PermitOwner first && other.owner instanceof PermitOwner second) {
            return Collections.disjoint(
                    List.of(first.numbers().split(" ")),
                    List.of(second.numbers().split(" ")));
        }
        return one.owner.isShared() && other.owner.isShared();
    }

    private boolean isPromised(Hold hold) {
        String name = hold.keys().name();
        // The token of a share is that of the last writer: it does not say when the share began.
        return hold.owner.isShared() ? server.isPromised(name) : server.isPromised(name, hold.token);
    }

    /**
     * Waits until the background work has ended: all locks are free, and nobody waits. Fails if that does not happen.
     */
    private void awaitNothingLeft() {
        long until = world.now() + (isWithoutFaults() ? CALM_NANOS : LEFT_NANOS);
        String left = left();
        while (!left.isEmpty() && world.now() < until) {
            LockSupport.parkNanos(50 * MILLISECOND);
            left = left();
        }
        if (!left.isEmpty()) {
            world.fail("nobody uses a lock, and " + left);
        }
    }

    private String left() {
        for (int i = 0; i < made; i++) {
            if (clients[i] != null && !world.isKilled(i) && !clients[i].isClosed()) {
                String left = clients[i].left();
                if (!left.isEmpty()) {
                    return left;
                }
            }
        }
        return server.left(this::isGone);
    }

    /** Whether the process of an owner was killed. */
    private boolean isGone(String owner) {
        for (int i = 0; i < made; i++) {
            if (owner.contains(":c" + i + ".")) {
                return world.isKilled(i);
            }
        }
        return false;
    }

    /** Checks that nothing is left of closed clients: no thread, no possession without an end, no lasting key. */
    private void checkLeft() {
        for (int i = 0; i < made; i++) {
            Client client = clients[i];
            if (client != null && client.isClosed()) {
                long until = world.now() + THREADS_NANOS;
                while (client.hasThreads() && world.now() < until) {
                    LockSupport.parkNanos(10 * MILLISECOND);
                }
                if (client.hasThreads()) {
                    world.fail("c" + i + " is closed and has threads");
                }
                client.events.checkEnded();
            }
        }
        ledger.checkTold();
        String lasting = server.lastingKey();
        if (lasting != null) {
            world.fail("the key " + lasting + " does not expire");
        }
    }
}
