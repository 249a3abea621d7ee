package io.github.redislocks.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.redis.cluster.ClusterNode;
import io.github.redislocks.redis.cluster.ClusterView;
import io.github.redislocks.redis.cluster.ClusterView.Claim;
import io.github.redislocks.redis.cluster.ClusterWatch;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** The number of seeds that name a cluster, if their replies name several. */
class ClusterSeedsTest {

    private static final Address ONE = new Address("one", 1);
    private static final Address TWO = new Address("two", 2);
    private static final Address THREE = new Address("three", 3);
    private static final List<Address> SEEDS = List.of(ONE, TWO, THREE);

    private static final ClusterView RIGHT = view("a", 1, Set.of(ONE, TWO), Set.of("a", "b"));
    private static final ClusterView RIGHT_BY_ANOTHER = view("b", 2, Set.of(ONE, TWO), Set.of("b", "c"));
    private static final ClusterView FOREIGN = view("x", 99, Set.of(THREE), Set.of("x", "y"));

    private static ClusterView view(String master, long epoch, Set<Address> addresses, Set<String> ids) {
        ClusterNode owner = new ClusterNode(master, new Address(master, 1));
        return new ClusterView(List.of(new Claim(0, 16_383, owner, epoch)), addresses, ids);
    }

    @Test
    void votes_ofACluster_areTheRepliesThatShareANodeWithIt() {
        Map<Address, ClusterView> said = Map.of(ONE, RIGHT, TWO, RIGHT_BY_ANOTHER, THREE, FOREIGN);
        assertThat(ClusterWatch.votes(RIGHT, SEEDS, said)).isEqualTo(2);
        assertThat(ClusterWatch.votes(RIGHT_BY_ANOTHER, SEEDS, said)).isEqualTo(2);
        assertThat(ClusterWatch.votes(FOREIGN, SEEDS, said)).isEqualTo(1);
    }

    @Test
    void votes_ofSeedsThatDoNotReply_areForTheClusterThatListsThem() {
        assertThat(ClusterWatch.votes(RIGHT, SEEDS, Map.of(TWO, RIGHT, THREE, FOREIGN)))
                .isEqualTo(2);
        assertThat(ClusterWatch.votes(FOREIGN, SEEDS, Map.of(TWO, RIGHT, THREE, FOREIGN)))
                .isEqualTo(1);
    }

    @Test
    void votes_ofSeedsThatReplyForAnotherCluster_doNotCountAlthoughTheyAreListed() {
        assertThat(ClusterWatch.votes(RIGHT, SEEDS, Map.of(ONE, FOREIGN, TWO, RIGHT)))
                .isEqualTo(1);
    }
}
