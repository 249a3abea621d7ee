package io.github.redislocks.script;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.redis.Script;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.testkit.twin.InMemoryRedis;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The scripts of one lock, in random order, some of them again or late, by a clock that is set back at times: each
 * answers what {@link LineModel} says, and leaves in Redis what it says.
 */
@Timeout(60)
class LineModelTest {

    private static final int SEEDS = 200;
    private static final int CALLS = 120;
    private static final long SECOND = 1_000_000_000;
    private static final long DAY_MILLIS = 86_400_000;
    private static final String FOR_EVER = "8000000000000000";
    private static final List<String> CLIENTS = List.of("a", "b", "c", "host:7:x");
    private static final List<String> OWNERS = List.of("a:1", "a:2", "a:3", "b:1", "b:2", "c:1", "host:7:x:1");
    private static final LockKeys KEYS = LockKeys.of("p", "lock");
    private static final Map<String, List<Integer>> KEYS_OF = Map.of(
            "take", List.of(0, 3),
            "free", List.of(0, 3),
            "renew", List.of(0, 3),
            "renew_all", List.of(0),
            "reenter", List.of(0, 3),
            "release_inner", List.of(0),
            "held", List.of(0),
            "locked", List.of(0),
            "inspect", List.of(0, 1, 4));
    private static final Map<String, Script> SCRIPTS = List.of(
                    "take",
                    "acquire",
                    "heartbeat",
                    "free",
                    "release",
                    "release_after",
                    "leave",
                    "await",
                    "signal",
                    "rejoin",
                    "force",
                    "renew",
                    "renew_all",
                    "reenter",
                    "release_inner",
                    "held",
                    "locked",
                    "inspect")
            .stream()
            .collect(Collectors.toMap(Function.identity(), name -> Script.load(Scripts.class, name)));

    private record Step(String script, List<String> args) {}

    private final AtomicLong micros = new AtomicLong();
    private final InMemoryRedis redis = new InMemoryRedis(micros::get);
    private final Map<String, Redis.Subscription> mailboxes = new HashMap<>();
    private final List<String> history = new ArrayList<>();
    private final List<Step> steps = new ArrayList<>();
    private final Map<String, Integer> replies = new TreeMap<>();
    private LineModel model = new LineModel();
    private Random random = new Random(0);
    /** The last attempt of each client: those of two may have one number. */
    private final Map<String, Long> numbers = new HashMap<>();

    @AfterEach
    void close() {
        redis.close();
    }

    @Test
    void randomCalls_doWhatTheModelSays() {
        for (int seed = 0; seed < SEEDS; seed++) {
            random = new Random(seed);
            restart();
            history.add("seed " + seed);
            for (int i = 0; i < CALLS; i++) {
                pass(random.nextInt(4) == 0 ? 0 : random.nextInt(2_000));
                step();
            }
        }
        List<String> expected = List.of(
                "acquire OK",
                "acquire BUSY",
                "acquire QUEUED",
                "acquire LATE",
                "heartbeat GRANTED",
                "heartbeat WAITING",
                "heartbeat QUEUED",
                "heartbeat LATE",
                "release FREED",
                "release GRANTED",
                "release SUCCEEDED",
                "release QUEUED",
                "release GONE",
                "release_after KEPT",
                "release_after FREED",
                "release_after GRANTED",
                "release_after GONE",
                "leave DONE",
                "leave SUCCEEDED",
                "leave QUEUED",
                "await FREED",
                "await GRANTED",
                "await SUCCEEDED",
                "await QUEUED",
                "await WAITING",
                "await GONE",
                "await LATE",
                "signal SIGNALLED",
                "signal GONE",
                "rejoin GRANTED",
                "rejoin QUEUED",
                "rejoin SIGNALLED",
                "rejoin LATE",
                "take OK",
                "take BUSY",
                "take LINE",
                "take LATE",
                "free OK",
                "free LINE",
                "force FREED",
                "force GRANTED",
                "force GONE",
                "inspect HELD",
                "inspect KEPT",
                "inspect FREE");
        assertThat(expected).as("%s", replies).allMatch(reply -> replies.getOrDefault(reply, 0) > 3);
    }

