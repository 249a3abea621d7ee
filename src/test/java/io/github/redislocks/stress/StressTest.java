package io.github.redislocks.stress;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.fixture.FaultyProxy;
import io.github.redislocks.fixture.RedisServer;
import io.github.redislocks.fixture.WorkerJvm;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.Jedis;

/**
 * Three processes with two clients each do ordinary calls at random, while connections are cut, forgotten, held back
 * and slow, the server sleeps and forgets its scripts, and clients are closed and made anew. No fault lasts as long as
 * a lease: so no two are inside at once, and nothing is lost that was not closed.
 *
 * <p>For an hour: {@code mvn test -Dtest=StressTest -Dstress.seconds=3600}; the same again with the printed
 * {@code -Dstress.seed}.
 */
@Tag("stress")
class StressTest {

    private static final int PROCESSES = 3;
    private static final int CLIENTS = 2;
    /** How long after a close something of the closed client may be found that ended by itself. */
    private static final long LEFTOVER_NANOS = TimeUnit.SECONDS.toNanos(40);

    /** After that a client has recovered from a fault: a claim outlasts it. */
    private static final long RECOVERY_NANOS = TimeUnit.SECONDS.toNanos(6);

    private final long seconds = Long.getLong("stress.seconds", 20);
    private final long seed = Long.getLong("stress.seed", System.nanoTime());
    private final Random random = new Random(seed);
    private final List<FaultyProxy> ways = new ArrayList<>();
    private final List<WorkerJvm> workers = new ArrayList<>();
    /** When each way may be harmed again. */
    private final Map<FaultyProxy, Long> calm = new HashMap<>();

    private long nextOfServerNanos = System.nanoTime();
    private final TreeMap<String, Integer> faults = new TreeMap<>();

    @Test
    void randomCalls_underRandomFaults_keepEveryPromise() throws Exception {
        System.out.println(
                "Stress for " + seconds + " s, again by -Dstress.seconds=" + seconds + " -Dstress.seed=" + seed);
        try (RedisServer server = RedisServer.start("--enable-debug-command", "yes");
                RedisServer book = RedisServer.start()) {
            for (int i = 0; i < PROCESSES; i++) {
                workers.add(startWorker(server, book, i));
            }
            for (WorkerJvm worker : workers) {
                worker.awaitLine("started", Duration.ofSeconds(60));
            }
            Verdict verdict = new Verdict();
            long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
            while (System.nanoTime() < end) {
                strike(server);
                verdict.read();
            }
            ways.forEach(FaultyProxy::pass);
            ways.forEach(way -> way.roundTrip(Duration.ZERO));
            workers.forEach(worker -> worker.say("stop"));
            List<String> ends = new ArrayList<>();
            for (WorkerJvm worker : workers) {
                ends.add(worker.awaitLine("done", Duration.ofMinutes(5)));
            }
            verdict.read();
            System.out.println("Acquisitions and refusals by process: " + ends + "; faults: " + faults
                    + "; excused by a close: " + verdict.excused);
            assertThat(verdict.wrong).as("seed %d", seed).isEmpty();
            try (Jedis jedis = server.client()) {
                await().atMost(Duration.ofSeconds(60))
                        .untilAsserted(() -> assertThat(jedis.keys("redis-locks:*"))
                                .as("the keys left in Redis")
                                .allMatch(key -> key.endsWith(":fence")));
            }
        } finally {
            workers.forEach(WorkerJvm::close);
            ways.forEach(FaultyProxy::close);
        }
    }

    private WorkerJvm startWorker(RedisServer server, RedisServer book, int number) {
        // The first closes a client now and then.
        List<String> args = new ArrayList<>(List.of(
                book.uri(), Long.toString(random.nextLong()), number == 0 ? Long.toString(closeSeconds()) : "0"));
        for (int i = 0; i < CLIENTS; i++) {
            FaultyProxy way = FaultyProxy.to(server);
            ways.add(way);
            args.add(way.uri());
        }
        return WorkerJvm.start(StressWorker.class, args.toArray(String[]::new));
    }

    private long closeSeconds() {
        return Math.max(10, Math.min(180, seconds / 2));
    }

