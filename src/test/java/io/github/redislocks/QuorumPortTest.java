package io.github.redislocks;

import static io.github.redislocks.QuorumTwins.script;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.fixture.twin.HeldCalls;
import io.github.redislocks.fixture.twin.InMemoryRedis;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A quorum of three as one Redis: what two questions of one attempt do to each other. */
@Timeout(30)
class QuorumPortTest {

    private static final long SECOND = 1_000_000_000;
    private static final Duration SOON = Duration.ofSeconds(10);

    private final List<InMemoryRedis> masters = new ArrayList<>();
    private final List<InMemoryRedis> nodes = new ArrayList<>();
    private final ServerTimes times = new ServerTimes(Clock.SYSTEM);
    private Quorum quorum;
    private Attempt attempt;
    private Keys keys;

    @BeforeEach
    void connect() {
        for (int i = 0; i < 3; i++) {
            masters.add(new InMemoryRedis());
            nodes.add(masters.get(i).another());
        }
        quorum = new Quorum(nodes, LockOptions.DEFAULTS, 0);
        keys = Keys.of("redis-locks:quorum", "job");
        attempt = new Attempt(
                7, keys, new LocalOwner("client:1"), new Attempt.Wish(3_000, true, false), Patience.endless());
    }

    @AfterEach
    void close() {
        quorum.close();
        masters.forEach(InMemoryRedis::close);
    }

    private Reply acquire() {
        return quorum.run(Protocol.acquire(attempt, times.date(0, SECOND), true, 0), SECOND);
    }

    private Outcome heartbeat() {
        return quorum.runAll(List.of(Protocol.heartbeat(attempt, times.date(0, SECOND))), SECOND)
                .get(0);
    }

    private long votes() {
        return masters.stream()
                .filter(master -> !master.hash(keys.lock()).isEmpty())
                .count();
    }

    @Test
    void heartbeat_afterTheAttemptHasWon_neverTakesItsVotesBack() {
        assertThat(acquire().code()).isEqualTo("OK");
        await().atMost(SOON).until(() -> votes() == 3);
        // From now on nobody would vote: a vote that came to nothing would be withdrawn, and the lock with it.
        List<HeldCalls> held = hold(call ->
                call.script().name().equals("keep") || call.script().name().equals("vote"));
        CompletableFuture<Outcome> asked = CompletableFuture.supplyAsync(this::heartbeat);
        assertThat(asked.join().failure()).isNotNull();
        held.forEach(HeldCalls::release);
        await().atMost(SOON)
                .ignoreExceptions()
                .until(() -> quorum.run(Protocol.locked(keys), SECOND).is("LOCKED"));
        assertThat(votes()).isEqualTo(3);
        assertThat(masters.stream()
                        .mapToInt(master -> master.log().count("withdraw"))
                        .sum())
                .isZero();
    }

    @Test
    void heartbeat_whileTheAttemptAsks_doesNotAskBesides() throws Exception {
        List<HeldCalls> held = hold(script("vote"));
        CompletableFuture<Reply> asked = CompletableFuture.supplyAsync(this::acquire);
        held.get(0).awaitParked(1, SOON);
        assertThat(heartbeat().reply()).isEqualTo(new Reply("STALE", List.of()));
        held.forEach(HeldCalls::release);
        assertThat(asked.get(10, TimeUnit.SECONDS).code()).isEqualTo("OK");
    }

    @Test
    void heartbeat_ofAnAttemptThatLeft_isStale() {
        assertThat(acquire().code()).isEqualTo("OK");
        quorum.run(Protocol.leave(keys, attempt.owner.id, attempt.number, false, null, false), SECOND);
        assertThat(heartbeat().reply()).isEqualTo(new Reply("STALE", List.of()));
    }

