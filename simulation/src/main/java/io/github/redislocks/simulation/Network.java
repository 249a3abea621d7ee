package io.github.redislocks.simulation;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.simulation.boot.Simulated;
import io.github.redislocks.testkit.twin.InMemoryRedis;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

/** The network between one client and the server, with the faults of requests and messages. */
final class Network implements Redis {

    /** The number of the client whose threads are the network itself. That client is never paused. */
    static final int NOBODY = World.CLIENTS - 1;

    private static final String[] REFUSALS = {
        "LOADING Redis is loading the dataset in memory",
        "OOM command not allowed when used memory > 'maxmemory'.",
        "READONLY You can't write against a read only replica.",
        "BUSY Redis is busy running a script.",
        "MISCONF Redis is configured to save RDB snapshots",
        "NOREPLICAS Not enough good replicas to write.",
        "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
        "CLUSTERDOWN The cluster is down",
        "TRYAGAIN Multiple keys request during rehashing of slot",
        "UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)",
        "ERR max number of clients reached",
        // No call repeats a request after this error.
        "NOPERM User app has no permissions to run the 'evalsha' command"
    };

    /** More than a timeout plus the error of the estimated server time. */
    private static final long DATE_MICROS = 1_000_000;

    private final World world;
    private final Server server;
    private final Node node;
    private final int client;
    private final boolean isWithoutFaults;
    private final List<Fault> faults;
    private final Seeded random;
    /** The number of requests with each script; the empty name has the number of all requests. */
    private final Map<String, Integer> requests = new HashMap<>();

    private InMemoryRedis redis;
    private int messages;
    private boolean silent;
    private Runnable onKill = () -> {};

    /** Makes the network between a client and one node. */
    Network(World world, Server server, int number, int client, List<Fault> plan, Seeded random) {
        this.world = world;
        this.server = server;
        this.client = client;
        this.isWithoutFaults = plan.isEmpty();
        this.node = server.node(number);
        this.faults = plan.stream()
                .filter(fault -> fault.client() == client && server.node(fault.node()) == node)
                .toList();
        this.random = random;
        leadsTo(node);
    }

    private void leadsTo(Node next) {
        redis = next.connect();
    }

    /** Sets an action for the moment at which the client is killed. */
    void onKill(Runnable action) {
        onKill = action;
    }

    private long now() {
        return world.now(client);
    }

    /** Waits like a thread that reads a socket. */
    private void travel(long nanos) {
        world.stand(client, nanos);
    }

    private long latency() {
        return random.oneIn(20) ? random.between(200_000, 20_000_000) : random.between(20_000, 300_000);
    }

    private Fault.Kind next(String script, String what, long[] nanos) {
        int anyNumber = requests.merge("", 1, Integer::sum) - 1;
        int number = requests.merge(script, 1, Integer::sum) - 1;
        for (Fault fault : faults) {
            if (!fault.kind().isOfMessages()
                    && (fault.script().isEmpty() && fault.nth() == anyNumber
                            || fault.script().equals(script) && fault.nth() == number)) {
                world.event("c%d meets %s at %s", client, fault, what);
                meet(fault);
                nanos[0] = fault.nanos();
                return fault.kind();
            }
        }
        return null;
    }

    private void meet(Fault fault) {
        world.logFault(fault.isOfServer() ? "" : "c" + client, fault.kind().name(), fault.nanos());
        switch (fault.kind()) {
            case PAUSE_CLIENT -> {
                world.pause(client, fault.nanos());
                travel(1);
            }
            case KILL_CLIENT -> {
                onKill.run();
                redis.dropSubscriptions();
                world.kill(client);
                // Does not return: the client was killed.
                travel(1);
            }
            case BREAK_SUBSCRIPTION -> redis.dropSubscriptions();
            case HALF_OPEN_SUBSCRIPTION -> silent = true;
            case MOVE_ADDRESS -> {
                redis.dropSubscriptions();
                leadsTo(server.nodes.get((server.nodes.indexOf(node) + 1) % server.nodes.size()));
            }
            default -> server.meets(fault, node);
        }
    }

    private static RedisException unanswered(String what, boolean sent) {
        return new RedisException.Unanswered("The network lost " + what, sent, null);
    }

    /** Sends a request and returns its reply. */
    private <T> T request(String script, String what, long timeoutNanos, Supplier<T> work, Runnable late) {
        long deadline = now() + timeoutNanos;
        long[] nanos = new long[1];
        Fault.Kind fault = next(script, what, nanos);
        if (fault == Fault.Kind.UNREACHABLE || node.isDown()) {
            travel(Math.min(timeoutNanos, 100_000));
            throw unanswered(what + ": connection refused", false);
        }
        if (fault == Fault.Kind.REFUSE) {
            travel(Math.min(timeoutNanos, latency()));
            throw new RedisException.Refused(random.of(REFUSALS), null);
        }
        long there = latency() + (fault == Fault.Kind.DELAY_REQUEST ? nanos[0] : 0) + node.pausedNanos();
        if (fault == Fault.Kind.LOSE_REQUEST || there >= timeoutNanos) {
            if (fault != Fault.Kind.LOSE_REQUEST) {
                later("late", what, there, late);
            }
            travel(timeoutNanos);
            throw unanswered(what, true);
        }
        travel(there);
        T reply = run(what, work);
        if (fault == Fault.Kind.RUN_TWICE) {
            later("again", what, nanos[0], late);
        }
        long back = latency() + (fault == Fault.Kind.DELAY_REPLY ? nanos[0] : 0);
        long left = deadline - now();
        if (fault == Fault.Kind.LOSE_REPLY || back > left) {
            travel(Math.max(1, left));
            throw unanswered("the reply to " + what, true);
        }
        travel(back);
        return reply;
    }

