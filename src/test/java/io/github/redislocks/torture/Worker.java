package io.github.redislocks.torture;

import io.github.redislocks.LockLost;
import io.github.redislocks.LockUnavailableException;
import io.github.redislocks.fixture.WorkerJvm;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;

/**
 * The main class of a JVM whose threads hammer the locks until its input says or ends. All that it does is in its log;
 * its output says when it is ready and when it is done.
 */
final class Worker {

    static final int SHORT_THREADS = 4;
    private static final int READING_THREADS = 2;
    static final String READY = "ready";
    static final String DONE = "done";

    private static final int CONNECT_TRIES = 10;
    private static final long STOP_MILLIS = TimeUnit.SECONDS.toMillis(40);

    /** An idle thread of the library ends by itself after a second. */
    private static final long LEFT_NANOS = TimeUnit.SECONDS.toNanos(3);

    private Worker() {}

    /** The order to a worker. */
    record Order(
            String name, TestLocks.Brand brand, String uri, String resource, Path folder, long seed, int connections) {

        WorkerJvm start() {
            return WorkerJvm.start(
                    Worker.class,
                    name,
                    brand.name(),
                    uri,
                    resource,
                    folder.toString(),
                    Long.toString(seed),
                    Integer.toString(connections));
        }

        static Order parse(String[] args) {
            return new Order(
                    args[0],
                    TestLocks.Brand.valueOf(args[1]),
                    args[2],
                    args[3],
                    Path.of(args[4]),
                    Long.parseLong(args[5]),
                    Integer.parseInt(args[6]));
        }
    }

    private static final Duration RESIDENCY = Duration.ofSeconds(2);

    public static void main(String[] args) throws InterruptedException, IOException {
        // Losses are many here and all in the log.
        System.setProperty("org.slf4j.simpleLogger.defaultLogLevel", "error");
        Order order = Order.parse(args);
        EventLog log = EventLog.append(order.folder(), order.name());
        Stalls.watch(log, order.name() + "/stalls");
        TestLocks locks = connect(order, log);
        long keptNanos = residency(order).toNanos();
        if (keptNanos > 0) {
            log.add(order.name(), Event.Kind.RESIDENT, "", keptNanos, "");
        }
        AtomicBoolean stop = new AtomicBoolean();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i <= SHORT_THREADS; i++) {
            Hammer hammer = new Hammer(order, i, locks, log, stop);
            threads.add(new Thread(hammer, "t" + i));
        }
        if (locks.hasSeveral()) {
            int number = threads.size();
            threads.add(new Thread(new SeveralHammer(order, number, locks, log, stop), "t" + number));
        }
        if (locks.hasShared()) {
            for (int i = 0; i < READING_THREADS; i++) {
                int number = threads.size();
                threads.add(new Thread(new Readers(order, number, locks, log, stop), "t" + number));
            }
            int number = threads.size();
            threads.add(new Thread(new PermitUsers(order, number, locks, log, stop), "t" + number));
        }
        threads.forEach(Thread::start);
        System.out.println(READY);
        int ignored = System.in.read();
        stop.set(true);
        long deadline = System.nanoTime() + STOP_MILLIS * 1_000_000;
        for (Thread thread : threads) {
            thread.join(Math.max(1, (deadline - System.nanoTime()) / 1_000_000));
            if (thread.isAlive()) {
                log.add(order.name() + "/" + thread.getName(), Event.Kind.BUG, "", 0, "hangs");
            }
        }
        locks.close();
        report(order.name(), log);
        System.out.println(DONE);
        System.exit(0);
    }

    /** Whether the client of a worker watches deletions: one in three does. */
    static boolean watches(String name) {
        return name.startsWith("w1.");
    }

    /** For how long the client of a worker keeps locks that nobody holds: another one in three does, for a time. */
    private static Duration residency(Order order) {
        boolean keeps = order.name().startsWith("w2.") && order.brand() == TestLocks.Brand.LIBRARY;
        return keeps ? RESIDENCY : Duration.ZERO;
    }

    /** Connects; tries again on a machine that is busy with starting JVMs, since this is not what is tested. */
    private static TestLocks connect(Order order, EventLog log) {
        Consumer<LockLost> listener = loss -> log.add(
                order.name() + "/" + loss.owner(),
                Event.Kind.TOLD,
                loss.lockName(),
                loss.token(),
                loss.reason().name());
        for (int left = CONNECT_TRIES; ; left--) {
            try {
                return order.brand()
                        .connect(order.uri(), order.connections(), watches(order.name()), residency(order), listener);
            } catch (LockUnavailableException e) {
                if (left == 0) {
                    throw e;
                }
            }
        }
    }

    private static void report(String name, EventLog log) {
        long deadline = System.nanoTime() + LEFT_NANOS;
        while (!left().isEmpty() && System.nanoTime() < deadline) {
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(10));
        }
        log.add(name, Event.Kind.END, "threads", left().size(), String.join(",", left()));
        System.gc();
        long heap = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
        log.add(name, Event.Kind.END, "heap", heap, "");
    }

    /** The threads of the library that are there. */
    private static List<String> left() {
        return Thread.getAllStackTraces().keySet().stream()
                .map(Thread::getName)
                .filter(thread -> thread.startsWith("redis-locks"))
                .toList();
    }
}
