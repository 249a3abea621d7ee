package io.github.redislocks.simulation;

import io.github.redislocks.simulation.agent.Places;
import java.util.ArrayList;
import java.util.List;

/**
 * A fault, planned before the schedule starts, so that shrinking a failure can leave it out.
 *
 * @param number the fault's position in the plan
 * @param client the client whose request or message meets the fault
 * @param node the master of a quorum at which this happens
 * @param script the name of that request's script, empty for any script; or the part of the library in which a thread
 *     stands
 * @param nth the number, from 0, of the request, message or point that meets the fault
 * @param nanos the delay, or the duration
 */
record Fault(int number, Kind kind, int client, int node, String script, int nth, long nanos) {

    /** The kinds of faults. */
    enum Kind {
        LOSE_REQUEST,
        LOSE_REPLY,
        DELAY_REQUEST,
        DELAY_REPLY,
        RUN_TWICE,
        UNREACHABLE,
        REFUSE,
        DROP_MESSAGE,
        DELAY_MESSAGE,
        BREAK_SUBSCRIPTION,
        HALF_OPEN_SUBSCRIPTION,
        PAUSE_CLIENT,
        /** A thread stands for some time at a preemption point of one part of the library. */
        STALL_THREAD,
        KILL_CLIENT,
        /** The address of a master leads to another master of the quorum from now on. */
        MOVE_ADDRESS,
        PAUSE_SERVER,
        RESTART,
        FILL_MEMORY,
        CLOCK_BACK,
        /**
         * After this fault, exclusion is not promised to earlier holds. The same is true for the next two faults,
         * except on a quorum.
         */
        CLOCK_FORWARD,
        FLUSH,
        RESTART_EMPTY;

        boolean isOfMessages() {
            return this == DROP_MESSAGE || this == DELAY_MESSAGE;
        }

        boolean isAllowed(boolean quorum, boolean maybeUnsafe) {
            return switch (this) {
                case MOVE_ADDRESS -> quorum;
                case RESTART_EMPTY -> quorum || maybeUnsafe;
                case CLOCK_FORWARD, FLUSH -> maybeUnsafe;
                default -> true;
            };
        }
    }

    /** The number of requests that a client sends to a server before the client is made. */
    private static final int CONNECTING = 4;

    private static final long MILLISECOND = 1_000_000;
    private static final long SECOND = 1_000_000_000;
    /** The scripts at which faults are aimed, since few other faults meet them: renewals, hand-offs and leaves. */
    private static final String[] TARGETS = {
        "",
        "",
        "",
        "renew",
        "renew_all",
        "release",
        "free",
        "give_up",
        "leave",
        "acquire",
        "take",
        "heartbeat",
        "await",
        "rejoin",
        "signal",
        "reenter",
        "subscribe"
    };

    private static final String[] QUORUM_TARGETS = {"", "", "", "vote", "withdraw", "check"};

    private static final String[] SHARED_TARGETS = {
        "",
        "",
        "",
        "share",
        "share",
        "unshare",
        "renew_shares",
        "downgrade",
        "acquire",
        "release",
        "heartbeat",
        "permits_acquire",
        "permits_release",
        "permits_renew",
        "permits_leave",
        "subscribe"
    };

    /** The requests and parts that the faults of a schedule hit: plain locks, a quorum, or readers and permits too. */
    enum Aim {
        PLAIN(TARGETS, ""),
        QUORUM(QUORUM_TARGETS, ""),
        SHARED(SHARED_TARGETS, "|shared");

        private final String[] targets;
        /** The parts of the library in which threads meet. */
        private final List<String> parts;

        Aim(String[] targets, String more) {
            this.targets = targets;
            this.parts = Places.names()
                    .filter(name -> name.matches("(state|waiting|lease|engine|client|handles|several" + more + ")/.*"))
                    .sorted()
                    .toList();
        }
    }

    /** Whether all clients meet the fault. */
    boolean isOfServer() {
        return kind.compareTo(Kind.PAUSE_SERVER) >= 0;
    }

    /** The plan of a seed. */
    static List<Fault> plan(long seed, int clients, Aim aim) {
        Seeded random = new Seeded(seed * 31 + 7);
        List<Fault> plan = new ArrayList<>();
        // Plan no faults in a fifth of the schedules: many checks run only without faults.
        int count = random.oneIn(5) ? 0 : random.below(8);
        boolean maybeUnsafe = random.oneIn(6);
        boolean stalls = random.oneIn(3);
        Kind[] kinds = some(random);
        while (plan.size() < count) {
            // Sometimes choose from all kinds: none of the few kinds may be allowed.
            Kind kind =
                    stalls && random.oneIn(2) ? Kind.STALL_THREAD : random.of(random.oneIn(8) ? Kind.values() : kinds);
            Fault fault = fault(plan.size(), kind, random, clients, aim);
            if (kind.isAllowed(aim == Aim.QUORUM, maybeUnsafe)) {
                plan.add(fault);
            }
        }
        return plan;
    }

    /** Chooses all kinds of faults, or a few in half of the schedules. */
    private static Kind[] some(Seeded random) {
        Kind[] all = Kind.values();
        return random.oneIn(2) ? all : new Kind[] {random.of(all), random.of(all), random.of(all)};
    }

    private static Fault fault(int number, Kind kind, Seeded random, int clients, Aim aim) {
        if (kind == Kind.STALL_THREAD) {
            // Some parts pass thousands of points in a schedule, others only a few.
            int most = 1 << random.below(11);
            return new Fault(
                    number,
                    kind,
                    random.below(clients),
                    0,
                    aim.parts.get(random.below(aim.parts.size())),
                    random.below(most),
                    nanos(kind, random));
        }
        String script = kind.isOfMessages() || kind == Kind.MOVE_ADDRESS ? "" : random.of(aim.targets);
        int nth = random.below(script.isEmpty() ? 60 : 8);
        if (kind == Kind.MOVE_ADDRESS) {
            // Not before the client is made: while it is made, it refuses two addresses of one server.
            nth += CONNECTING;
        }
        return new Fault(number, kind, random.below(clients), random.below(5), script, nth, nanos(kind, random));
    }

    private static long nanos(Kind kind, Seeded random) {
        return switch (kind) {
            case PAUSE_CLIENT, PAUSE_SERVER, RESTART, FILL_MEMORY -> random.between(20 * MILLISECOND, 4 * SECOND);
            case CLOCK_BACK, CLOCK_FORWARD -> random.between(MILLISECOND, random.oneIn(3) ? 5 * SECOND : SECOND);
            case RUN_TWICE, DELAY_REQUEST ->
                random.oneIn(2)
                        ? random.between(MILLISECOND, 250 * MILLISECOND)
                        : random.between(300 * MILLISECOND, 5 * SECOND);
            // A short time in which other threads go on, or a time longer than a lease.
            case STALL_THREAD ->
                random.oneIn(2)
                        ? random.between(MILLISECOND / 10, 200 * MILLISECOND)
                        : random.between(SECOND, 3 * SECOND);
            case DELAY_MESSAGE -> random.between(MILLISECOND, 3 * SECOND);
            default -> random.between(MILLISECOND, 400 * MILLISECOND);
        };
    }

    @Override
    public String toString() {
        return String.format(
                "#%d %s of client %d, node %d, %s %d, %.0f ms",
                number, kind, client, node, script.isEmpty() ? "request" : script, nth, nanos / 1e6);
    }
}
