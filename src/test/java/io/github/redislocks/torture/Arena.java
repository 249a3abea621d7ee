package io.github.redislocks.torture;

import io.github.redislocks.fixture.RedisServer;
import io.github.redislocks.fixture.WorkerJvm;
import io.github.redislocks.state.Settings;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import redis.clients.jedis.Jedis;

/**
 * Where one round takes place: a server for the locks, one for the resource, the workers, and the folder of the logs.
 */
final class Arena implements AutoCloseable {

    private static final Duration START = Duration.ofSeconds(60);
    private static final Duration STOP = Duration.ofSeconds(60);
    /** The places and holds of a killed worker last no longer than two place lives and a lease. */
    private static final long LEFTOVER_NANOS = TimeUnit.SECONDS.toNanos(14);

    final EventLog log;
    final Servers servers;
    private final RedisServer resource = RedisServer.start();
    private final Path folder;
    private final TestLocks.Brand brand;
    private final long seed;
    private final int connections;
    private final List<WorkerJvm> workers = new ArrayList<>();
    private final List<String> names = new ArrayList<>();
    private final List<Thread> stalls = new ArrayList<>();
    private int incarnations;

    Arena(String name, TestLocks.Brand brand, int workerCount, long seed) throws InterruptedException {
        this(name, brand, workerCount, seed, List.of());
    }

    Arena(String name, TestLocks.Brand brand, int workerCount, long seed, List<Fault> faults)
            throws InterruptedException {
        this.connections = faults.contains(Fault.NARROW_POOL) ? 1 : Settings.DEFAULT_MAX_CONNECTIONS;
        this.servers = new Servers(faults);
        this.brand = brand;
        this.seed = seed;
        try {
            folder = Files.createDirectories(Path.of("target", "torture", name + "-" + seed))
                    .toAbsolutePath();
            try (var old = Files.list(folder)) {
                old.forEach(file -> file.toFile().delete());
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        log = EventLog.append(folder, Event.NEMESIS);
        stalls.add(Stalls.watch(log, Event.NEMESIS));
        if (servers.idle() != null) {
            Jedis idle = servers.idle().client();
            stalls.add(Stalls.watch(log, Event.NEMESIS, () -> idle.set("written", "for nobody")));
        }
        for (int i = 0; i < workerCount; i++) {
            workers.add(start(i));
        }
        for (WorkerJvm worker : workers) {
            worker.awaitLine(Worker.READY, START);
        }
    }

    private WorkerJvm start(int index) {
        String name = "w" + index + "." + incarnations++;
        if (index < names.size()) {
            names.set(index, name);
        } else {
            names.add(name);
        }
        return new Worker.Order(name, brand, servers.uri(), resource.uri(), folder, seed, connections).start();
    }

    int size() {
        return workers.size();
    }

    WorkerJvm worker(int index) {
        return workers.get(index);
    }

    String name(int index) {
        return names.get(index);
    }

    /** Starts another worker in the place of one that was killed. */
    void replace(int index) throws InterruptedException {
        workers.set(index, start(index));
        workers.get(index).awaitLine(Worker.READY, START);
    }

    /** Ends the workers in order, looks at what is left, and has the logs checked. */
    Report finish(String name) throws InterruptedException {
        for (WorkerJvm worker : workers) {
            worker.say("stop");
        }
        for (WorkerJvm worker : workers) {
            worker.awaitLine(Worker.DONE, STOP);
        }
        Report report = Checker.check(name, EventLog.readAll(folder));
        checkLeftovers(report);
        return report;
    }

    private void checkLeftovers(Report report) {
        try (Jedis jedis = servers.current().client()) {
            long deadline = System.nanoTime() + LEFTOVER_NANOS;
            while (!left(jedis).isEmpty() && System.nanoTime() < deadline) {
                LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(50));
            }
            if (!left(jedis).isEmpty()) {
                report.violation(System.nanoTime(), "keys left: %s", left(jedis));
            }
            long connections = jedis.clientList()
                    .lines()
                    .filter(line -> !line.contains("flags=S") && !line.contains("cmd=replconf"))
                    .count();
            if (connections > 1) {
                report.violation(System.nanoTime(), "connections left: %s", jedis.clientList());
            }
        }
    }

    private static void join(Thread thread) {
        try {
            thread.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static Set<String> left(Jedis jedis) {
        // The size of the pool stays.
        return jedis.keys("*").stream()
                .filter(key -> !key.endsWith(":fence") && !key.endsWith(":permits"))
                .collect(Collectors.toSet());
    }

    @Override
    public void close() {
        workers.forEach(WorkerJvm::close);
        stalls.forEach(Thread::interrupt);
        stalls.forEach(Arena::join);
        log.close();
        servers.close();
        resource.close();
    }
}
