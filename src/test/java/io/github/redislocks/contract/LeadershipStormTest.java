package io.github.redislocks.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.LeaderTerm;
import io.github.redislocks.LeaderWork;
import io.github.redislocks.Leadership;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.fixture.RedisServer;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.Protocol;

/** Leaders of three clients on a real server, which is flushed, paused and cut off. */
@Timeout(120)
@Tag("server")
class LeadershipStormTest {

    private static final int TERMS = 300;

    private final RedisServer server = RedisServer.start();
    private final List<RedisLocks> clients = List.of(connect(), connect(), connect());
    private final List<Leadership> candidates = new ArrayList<>();
    private final Jedis redis = new Jedis(URI.create(server.uri()));
    private final BlockingQueue<LeaderTerm> elected = new LinkedBlockingQueue<>();
    private final AtomicInteger interrupts = new AtomicInteger();

    private RedisLocks connect() {
        return RedisLocks.builder()
                .uri(server.uri())
                .lease(Duration.ofSeconds(2))
                .build();
    }

    /** Leads until it is interrupted. */
    private void lead(LeaderTerm term) throws InterruptedException {
        elected.add(term);
        try {
            new CountDownLatch(1).await();
        } catch (InterruptedException e) {
            interrupts.incrementAndGet();
            throw e;
        }
    }

    private void runAll(LeaderWork work) {
        clients.forEach(client -> candidates.add(client.leadership("job", work)));
    }

    private LeaderTerm next() throws InterruptedException {
        LeaderTerm term = elected.poll(60, TimeUnit.SECONDS);
        assertThat(term).as("an elected candidate").isNotNull();
        return term;
    }

    private Leadership leader() {
        await().until(() -> candidates.stream().anyMatch(Leadership::isLeader));
        return candidates.stream().filter(Leadership::isLeader).findFirst().orElseThrow();
    }

    private Set<String> keys() {
        return redis.keys("*").stream().filter(key -> !key.endsWith(":fence")).collect(Collectors.toSet());
    }

    private void closeAllInGoodOrder() {
        assertThat(candidates).allMatch(each -> each.close(Duration.ofSeconds(20)));
        await().untilAsserted(() -> assertThat(keys()).isEmpty());
    }

    @AfterEach
    void close() {
        candidates.forEach(Leadership::closeAsync);
        clients.forEach(RedisLocks::close);
        redis.close();
        server.close();
    }

    @Test
    void terms_ofAllCandidates_areOneByOne_withGrowingTokens() {
        AtomicInteger inside = new AtomicInteger();
        List<Integer> atATime = new CopyOnWriteArrayList<>();
        List<Long> tokens = new CopyOnWriteArrayList<>();
        runAll(term -> {
            atATime.add(inside.incrementAndGet());
            tokens.add(term.fencingToken());
            inside.decrementAndGet();
        });
        await().atMost(Duration.ofSeconds(60)).until(() -> tokens.size() >= TERMS);
        closeAllInGoodOrder();
        assertThat(atATime).containsOnly(1);
        assertThat(tokens).isSorted().doesNotHaveDuplicates();
    }

    @Test
    void leader_thatIsForced_flushedOrCut_isFollowedByAGreaterToken() throws InterruptedException {
        runAll(this::lead);
        LeaderTerm term = next();
        for (int i = 0; i < 9; i++) {
            long token = term.fencingToken();
            switch (i % 3) {
                case 0 ->
                    assertThat(clients.get(0).reentrantLock("job").forceUnlock())
                            .isTrue();
                case 1 -> redis.flushAll();
                default -> leader().closeAsync();
            }
            LeaderTerm last = term;
            term = next();
            assertThat(term.fencingToken()).isGreaterThan(token);
            await().until(last::isStopping);
            if (i % 3 == 2) {
                candidates.removeIf(each -> each.isClosing());
                candidates.add(clients.get(i / 3).leadership("job", this::lead));
            }
        }
        await().untilAsserted(() -> assertThat(interrupts).hasValue(9));
        closeAllInGoodOrder();
        // The count includes each that was elected while the others closed.
        assertThat(interrupts).hasValue(10 + elected.size());
    }

    @Test
    void leader_whoseServerHangs_isToldBeforeItGoesOn_andAnotherIsElected() throws InterruptedException {
        runAll(this::lead);
        LeaderTerm term = next();
        long token = term.fencingToken();
        server.pause();
        await().untilAsserted(() -> assertThat(interrupts).hasValue(1));
        assertThat(term.isHeld()).isFalse();
        assertThat(elected).isEmpty();
        server.resume();
        assertThat(next().fencingToken()).isGreaterThan(token);
        closeAllInGoodOrder();
    }

    @Test
    void leader_whoseConnectionsAreCut_goesOn() throws InterruptedException {
        runAll(this::lead);
        LeaderTerm term = next();
        for (int i = 0; i < 10; i++) {
            redis.clientList()
                    .lines()
                    .map(line -> line.replaceFirst(" .*", "").replace("id=", ""))
                    .forEach(id -> {
                        if (!id.equals(Long.toString(redis.clientId()))) {
                            redis.sendCommand(Protocol.Command.CLIENT, "KILL", "ID", id);
                        }
                    });
            assertThat(term.awaitStopping(Duration.ofMillis(300))).isFalse();
        }
        assertThat(elected).isEmpty();
        closeAllInGoodOrder();
    }

    @Test
    void leader_whoseClientCloses_isFollowedByAnother() throws InterruptedException {
        runAll(this::lead);
        for (int left = 3; left > 1; left--) {
            LeaderTerm term = next();
            long token = term.fencingToken();
            int index = candidates.indexOf(leader());
            clients.get(index).close(Duration.ofSeconds(20));
            assertThat(term.isStopping()).isTrue();
            LeaderTerm following = next();
            assertThat(following.previousHolderLost()).isFalse();
            assertThat(following.fencingToken()).isGreaterThan(token);
            elected.add(following);
        }
        closeAllInGoodOrder();
    }
}