    /** Runs work of the server without a preemption: the server does one thing after the other. */
    private <T> T run(String what, Supplier<T> work) {
        node.begins();
        Simulated.mask();
        try {
            T reply = work.get();
            world.event("c" + client + " " + what + " -> " + reply);
            return reply;
        } catch (RedisException e) {
            world.event("c" + client + " " + what + " -> " + e.getMessage());
            throw e;
        } finally {
            Simulated.unmask();
            if (isWithoutFaults) {
                node.look();
            }
        }
    }

    private void later(String how, String what, long nanos, Runnable late) {
        world.thread(NOBODY, "network", () -> {
                    travel(nanos);
                    world.event("c%d %s: %s", client, how, what);
                    late.run();
                })
                .start();
    }

    @Override
    public Reply run(Call call, long timeoutNanos) {
        Call sent = dated(call);
        return request(
                sent.script().name(),
                sent.script().name() + sent.args(),
                timeoutNanos,
                () -> redis.run(sent, timeoutNanos),
                () -> node.runLate(redis, call, sent));
    }

    /**
     * Returns a call as it is sent, with its deadline. Fails if the deadline is far from the server's time, unless the
     * client does not know that time yet.
     */
    private Call dated(Call call) {
        Call sent = InMemoryRedis.at(call, address());
        if (call.notAfter() != null && isWithoutFaults) {
            long date = Long.parseLong(sent.args().get(call.dated()));
            if (date != 0 && Math.abs(date - node.micros()) > DATE_MICROS) {
                world.fail("a " + sent.script().name() + " is dated by " + (date - node.micros()) + " µs from now");
            }
        }
        return sent;
    }

    @Override
    public List<Outcome> runAll(List<Call> calls, long timeoutNanos) {
        List<Call> sent = new ArrayList<>(calls.size());
        StringBuilder what = new StringBuilder("batch");
        for (Call call : calls) {
            Call each = dated(call);
            sent.add(each);
            what.append(' ').append(each.script().name()).append(each.args());
        }
        try {
            return request(
                    calls.get(0).script().name(),
                    what.toString(),
                    timeoutNanos,
                    () -> redis.runAll(sent, timeoutNanos),
                    () -> {
                        for (int i = 0; i < sent.size(); i++) {
                            node.runLate(redis, calls.get(i), sent.get(i));
                        }
                    });
        } catch (RedisException e) {
            return Collections.nCopies(calls.size(), Outcome.of(e));
        }
    }

    @Override
    public Subscription subscribe(String channel, long timeoutNanos) {
        return new Messages(request(
                "subscribe", "subscribe", timeoutNanos, () -> redis.subscribe(channel, timeoutNanos), () -> {}));
    }

    @Override
    public Subscription watch(String channel, Watcher watcher, long timeoutNanos) {
        return new Messages(request(
                "subscribe", "watch", timeoutNanos, () -> redis.watch(channel, watcher, timeoutNanos), () -> {}));
    }

    @Override
    public void publish(String channel, String message, long timeoutNanos) {
        request(
                "publish",
                "publish " + message,
                timeoutNanos,
                () -> {
                    redis.publish(channel, message, timeoutNanos);
                    return "OK";
                },
                () -> {});
    }

    @Override
    public void onMoved(Runnable listener) {
        redis.onMoved(listener);
    }

    @Override
    public String address() {
        return redis.address();
    }

    @Override
    public void close() {
        redis.close();
    }

    private final class Messages implements Subscription {

        private final Subscription subscription;

        Messages(Subscription subscription) {
            this.subscription = subscription;
            silent = false;
        }

        @Override
        public String next() {
            while (true) {
                String message = subscription.next();
                int number = messages++;
                Fault fault = faults.stream()
                        .filter(each -> each.kind().isOfMessages() && each.nth() == number)
                        .findFirst()
                        .orElse(null);
                travel(latency() + (fault != null && fault.kind() == Fault.Kind.DELAY_MESSAGE ? fault.nanos() : 0));
                if (silent || fault != null && fault.kind() == Fault.Kind.DROP_MESSAGE) {
                    world.event("c%d does not get %s", client, message);
                } else {
                    world.event("c" + client + " gets " + message + (fault == null ? "" : ", late"));
                    return message;
                }
            }
        }

        @Override
        public void close() {
            subscription.close();
        }
    }
}