    /** Does something bad to one client, or to all: each has recovered from one fault before it meets the next. */
    private void strike(RedisServer server) throws InterruptedException {
        long now = System.nanoTime();
        boolean allCalm = calm.values().stream().allMatch(until -> until - now <= 0);
        if (now - nextOfServerNanos >= 0) {
            if (allCalm) {
                faults.merge(harm(server), 1, Integer::sum);
                nextOfServerNanos = System.nanoTime() + 2 * RECOVERY_NANOS;
                ways.forEach(way -> calm.put(way, System.nanoTime() + RECOVERY_NANOS));
            }
        } else {
            FaultyProxy way = ways.get(random.nextInt(ways.size()));
            if (calm.getOrDefault(way, now) - now <= 0) {
                faults.merge(harm(way), 1, Integer::sum);
                calm.put(way, System.nanoTime() + RECOVERY_NANOS);
            }
        }
        last(300);
    }

    private String harm(RedisServer server) {
        switch (random.nextInt(4)) {
            case 0 -> {
                admin(server, "CLIENT", "KILL", "TYPE", random.nextBoolean() ? "pubsub" : "normal");
                return "connections killed";
            }
            case 1 -> {
                admin(server, "DEBUG", "SLEEP", "0." + random.nextInt(9));
                return "server sleeps";
            }
            default -> {
                admin(server, "SCRIPT", "FLUSH");
                return "scripts flushed";
            }
        }
    }

    private String harm(FaultyProxy way) throws InterruptedException {
        switch (random.nextInt(7)) {
            case 0 -> {
                way.cut();
                return "cut";
            }
            case 1 -> {
                way.forget();
                return "forgotten";
            }
            case 2 -> {
                way.holdRequests();
                last(2_000);
                way.pass();
                return "requests held";
            }
            case 3 -> {
                way.holdReplies();
                last(2_000);
                way.pass();
                return "replies held";
            }
            case 4 -> {
                way.dropReplies();
                last(1_000);
                way.pass();
                way.cut();
                return "replies lost";
            }
            default -> {
                way.roundTrip(Duration.ofMillis(random.nextBoolean() ? 0 : random.nextInt(200)));
                return "round trip";
            }
        }
    }

    /** How long a fault, or the peace after it, lasts: some time, for which nobody waits. */
    private void last(int atMostMillis) throws InterruptedException {
        TimeUnit.MILLISECONDS.sleep(random.nextInt(atMostMillis));
    }

    private static void admin(RedisServer server, String command, String... args) {
        try (Jedis jedis = server.client()) {
            jedis.sendCommand(() -> command.getBytes(StandardCharsets.US_ASCII), args);
        }
    }

    /** The failures that the workers printed, without those that follow from a close. */
    private final class Verdict {

        private final int[] read = new int[PROCESSES];
        private final Set<String> closedTokens = new HashSet<>();
        private final List<String> wrong = new ArrayList<>();
        private long lastClosedNanos = System.nanoTime() - LEFTOVER_NANOS;
        private int excused;

        void read() {
            List<String> news = new ArrayList<>();
            for (int i = 0; i < PROCESSES; i++) {
                List<String> lines = workers.get(i).lines();
                news.addAll(lines.subList(read[i], lines.size()));
                read[i] = lines.size();
            }
            for (String line : news) {
                if (line.startsWith("LOST CLOSED")) {
                    closedTokens.add(line.split(" ", -1)[3]);
                }
                if (line.startsWith("CLOSED") || line.startsWith("LOST CLOSED")) {
                    lastClosedNanos = System.nanoTime();
                }
            }
            news.forEach(this::judge);
        }

        private void judge(String line) {
            String[] words = line.split(" ", -1);
            boolean afterClose = System.nanoTime() - lastClosedNanos < LEFTOVER_NANOS;
            switch (words[0]) {
                case "started", "done", "CLOSED" -> {}
                case "LOST" -> accept(line, words[1].equals("CLOSED"));
                case "INSIDE" -> accept(line, closedTokens.contains(words[3]) || closedTokens.contains(words[2]));
                case "ORPHAN" -> accept(line, afterClose);
                default -> accept(line, false);
            }
        }

        private void accept(String line, boolean asItShouldBe) {
            if (asItShouldBe) {
                excused++;
            } else {
                wrong.add(line);
                System.out.println("Wrong: " + line);
            }
        }
    }
}