    /** Of the releases, every so many is in full, since a signal was sent by the hold. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 7, 1_000})
    void manyHandOffs_withoutAHeartbeat_theLineLastsAnew(int every) {
        restart();
        for (String owner : List.of("a:1", "b:1", "c:1")) {
            call("acquire", owner, next(owner), "30000", FOR_EVER, "4500", "0", "barge");
        }
        for (int i = 0; i < 120; i++) {
            pass(1_000_000);
            LineModel.Held held = model.held;
            if (i % every == 0) {
                call("signal", held.owner, held.attempt, next(held.owner), "c", "0");
            }
            String successor = held.owner.substring(0, 2) + (held.owner.endsWith("1") ? 2 : 1);
            Reply reply = call("release", held.owner, held.attempt, successor, next(successor), "30000", "4500", "0");
            assertThat(reply.code()).isEqualTo("QUEUED");
        }
    }

    @Test
    void manyHandOffs_atTheBorderOfTenSecondsInFull_theLineLastsAnew() {
        restart();
        for (int i = 0; i < 20; i++) {
            listen("client" + i);
            call("acquire", "client" + i + ":1", next("client" + i + ":1"), "30000", FOR_EVER, "4500", "0", "barge");
        }
        for (int i = 0; i < 1_000; i++) {
            pass(100_000);
            LineModel.Held held = model.held;
            if (held.token / 10_000_000 != micros.get() / 10_000_000) {
                call("signal", held.owner, held.attempt, next(held.owner), "c", "0");
                call("release", held.owner, held.attempt);
            } else {
                String successor = held.owner.replaceFirst(":.*", held.owner.endsWith("1") ? ":2" : ":1");
                call("release", held.owner, held.attempt, successor, next(successor), "30000", "4500", "0");
            }
        }
    }

    private void restart() {
        redis.flushAll();
        redis.deliverMessages();
        redis.holdMessages();
        redis.clustered(false);
        model = new LineModel();
        history.clear();
        steps.clear();
        numbers.clear();
        CLIENTS.forEach(this::listen);
        model.listening.addAll(mailboxes.keySet());
        // Near the border of ten seconds, at which lines are made to last anew.
        micros.set(1_790_000_009_900_000L);
        pass(0);
    }

    private void listen(String client) {
        mailboxes.computeIfAbsent(client, first -> redis.subscribe(LockKeys.mailbox("p", first), SECOND));
        model.listening.add(client);
    }

    /** Moves the clock. A line may be forgotten only once all in it are dead. */
    private void pass(long by) {
        model.at(micros.addAndGet(by));
        // An expired key is not there again when the clock is set back.
        redis.keys();
        if (redis.zset(KEYS.queue()).isEmpty()) {
            model.queue.keySet().forEach(this::assertDead);
            model.queue.clear();
        }
        if (redis.zset(KEYS.conditions()).isEmpty()) {
            model.conditions.forEach(
                    member -> assertDead(LineModel.Member.of(member).place()));
            model.conditions.clear();
        }
        if (redis.hash(waiters()).isEmpty()) {
            model.places.keySet().forEach(this::assertDead);
            model.places.clear();
        }
    }

    private static String waiters() {
        return KEYS.all().get(2);
    }

    private void assertDead(String name) {
        LineModel.Place place = model.places.get(name);
        assertThat(place == null ? 0 : place.deadline())
                .as("%s was forgotten: %s", name, history)
                .isLessThan(micros.get());
    }

    private void step() {
        switch (random.nextInt(24)) {
            case 0 -> pass(random.nextInt(12) * 1_000_000L);
            case 1 -> pass(-random.nextInt(3) * 1_000_000L);
            case 2 -> {
                Redis.Subscription gone = mailboxes.remove("b");
                if (gone == null) {
                    listen("b");
                } else {
                    gone.close();
                    model.listening.remove("b");
                }
            }
            case 3 -> lose();
            case 4 -> {
                // To the last moment of a place, or just behind it.
                List<LineModel.Place> places = List.copyOf(model.places.values());
                if (!places.isEmpty()) {
                    pass(Math.max(0, pick(places).deadline() + random.nextInt(2) - micros.get()));
                }
            }
            case 5 -> {
                model.clustered = random.nextInt(4) == 0;
                redis.clustered(model.clustered);
            }
            case 6, 7, 8 -> {
                if (!steps.isEmpty()) {
                    // A request that was sent twice, or is late.
                    Step again = steps.get(Math.max(0, steps.size() - 1 - random.nextInt(5)));
                    call(again.script, again.args.toArray(String[]::new));
                }
            }
            default -> call();
        }
        history.add("at " + micros);
    }

    /** The fence of a lock that is held says what its hash says; a line and its texts go together. */
    private void lose() {
        switch (random.nextInt(3)) {
            case 0 -> {
                redis.del(KEYS.lock());
                model.held = null;
            }
            case 1 -> {
                if (model.held == null) {
                    redis.del(KEYS.fence());
                    model.fence = null;
                }
            }
            default -> {
                List.of(KEYS.queue(), KEYS.conditions(), waiters()).forEach(redis::del);
                model.queue.clear();
                model.conditions.clear();
                model.places.clear();
            }
        }
        history.add("something was deleted");
    }

