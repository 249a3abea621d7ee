package io.github.redislocks;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.fixture.twin.InMemoryRedis;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.redis.Script;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The short forms within {@code acquire} and {@code release} do what the rest of these scripts would have done: two
 * servers get the same random calls, and one of them knows no short form.
 */
@Timeout(60)
class ShortFormTest {

    private static final int SEEDS = 60;
    private static final int CALLS = 150;
    private static final long SECOND = 1_000_000_000;
    private static final String FOR_EVER = "8000000000000000";
    private static final List<String> OWNERS = List.of("a:1", "a:2", "a:3", "b:1", "b:2", "c:1");
    private static final Keys KEYS = Keys.of("p", "lock");
    private static final List<Script> SCRIPTS = List.of(script("acquire"), script("release"));
    private static final List<Script> LONG = List.of(
            without(SCRIPTS.get(0), "if held[1] and held[1] ~= owner and not call('hget', KEYS[3], place) then"),
            without(SCRIPTS.get(1), "if mine and not held[5] and not held[6] then"));

    private final AtomicLong micros = new AtomicLong();
    private final InMemoryRedis subject = new InMemoryRedis(micros::get);
    private final InMemoryRedis reference = new InMemoryRedis(micros::get);
    private final Map<String, List<Redis.Subscription>> mailboxes = new HashMap<>();
    private final List<String> history = new ArrayList<>();
    private Random random = new Random(0);
    private long number;

    private static Script script(String name) {
        return Script.load(Protocol.class, name);
    }

    private static Script without(Script script, String condition) {
        assertThat(script.source()).contains(condition);
        String name = script.name() + " in full";
        return new Script(name, script.source().replace(condition, "if false then"), name);
    }

    @AfterEach
    void close() {
        subject.close();
        reference.close();
    }

    @Test
    void randomCalls_shortOrInFull_doTheSame() {
        int[] replies = new int[3];
        for (int seed = 0; seed < SEEDS; seed++) {
            random = new Random(seed);
            restart();
            for (int i = 0; i < CALLS; i++) {
                micros.addAndGet(random.nextInt(2_000));
                Reply reply = step();
                assertSame(seed);
                List<String> counted = List.of("QUEUED", "SUCCEEDED", "GRANTED");
                if (reply != null && counted.contains(reply.code())) {
                    replies[counted.indexOf(reply.code())]++;
                }
            }
        }
        assertThat(Arrays.stream(replies)).as("of each kind some").allMatch(times -> times > 200);
    }