    @Test
    void acquire_afterTheHeartbeatHasWon_isToldAsItAsked() {
        assertThat(acquire().code()).isEqualTo("OK");
        quorum.run(Protocol.leave(keys, attempt.owner.id, attempt.number, false, null, false), SECOND);
        await().until(() -> votes() == 0);
        Attempt other = new Attempt(
                8, keys, new LocalOwner("client:2"), new Attempt.Wish(3_000, true, false), Patience.endless());
        assertThat(quorum.run(Protocol.acquire(other, times.date(0, SECOND), true, 0), SECOND)
                        .code())
                .isEqualTo("OK");
        attempt = new Attempt(
                9, keys, new LocalOwner("client:1"), new Attempt.Wish(3_000, true, false), Patience.endless());
        assertThat(acquire().code()).isEqualTo("QUEUED");
        quorum.run(Protocol.leave(keys, other.owner.id, other.number, false, null, false), SECOND);
        await().until(() -> votes() == 0);
        Reply granted = heartbeat().reply();
        assertThat(granted.code()).isEqualTo("GRANTED");
        Reply again = acquire();
        assertThat(again.code()).isEqualTo("OK");
        assertThat(again.number(0)).isEqualTo(granted.number(0));
    }

    @Test
    void acquire_ofAWinThatHasLapsed_votesAnew() {
        long first = acquire().number(0);
        masters.forEach(master -> master.del(keys.lock()));
        Reply again = null;
        for (int i = 0; again == null && i < 3; i++) {
            try {
                again = acquire();
            } catch (RedisException.Unanswered gone) {
                assertThat(i).as("only the first").isZero();
            }
        }
        assertThat(again.number(0)).isGreaterThan(first);
    }

    @Test
    void acquire_whileAnEarlierQuestionHangs_isNotTakenForALateOne() throws Exception {
        List<HeldCalls> held = hold(script("vote"));
        CompletableFuture<Reply> asked = CompletableFuture.supplyAsync(this::acquire);
        held.get(0).awaitParked(1, SOON);
        assertThatThrownBy(() -> quorum.run(Protocol.acquire(attempt, times.date(0, SECOND), true, 0), SECOND / 20))
                .isInstanceOf(RedisException.Unanswered.class);
        held.forEach(HeldCalls::release);
        assertThat(asked.get(10, TimeUnit.SECONDS).code()).isEqualTo("OK");
    }

    @Test
    void timeOfAMaster_thatAnsweredSlowly_isNotAheadByTheWholeRoundTrip() {
        long there = 5_000_000_000L;
        ScheduledExecutorService scheduler = Executors.newSingleThreadScheduledExecutor();
        InMemoryRedis server = new InMemoryRedis(() -> there);
        InMemoryRedis face = server.another();
        HeldCalls held = face.hold(call -> true);
        Call check = Protocol.check("redis-locks:quorum", "mailbox");
        QuorumNode node = new QuorumNode(0, face, check, LockOptions.DEFAULTS, new QuorumCalls(1, 0), scheduler);
        Poll poll = Affirmation.ofAll(1, check);
        long sent = System.nanoTime();
        node.ask(List.of(poll), sent + 10 * SECOND, false);
        held.awaitParked(1, SOON);
        await().until(() -> System.nanoTime() - sent > SECOND / 2);
        long released = System.nanoTime();
        held.release();
        assertThat(poll.await(sent + 10 * SECOND).outcome().reply()).isNotNull();
        long ahead = node.time.notAfterMicros(System.nanoTime(), 0) - there;
        assertThat(ahead).isBetween(0L, (System.nanoTime() - released) / 1_000 + 100_000);
        scheduler.shutdownNow();
        node.shutDown();
        node.close(System.nanoTime() + SECOND);
        server.close();
    }

    @Test
    void acquire_again_answersWithTheSameToken() {
        Reply first = acquire();
        assertThat(acquire().number(0)).isEqualTo(first.number(0));
    }

    @Test
    void heartbeat_ofAnAttemptThatWasBusyAndHasNoPlace_isStale() {
        assertThat(acquire().code()).isEqualTo("OK");
        attempt = new Attempt(
                8, keys, new LocalOwner("client:2"), new Attempt.Wish(3_000, true, false), Patience.endless());
        Reply busy = quorum.run(Protocol.acquire(attempt, times.date(0, SECOND), false, 0), SECOND);
        assertThat(busy.code()).isEqualTo("BUSY");
        assertThat(heartbeat().reply()).isEqualTo(new Reply("STALE", List.of()));
        assertThat(masters).allMatch(master -> !master.zset(keys.all().get(1)).containsKey("client:2"));
    }

    private List<HeldCalls> hold(Predicate<Call> which) {
        return nodes.stream().map(node -> node.hold(which)).toList();
    }
}
