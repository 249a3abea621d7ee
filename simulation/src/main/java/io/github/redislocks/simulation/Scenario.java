package io.github.redislocks.simulation;

import io.github.redislocks.state.Hold;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;

/** What happens in one schedule: clients, their callers, faults, and what is checked after each step and at the end. */
final class Scenario {

    private static final long SECOND = 1_000_000_000;
    private static final long MILLISECOND = 1_000_000;
    private static final int CLIENTS = 2;
    /** Longer than a waiter may have to wait for a lock that nobody has: a place's life, a heartbeat, an outage. */
    private static final long FREE_NANOS = 8 * SECOND;
    /** After this no thread may be left of a client that is closed. */
    private static final long THREADS_NANOS = 3 * SECOND;

    /**
     * What a schedule is made of. Shrinking leaves some of it out.
     *
     * @param left the numbers of the faults that are left out
     * @param preemptOneIn at how many points a thread is preempted once; 0: never; -1: by the seed
     */
    record Input(long seed, Set<Integer> left, int operations, int callers, int preemptOneIn) {}

    final World world;
    final Server server;
    final Ledger ledger;
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
        this.server = new Server(world, names);
        this.ledger = new Ledger(world, server);
        this.plan = new ArrayList<>(Fault.plan(input.seed, CLIENTS));
        plan.removeIf(fault -> input.left.contains(fault.number()));
        this.random = new Seeded(input.seed * 17 + 3);
        this.options = Client.Options.of(random);
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

    /** The work of the first thread, which no client has. */
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

    /** Makes a client and lets its callers begin. */
    private void begin(int operations) {
        int number = made++;
        world.drift(number, random.below(5001) - 2500);
        Seeded numbers = random.another();
        Thread maker = world.thread(number, "maker", () -> {
            try {
                clients[number] =
                        new Client(world, server, number, plan, options, numbers.another(), () -> replace(number));
            } catch (Throwable e) {
                world.fail("client: " + Caller.text(e));
            }
        });
        awaitEnd(maker, number);
        if (clients[number] == null) {
            return;
        }
        for (int i = 0; i < input.callers; i++) {
            Caller caller = new Caller(this, clients[number], "caller " + i + " of c" + number, numbers.another());
            callers.add(caller);
            Thread thread = world.thread(number, "caller-" + number + "-" + i, () -> caller.run(operations));
            threads.put(thread, clients[number]);
            thread.start();
        }
    }

    /** Another process takes the place of one that is gone. */
    private void replace(int number) {
        world.event("c%d is gone", number);
        if (made < Network.NOBODY) {
            world.thread(Network.NOBODY, "restart", () -> begin(2)).start();
        }
    }

    /** Interrupts callers now and then, and closes a client while its callers are at work, in some schedules. */
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

    /** Lets a thread of a client run, until it has ended or its process is killed. */
    private void awaitEnd(Thread thread, int client) {
        thread.start();
        while (thread.isAlive() && !world.isKilled(client)) {
            LockSupport.parkNanos(10 * MILLISECOND);
        }
    }

    private void awaitCallers() {
        while (threads.entrySet().stream()
                .anyMatch(each -> each.getKey().isAlive() && !world.isKilled(each.getValue().number))) {
            LockSupport.parkNanos(50 * MILLISECOND);
        }
    }

    /** Fails if somebody waits for long, though nobody has the lock. */
    private void watchWaiters() {
        world.thread(Network.NOBODY, "waiters", () -> {
                    Map<String, Long> freeSince = new HashMap<>();
                    while (true) {
                        LockSupport.parkNanos(250 * MILLISECOND);
                        for (String name : names) {
                            boolean waitedFor = callers.stream()
                                    .anyMatch(caller -> name.equals(caller.waitsFor()) && !caller.isStopped());
                            if (!waitedFor || !server.isFree(name)) {
                                freeSince.remove(name);
                            } else if (world.now() - freeSince.computeIfAbsent(name, key -> world.now()) > FREE_NANOS) {
                                world.fail("somebody waits for " + name + ", which nobody has");
                            }
                        }
                    }
                })
                .start();
    }

    /** At most one hold of each lock is valid, by its own client's clock. */
    private void checkExclusion() {
        List<Hold> valid = new ArrayList<>(4);
        for (int i = 0; i < made; i++) {
            if (clients[i] != null && !world.isKilled(i)) {
                clients[i].addValid(valid);
            }
        }
        for (int i = 0; i < valid.size(); i++) {
            for (int j = i + 1; j < valid.size(); j++) {
                checkTwo(valid.get(i), valid.get(j));
            }
        }
    }

    private void checkTwo(Hold one, Hold other) {
        if (one.lock().equals(other.lock())) {
            String name = one.keys().name();
            if (server.isPromised(name, one.token) && server.isPromised(name, other.token)) {
                world.fail("two valid holds of " + one.lock() + ", tokens " + one.token + " and " + other.token);
            }
        }
    }

    /** Nothing may be left of clients that are closed: no thread, no possession without an end, no key that stays. */
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
        for (String key : server.redis.keys()) {
            if (server.redis.pttl(key) == -1) {
                world.fail("the key " + key + " does not expire");
            }
        }
    }
}