    /** Of the releases, every so many is in full, since a signal was sent by the hold. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 7, 1_000})
    void manyHandOffs_withoutAHeartbeat_theLineLastsAnew(int every) {
        restart();
        both(0, "a:1", next(), "30000", FOR_EVER, "4500", "0", "barge");
        both(0, "b:1", next(), "30000", FOR_EVER, "4500", "0", "barge");
        both(0, "c:1", next(), "30000", FOR_EVER, "4500", "0", "barge");
        for (int i = 0; i < 120; i++) {
            micros.addAndGet(1_000_000);
            Map<String, String> held = subject.hash(KEYS.lock());
            String owner = held.get("owner");
            if (i % every == 0) {
                both(script("signal"), owner, held.get("attempt"), next(), "c", "0");
            }
            String successor = owner.substring(0, 2) + (owner.endsWith("1") ? 2 : 1);
            Reply reply = both(1, owner, held.get("attempt"), successor, next(), "30000", "4500", "0");
            assertThat(reply.code()).isEqualTo("QUEUED");
            assertSame(0);
        }
    }

    @Test
    void manyHandOffs_atTheBorderOfTenSecondsInFull_theLineLastsAnew() {
        restart();
        for (int i = 0; i < 20; i++) {
            listen("client" + i);
            both(0, "client" + i + ":1", next(), "30000", FOR_EVER, "4500", "0", "barge");
        }
        for (int i = 0; i < 1_000; i++) {
            micros.addAndGet(100_000);
            Map<String, String> held = subject.hash(KEYS.lock());
            String owner = held.get("owner");
            if (Long.parseLong(held.get("token")) / 10_000_000 != micros.get() / 10_000_000) {
                both(script("signal"), owner, held.get("attempt"), next(), "c", "0");
                both(1, owner, held.get("attempt"));
            } else {
                String successor = owner.replaceFirst(":.*", owner.endsWith("1") ? ":2" : ":1");
                both(1, owner, held.get("attempt"), successor, next(), "30000", "4500", "0");
            }
            assertSame(0);
        }
    }

    @Test
    void handOff_withoutAFence_makesOneThatExpires() {
        restart();
        both(0, "a:1", next(), "30000", FOR_EVER, "4500", "0", "barge");
        both(0, "b:1", next(), "30000", FOR_EVER, "4500", "0", "barge");
        subject.del(KEYS.fence());
        reference.del(KEYS.fence());
        both(1, "a:1", subject.hash(KEYS.lock()).get("attempt"));
        assertThat(subject.hash(KEYS.lock())).containsEntry("owner", "b:1");
        assertSame(0);
        assertThat(subject.pttl(KEYS.fence())).isPositive();
    }

    private void restart() {
        // Near the border of ten seconds, at which lines are made to last anew.
        micros.set(1_790_000_009_900_000L);
        subject.flushAll();
        reference.flushAll();
        List.of("a", "b", "c").forEach(this::listen);
        history.clear();
        for (InMemoryRedis redis : List.of(subject, reference)) {
            redis.deliverMessages();
            redis.holdMessages();
        }
    }

    private void listen(String client) {
        mailboxes.computeIfAbsent(client, first -> {
            String channel = Keys.mailbox("p", first);
            return List.of(subject.subscribe(channel, SECOND), reference.subscribe(channel, SECOND));
        });
    }

    private Reply step() {
        switch (random.nextInt(20)) {
            case 0 -> micros.addAndGet(random.nextInt(12) * 1_000_000L);
            case 1 -> micros.addAndGet(-random.nextInt(3) * 1_000_000L);
            case 2 -> {
                List<Redis.Subscription> gone = mailboxes.remove("b");
                if (gone != null) {
                    gone.forEach(Redis.Subscription::close);
                } else {
                    listen("b");
                }
            }
            case 3 -> {
                // The fence of a lock that is held says what its hash says; a line and its texts go together.
                List<List<String>> parts =
                        List.of(keys(0), reference.hash(KEYS.lock()).isEmpty() ? keys(3) : keys(0), keys(1, 2, 4));
                for (String key : parts.get(random.nextInt(3))) {
                    history.add("del " + key);
                    assertThat(subject.del(key)).isEqualTo(reference.del(key));
                }
            }
            default -> {
                return call();
            }
        }
        history.add("at " + micros);
        return null;
    }

    private static List<String> keys(int... indexes) {
        return Arrays.stream(indexes).mapToObj(KEYS.all()::get).toList();
    }

    private Reply call() {
        Map<String, String> held = reference.hash(KEYS.lock());
        String owner = held.get("owner");
        String other = OWNERS.get(random.nextInt(OWNERS.size()));
        int kind = random.nextInt(10);
        if (owner == null || kind < 4) {
            String mode = random.nextInt(4) == 0 ? "queue" : "barge";
            return both(0, other, next(), "30000", FOR_EVER, random.nextInt(4) == 0 ? "" : "4500", "0", mode);
        }
        String attempt = held.get("attempt");
        if (kind == 4) {
            String wanted = Integer.toString(1 + random.nextInt(2));
            return both(script("heartbeat"), other, placed(other), FOR_EVER, wanted, "4500");
        }
        if (kind == 5 && random.nextBoolean()) {
            return both(
                    script("await"), owner, attempt, next(), "c" + random.nextInt(2), "2", "4500", "", "", "", "", "0");
        }
        if (kind == 5) {
            return both(script("signal"), owner, attempt, next(), "c" + random.nextInt(2), "0");
        }
        if (kind == 6 && random.nextInt(3) == 0) {
            return both(script("leave"), other, placed(other), "0", "0", "", "", "", "");
        }
        String successor = owner.substring(0, 2) + (1 + random.nextInt(3));
        if (successor.equals(owner) || random.nextInt(4) == 0) {
            return both(1, owner, attempt);
        }
        String keep = random.nextInt(3) == 0 ? "1" : "0";
        return both(1, owner, attempt, successor, next(), "30000", random.nextInt(5) == 0 ? "" : "4500", keep);
    }

    private String next() {
        return Long.toString(++number);
    }

    /** The attempt of a place of an owner, or a new one. */
    private String placed(String owner) {
        return reference.hash(KEYS.all().get(2)).keySet().stream()
                .filter(place -> place.startsWith(owner + ":"))
                .findFirst()
                .map(place -> place.substring(owner.length() + 1))
                .orElseGet(this::next);
    }

    private Reply both(Script script, String... args) {
        return both(script, script, args);
    }

    private Reply both(int index, String... args) {
        return both(SCRIPTS.get(index), LONG.get(index), args);
    }

    private Reply both(Script one, Script two, String... args) {
        Reply expected = reference.run(new Call(two, KEYS.all(), List.of(args)), SECOND);
        history.add(one + " " + Arrays.toString(args) + " = " + expected.code() + expected.values());
        Reply reply = subject.run(new Call(one, KEYS.all(), List.of(args)), SECOND);
        assertThat(reply).as("%s", history).isEqualTo(expected);
        return reply;
    }

    private void assertSame(int seed) {
        assertThat(subject.heldMessages()).as("seed %s: %s", seed, history).isEqualTo(reference.heldMessages());
        assertThat(state(subject)).as("seed %s: %s", seed, history).isEqualTo(state(reference));
        if (reference.hash(KEYS.lock()).containsKey("waited")) {
            assertThat(subject.hash(KEYS.lock())).as("%s", history).containsKey("waited");
        }
        for (String line : List.of(KEYS.all().get(1), KEYS.all().get(2))) {
            assertThat(subject.pttl(line))
                    .as("%s of %s", line, history)
                    .satisfiesAnyOf(
                            left -> assertThat(left).isEqualTo(-2),
                            left -> assertThat(left).isGreaterThan(4_500));
        }
    }

    /** Everything but that somebody may wait though nobody does, and how long lines last. */
    private static List<Object> state(InMemoryRedis redis) {
        Map<String, String> held = new HashMap<>(redis.hash(KEYS.lock()));
        held.remove("waited");
        List<String> keys = KEYS.all();
        return List.of(
                held,
                redis.pttl(keys.get(0)),
                redis.zset(keys.get(1)),
                redis.hash(keys.get(2)),
                String.valueOf(redis.string(keys.get(3))),
                redis.pttl(keys.get(3)) > 0,
                redis.zset(keys.get(4)));
    }
}
