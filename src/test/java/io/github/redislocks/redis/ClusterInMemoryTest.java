package io.github.redislocks.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.redis.cluster.ClusterRedis;
import io.github.redislocks.redis.topology.Topology;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** How a call finds its master in a cluster of two nodes, which are objects of this test. */
@Timeout(60)
class ClusterInMemoryTest {

    private static final long LONG = TimeUnit.SECONDS.toNanos(30);
    private static final int SLOT = 7;
    private static final Address ONE = new Address("one", 1);
    private static final Address TWO = new Address("two", 2);
    private static final Call CALL =
            new Call(new Script("any", "return {'OK'}", "0".repeat(40)), List.of("key"), List.of());

    private final AtomicInteger moves = new AtomicInteger();
    /** The master of all slots, and its epoch. */
    private volatile Address owner = ONE;

    private volatile int epoch = 1;
    /** The error that the owner replies to each call; null for none. */
    private volatile @Nullable String error;

    private ClusterRedis cluster;

    @BeforeEach
    void open() {
        Servers nodes = new Servers() {
            @Override
            public SingleServer at(Address address) {
                return new Node(address);
            }

            @Override
            public int slotOf(String key) {
                return SLOT;
            }
        };
        cluster = new ClusterRedis(new Topology.Cluster(List.of(ONE, TWO)), nodes, LONG, Threads.DAEMONS);
        cluster.onMoved(moves::incrementAndGet);
        cluster.start();
    }

    @AfterEach
    void close() {
        cluster.close();
    }

    private String answeredBy() {
        return cluster.run(CALL, LONG).text(0);
    }

    @Test
    void moved_call_runsOnTheNewMaster_afterTheListener() {
        assertThat(answeredBy()).isEqualTo("one:1");
        epoch = 2;
        owner = TWO;
        assertThat(answeredBy()).isEqualTo("two:2");
        assertThat(moves).hasValue(1);
        assertThat(cluster.serverOf("key")).isEqualTo("two:2");
    }

    @Test
    void ask_call_runsAfterAskingOnTheNamedNode() {
        error = "ASK " + SLOT + " two:2";
        assertThat(answeredBy()).isEqualTo("two:2 after ASKING");
        error = null;
        assertThat(answeredBy()).isEqualTo("one:1");
        assertThat(moves).hasValue(0);
    }

    /** A node that does not know its own host name writes a question mark. */
    @ParameterizedTest
    @ValueSource(strings = {"", "?"})
    void ask_withoutAHost_namesAPortOfTheSameHost(String host) {
        error = "ASK " + SLOT + " " + host + ":3";
        assertThat(answeredBy()).isEqualTo("one:3 after ASKING");
    }

    @Test
    void ask_inABatch_isRunAfterAsking() {
        error = "ASK " + SLOT + " two:2";
        assertThat(cluster.runAll(List.of(CALL, CALL), LONG))
                .extracting(outcome -> outcome.reply().text(0))
                .containsExactly("two:2 after ASKING", "two:2 after ASKING");
    }

    /** A node that always knows the master of all slots. */
    private final class Node implements SingleServer {

        private final Address address;

        Node(Address address) {
            this.address = address;
        }

        @Override
        public Reply run(Call call, long timeoutNanos) {
            String refusal = address.equals(owner) ? error : "MOVED " + SLOT + " " + owner;
            if (refusal != null) {
                throw new RedisException.Refused(refusal, new ErrorReply(refusal));
            }
            return new Reply("OK", List.of(address.toString()));
        }

        @Override
        public List<Outcome> runAll(List<Call> calls, long timeoutNanos) {
            return calls.stream().map(call -> outcome(call, timeoutNanos)).toList();
        }

        private Outcome outcome(Call call, long timeoutNanos) {
            try {
                return Outcome.of(run(call, timeoutNanos));
            } catch (RedisException e) {
                return Outcome.of(e);
            }
        }

        @Override
        public Outcome runAsking(Call call, long timeoutNanos) {
            return Outcome.of(new Reply("OK", List.of(address + " after ASKING")));
        }

        @Override
        public List<Outcome> runAllAsking(List<Call> calls, long timeoutNanos) {
            return calls.stream().map(call -> runAsking(call, timeoutNanos)).toList();
        }

        @Override
        public List<Object> ask(String what, List<List<String>> commands, long timeoutNanos) {
            assertThat(commands).containsExactly(List.of("CLUSTER", "NODES"), List.of("CLUSTER", "SLOTS"));
            String nodes = node(ONE) + node(TWO);
            List<Object> master = List.of(owner.host(), (long) owner.port(), "id-" + owner);
            return List.of(nodes, List.of(List.of(0L, 16_383L, master)));
        }

        private String node(Address of) {
            String slots = of.equals(owner) ? epoch + " connected 0-16383" : "0 connected";
            return "id-" + of + " " + of + "@9 master - 0 0 " + slots + "\n";
        }

        @Override
        public void openLane(long timeoutNanos) {}

        @Override
        public Subscription subscribe(String channel, long timeoutNanos) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void publish(String channel, String message, long timeoutNanos) {}

        @Override
        public String address() {
            return address.toString();
        }

        @Override
        public void close() {}
    }
}