    private void call() {
        LineModel.Held held = model.held;
        String other = pick(OWNERS);
        boolean mine = held != null && !held.isNobody() && random.nextInt(8) > 0;
        String owner = mine ? held.owner : other;
        String attempt = mine ? held.attempt : either(placed(other), held == null ? "1" : held.attempt);
        String asker = asker();
        String asking = asker.substring(asker.lastIndexOf(':') + 1);
        asker = asker.substring(0, asker.lastIndexOf(':'));
        switch (random.nextInt(held == null ? 10 : 24)) {
            case 0, 1, 2, 3 -> {
                String wanted = either(next(other), attempt);
                call("acquire", other, wanted, lease(wanted), notAfter(), claim(), lastLostAttempt(), mode());
            }
            case 4 -> {
                String wanted = either(next(other), attempt);
                call("take", other, wanted, lease(wanted), notAfter());
            }
            case 5, 6 -> call("heartbeat", asker, asking, notAfter(), count(), pick(List.of("4500", "900")));
            case 7 -> call("rejoin", asker, asking, notAfter(), count(), "4500");
            case 8 -> leave(other, random.nextInt(5) == 0 && held != null ? held.attempt : placed(other));
            case 9 -> call("inspect", either("1000", "2"));
            case 10, 11, 12, 13 -> release(owner, attempt);
            case 14 -> call("release_after", owner, attempt, either(pick(List.of("0", "400", "3000")), "36000000"));
            case 15, 16 -> {
                List<String> args =
                        new ArrayList<>(List.of(owner, attempt, next(owner), notAfter(), condition(), count(), "4500"));
                args.addAll(random.nextInt(3) == 0 ? List.of("", "", "", "", "0") : successor(owner));
                call("await", args.toArray(String[]::new));
            }
            case 17, 18 -> call("signal", owner, attempt, next(owner), condition(), flag(3));
            case 19 -> leave(owner, attempt);
            case 20 -> call("free", owner, attempt);
            case 21 -> call("force", either(Long.toString(held == null ? 0 : held.token), "7"));
            case 22 -> {
                switch (random.nextInt(3)) {
                    case 0 -> call("renew", owner, attempt, lease(attempt));
                    case 1 -> call("renew_all", "30000", owner, attempt);
                    default -> call("reenter", owner, attempt, count(), lease(attempt));
                }
            }
            default -> {
                switch (random.nextInt(3)) {
                    case 0 -> call("release_inner", owner, attempt, count());
                    case 1 -> call("held", owner, attempt);
                    default -> call("locked");
                }
            }
        }
    }

    private <T> T pick(List<T> from) {
        return from.get(random.nextInt(from.size()));
    }

    private String either(String usual, String seldom) {
        return random.nextInt(5) == 0 ? seldom : usual;
    }

    private String next(String owner) {
        return Long.toString(numbers.merge(client(owner), 1L, Long::sum));
    }

    private static String client(String owner) {
        return owner.substring(0, owner.lastIndexOf(':'));
    }

    /** Each attempt wants a lease of its own, some of hours. */
    private static String lease(String attempt) {
        return attempt.endsWith("0") ? "36000000" : attempt.endsWith("5") ? "1000" : "30000";
    }

    private String claim() {
        return either("4500", "");
    }

    private String mode() {
        return either("barge", "queue");
    }

    private String count() {
        return Integer.toString(1 + random.nextInt(3));
    }

    private String condition() {
        return pick(List.of("c", "c0"));
    }

    private String flag(int oneOf) {
        return random.nextInt(oneOf) == 0 ? "1" : "0";
    }

    private String lastLostAttempt() {
        return either("0", model.held == null ? "0" : model.held.attempt);
    }

    private String notAfter() {
        return random.nextInt(8) == 0 ? Long.toString(micros.get() - random.nextInt(2)) : FOR_EVER;
    }

    /** A place, or what was one and has the lock, or a new one. */
    private String asker() {
        if (model.held != null && !model.held.isNobody() && random.nextInt(4) == 0) {
            return model.held.owner + ":" + model.held.attempt;
        }
        List<String> names = List.copyOf(model.places.keySet());
        String owner = pick(OWNERS);
        return names.isEmpty() || random.nextInt(6) == 0 ? owner + ":" + next(owner) : pick(names);
    }

    /** The attempt of a place of an owner, or a new one. */
    private String placed(String owner) {
        List<String> names = model.places.keySet().stream()
                .filter(place -> place.substring(0, place.lastIndexOf(':')).equals(owner))
                .toList();
        return names.isEmpty() ? next(owner) : pick(names).substring(owner.length() + 1);
    }

