package io.github.redislocks.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.redis.cluster.ClusterMasters;
import io.github.redislocks.redis.cluster.ClusterNode;
import io.github.redislocks.redis.cluster.ClusterView;
import io.github.redislocks.redis.cluster.ClusterView.Claim;
import io.github.redislocks.redis.cluster.ClusterWatch;
import io.github.redislocks.redis.cluster.RedirectedCall;
import io.github.redislocks.redis.cluster.SlotMap;
import io.github.redislocks.redis.jedis.JedisConfigs;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import redis.clients.jedis.DefaultJedisClientConfig;

/** The effects of a new slot map, and a call's way in the cluster, with no server at the other end. */
@Timeout(30)
class ClusterMastersTest {

    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);
    private static final Servers SERVERS =
            new JedisConfigs(DefaultJedisClientConfig.builder().build()).servers(1, Threads.DAEMONS);
    private static final Predicate<ClusterNode> NOBODY = Set.<ClusterNode>of()::contains;
    private static final ClusterNode ONE = node("a", 1);
    private static final ClusterNode TWO = node("b", 2);
    private static final SlotMap HALVES =
            SlotMap.UNKNOWN.with(view(new Claim(0, 8_191, ONE, 1), new Claim(8_192, 16_383, TWO, 2)), NOBODY);
    private static final SlotMap ALL_OF_ONE = HALVES.with(view(new Claim(0, 16_383, ONE, 3)), NOBODY);

    /** The masters of slots of both halves while the listener runs; null for none. */
    private final List<List<SingleServer>> whileTold = new ArrayList<>();

    private final AtomicLong now = new AtomicLong();
    private ClusterMasters masters;
    private Consumer<SlotMap> news;

    private static ClusterNode node(String id, int port) {
        return new ClusterNode(id, new Address("127.0.0.1", port));
    }

    private static ClusterView view(Claim... claims) {
        return new ClusterView(List.of(claims), Set.of(), Set.of());
    }

    @BeforeEach
    void open() {
        List<Address> seeds = List.of(ONE.address(), TWO.address());
        masters = new ClusterMasters(
                "the cluster",
                SERVERS,
                heard -> {
                    news = heard;
                    return new ClusterWatch(seeds, SERVERS, SECOND, heard, Threads.DAEMONS);
                },
                now::get);
        masters.onMoved(this::noteWhileTold);
    }

    private void noteWhileTold() {
        whileTold.add(Arrays.asList(masters.owner(0), masters.owner(16_383)));
    }

    @AfterEach
    void close() {
        masters.close();
    }

    @Test
    void slotsOfADeadMaster_givenToOneThatWasThere_areAMove() {
        news.accept(HALVES);
        SingleServer one = masters.owner(0);
        masters.note(masters.owner(16_383), new RedisException.Unanswered("no answer", true, null));
        news.accept(ALL_OF_ONE);
        assertThat(whileTold)
                .as("once, and meanwhile no call goes there: it may not have the keys")
                .containsExactly(Arrays.asList(null, null));
        assertThat(masters.owner(0)).isSameAs(one);
        assertThat(masters.owner(16_383)).isSameAs(one);
    }

    @Test
    void move_listenerThrew_isReportedAgainWithTheNextNews() {
        masters.onMoved(() -> {
            noteWhileTold();
            if (whileTold.size() == 1) {
                throw new OutOfMemoryError("made by the test");
            }
        });
        news.accept(SlotMap.UNKNOWN.with(view(new Claim(0, 16_383, ONE, 1)), NOBODY));
        SingleServer one = masters.owner(0);
        assertThatThrownBy(() -> news.accept(HALVES)).isInstanceOf(OutOfMemoryError.class);
        assertThat(masters.owner(16_383)).as("until the listener has run").isNull();
        news.accept(HALVES);
        assertThat(whileTold).containsExactly(Arrays.asList(one, null), Arrays.asList(one, null));
        assertThat(masters.owner(16_383)).isNotNull();
        news.accept(HALVES);
        assertThat(whileTold).hasSize(2);
    }

    @Test
    void slotsOfAMasterThatAnswers_givenToOneThatWasThere_areNoMove() {
        news.accept(HALVES);
        news.accept(ALL_OF_ONE);
        assertThat(whileTold).isEmpty();
        assertThat(masters.owner(16_383)).isSameAs(masters.owner(0));
    }

    @Test
    void slotsOfANewMaster_areAMoveOfThoseAlone() {
        news.accept(SlotMap.UNKNOWN.with(view(new Claim(0, 16_383, ONE, 1)), NOBODY));
        SingleServer one = masters.owner(0);
        news.accept(HALVES);
        assertThat(whileTold).containsExactly(Arrays.asList(one, null));
        assertThat(masters.owner(16_383)).isNotNull();
    }

    private static void isClosed(SingleServer server) {
        assertThatThrownBy(() -> server.run(JedisRedisFixture.PING, SECOND))
                .isInstanceOf(RedisException.Unanswered.class)
                .hasMessageContaining("have been closed");
    }

    private static void isOpen(SingleServer server) {
        assertThatThrownBy(() -> server.run(JedisRedisFixture.PING, SECOND))
                .isInstanceOf(RedisException.Unanswered.class)
                .hasMessageNotContaining("have been closed");
    }

    @Test
    void importingNode_notCalledForKeptNanos_isClosed() {
        news.accept(HALVES);
        Address first = new Address("127.0.0.1", 3);
        Address second = new Address("127.0.0.1", 4);
        SingleServer abandoned = masters.importer(first);
        now.addAndGet(ClusterMasters.KEPT_NANOS);
        SingleServer wanted = masters.importer(second);
        isOpen(abandoned);
        now.addAndGet(1);
        assertThat(masters.importer(second)).isSameAs(wanted);
        isClosed(abandoned);
        now.addAndGet(ClusterMasters.KEPT_NANOS);
        SingleServer again = masters.importer(first);
        isOpen(wanted);
        assertThat(again).isNotSameAs(abandoned);
        now.addAndGet(ClusterMasters.KEPT_NANOS + 1);
        news.accept(ALL_OF_ONE);
        isClosed(again);
        isClosed(wanted);
    }

    @Test
    void call_sentOnAfterALostReply_keepsWhoConfirmedIt() {
        news.accept(HALVES);
        RedirectedCall redirected = new RedirectedCall(masters, JedisRedisFixture.COUNT, SECOND);
        redirected.next();
        ErrorReply elsewhere = new ErrorReply("TRYAGAIN Multiple keys request during rehashing of slot");
        assertThat(redirected.settle(Outcome.of(new RedisException.Unanswered("refused twice", true, elsewhere))))
                .isFalse();
        redirected.next();
        assertThat(redirected.settle(Outcome.of(new Reply("OK", List.of(1L), false, 2))))
                .isTrue();
        assertThat(redirected.outcome()).isEqualTo(Outcome.of(new Reply("OK", List.of(1L), true, 2)));
    }
}