    private List<String> successor(String owner) {
        String client = owner.substring(0, owner.lastIndexOf(':') + 1);
        String successor = client + (1 + random.nextInt(3));
        String attempt = random.nextInt(3) > 0 ? next(successor) : placed(successor);
        return List.of(successor, attempt, lease(attempt), claim(), flag(3));
    }

    private void release(String owner, String attempt) {
        List<String> args = new ArrayList<>(List.of(owner, attempt));
        List<String> successor = successor(owner);
        if (random.nextInt(4) > 0 && !successor.get(0).equals(owner)) {
            args.addAll(successor);
        }
        call("release", args.toArray(String[]::new));
    }

    private void leave(String owner, String attempt) {
        long runs = random.nextInt(3) == 0 ? micros.get() + pick(List.of(0, random.nextInt(3_000_000))) : 0;
        List<String> args = new ArrayList<>(List.of(owner, attempt, flag(4), Long.toString(runs)));
        List<String> successor = successor(owner);
        args.addAll(
                random.nextInt(2) == 0 || successor.get(0).equals(owner)
                        ? List.of("", "", "", "")
                        : successor.subList(0, 4));
        call("leave", args.toArray(String[]::new));
    }

    private Reply call(String script, String... words) {
        List<String> args = List.of(words);
        boolean lined = !model.queue.isEmpty() || !model.conditions.isEmpty();
        if (script.equals("take") && model.held == null && model.fence == null && lined) {
            // Somebody deleted the fence alone: those in line would only be found by their heartbeats.
            return new Reply("", List.of());
        }
        model.saysWaited = redis.hash(KEYS.lock()).containsKey("waited");
        Reply expected = model.run(script, args);
        history.add(script + " " + args + " = " + expected.code() + expected.values());
        List<String> keys = KEYS.all();
        if (KEYS_OF.containsKey(script)) {
            keys = KEYS_OF.get(script).stream().map(KEYS.all()::get).toList();
        }
        Reply reply = redis.run(new Call(SCRIPTS.get(script), keys, args), SECOND);
        assertThat(reply).as("%s", history).isEqualTo(expected);
        replies.merge(script + " " + reply.code(), 1, Integer::sum);
        steps.add(new Step(script, args));
        assertSame();
        return reply;
    }

    /** A line lasts longer than whatever lives in it. */
    private void assertLasts(String line, Stream<String> places) {
        long left = redis.pttl(line);
        long until = places.map(model.places::get)
                .filter(Objects::nonNull)
                .mapToLong(LineModel.Place::deadline)
                .max()
                .orElse(0);
        assertThat(left == -2 || micros.get() + left * 1_000 > until)
                .as("%s lasts %s ms after %s", line, left, history)
                .isTrue();
    }

    private void assertSame() {
        Map<String, String> hash = new LinkedHashMap<>(redis.hash(KEYS.lock()));
        String waited = hash.remove("waited");
        Map<String, Double> queue = new HashMap<>();
        model.queue.forEach((place, score) -> queue.put(place, (double) score));
        assertThat(hash).as("lock after %s", history).isEqualTo(model.hash());
        assertThat(redis.pttl(KEYS.lock())).as("lease after %s", history).isEqualTo(model.pttl());
        assertThat(redis.zset(KEYS.queue())).as("queue after %s", history).isEqualTo(queue);
        assertThat(redis.zset(KEYS.conditions()).keySet())
                .as("conditions after %s", history)
                .isEqualTo(model.conditions);
        assertThat(redis.hash(waiters())).as("places after %s", history).isEqualTo(model.texts());
        assertThat(redis.string(KEYS.fence())).as("fence after %s", history).isEqualTo(model.fenceText());
        assertThat(redis.heldMessages()).as("messages after %s", history).isEqualTo(model.messages);
        if (model.held != null && !model.held.isNobody() && !(queue.isEmpty() && model.conditions.isEmpty())) {
            assertThat(waited).as("whether somebody waits, after %s", history).isEqualTo("1");
        }
        assertLasts(waiters(), model.places.keySet().stream());
        assertLasts(KEYS.queue(), model.queue.keySet().stream());
        assertLasts(
                KEYS.conditions(),
                model.conditions.stream()
                        .map(member -> LineModel.Member.of(member).place()));
        if (model.fence != null) {
            assertThat(redis.pttl(KEYS.fence()))
                    .as("fence after %s", history)
                    .isGreaterThan(DAY_MILLIS + Math.max(0, model.pttl()));
        }
    }
}
