package io.github.redislocks.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.redis.cluster.ClusterNode;
import io.github.redislocks.redis.cluster.ClusterView;
import io.github.redislocks.redis.cluster.ClusterView.Claim;
import io.github.redislocks.redis.cluster.SlotMap;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;
import org.junit.jupiter.api.Test;

/** The master that a client believes to have a slot. */
class SlotMapTest {

    private static final ClusterNode OLD = node("a", 1);
    private static final ClusterNode NEW = node("b", 2);

    private static final Predicate<ClusterNode> NOBODY = Set.<ClusterNode>of()::contains;

    private static ClusterNode node(String id, int port) {
        return new ClusterNode(id, new Address("host", port));
    }

    private static ClusterView view(Claim... claims) {
        return new ClusterView(List.of(claims), Set.of(), Set.of());
    }

    @Test
    void with_firstView_isBelieved() {
        SlotMap slots = SlotMap.UNKNOWN.with(view(new Claim(0, 10, OLD, 1), new Claim(11, 16_383, NEW, 2)), NOBODY);
        assertThat(slots.owner(10)).isEqualTo(OLD);
        assertThat(slots.owner(11)).isEqualTo(NEW);
        assertThat(slots.owners()).containsExactlyInAnyOrder(OLD, NEW);
        assertThat(SlotMap.UNKNOWN.owner(10)).isNull();
    }

    @Test
    void with_greaterEpoch_overrules_andTheSmallerOneChangesNothing() {
        SlotMap slots = SlotMap.UNKNOWN
                .with(view(new Claim(0, 10, OLD, 1)), NOBODY)
                .with(view(new Claim(5, 10, NEW, 7)), NOBODY);
        assertThat(slots.owner(4)).isEqualTo(OLD);
        assertThat(slots.owner(5)).isEqualTo(NEW);
        assertThat(slots.with(view(new Claim(0, 10, OLD, 1)), NOBODY))
                .as("nothing new")
                .isSameAs(slots);
    }

    @Test
    void with_equalEpochs_keepsTheKnownOwner_unlessItIsSilent() {
        SlotMap slots = SlotMap.UNKNOWN.with(view(new Claim(0, 10, OLD, 5)), NOBODY);
        ClusterView other = view(new Claim(0, 10, NEW, 5));
        assertThat(slots.with(other, NOBODY)).isSameAs(slots);
        assertThat(slots.with(other, NEW::equals)).isSameAs(slots);
        SlotMap taken = slots.with(other, OLD::equals);
        assertThat(taken.owner(3)).isEqualTo(NEW);
        assertThat(taken.with(view(new Claim(0, 10, OLD, 5)), NOBODY)).isSameAs(taken);
        assertThat(taken.with(view(new Claim(0, 10, OLD, 6)), NOBODY).owner(3))
                .as("the two soon agree on a greater epoch")
                .isEqualTo(OLD);
    }

    @Test
    void with_equalEpochsOfOneNode_usesTheNewAddress() {
        SlotMap slots = SlotMap.UNKNOWN.with(view(new Claim(0, 10, OLD, 5)), NOBODY);
        ClusterNode moved = node("a", 9);
        assertThat(slots.with(view(new Claim(0, 10, moved, 5)), NOBODY).owner(3))
                .isEqualTo(moved);
    }

    @Test
    void with_slotWithoutAClaim_keepsItsOwner() {
        SlotMap slots = SlotMap.UNKNOWN.with(view(new Claim(0, 10, OLD, 1)), NOBODY);
        assertThat(slots.with(view(), NOBODY).owner(3)).isEqualTo(OLD);
    }

    @Test
    void denied_anyOtherClaim_isBelieved() {
        SlotMap slots =
                SlotMap.UNKNOWN.with(view(new Claim(0, 10, OLD, 9)), NOBODY).denied(3, OLD);
        assertThat(slots.owner(3)).as("until somebody else claims it").isEqualTo(OLD);
        SlotMap reset = slots.with(view(new Claim(0, 10, NEW, 1)), NOBODY);
        assertThat(reset.owner(3)).isEqualTo(NEW);
        assertThat(reset.owner(4)).as("not denied").isEqualTo(OLD);
    }

    @Test
    void denied_byWhoIsNotTheOwner_saysNothing() {
        SlotMap slots = SlotMap.UNKNOWN.with(view(new Claim(0, 10, OLD, 9)), NOBODY);
        assertThat(slots.denied(3, NEW)).isSameAs(slots);
    }

    @Test
    void without_leavesTheOthers() {
        SlotMap slots = SlotMap.UNKNOWN.with(view(new Claim(0, 10, OLD, 1), new Claim(11, 20, NEW, 2)), NOBODY);
        assertThat(slots.without(Set.of(NEW)).owner(11)).isNull();
        assertThat(slots.without(Set.of(NEW)).owner(10)).isEqualTo(OLD);
    }

    @Test
    void view_nodesThatDoNotKnowTheirHost_areWhereTheOneIsThatWasAsked() {
        String nodes = """
                aa :7001@17001 myself,master - 0 0 3 connected 0-5
                bb 10.0.0.2:7002@17002,name slave aa 0 0 1 connected
                """;
        List<Object> range = List.of(0L, 5L, List.of("", 7001L, "aa"), List.of("other", 7002L, "bb"));
        ClusterView view = ClusterView.of(new Address("asked", 1), nodes, List.of(range));
        Address master = new Address("asked", 7001);
        assertThat(view.claims()).containsExactly(new Claim(0, 5, new ClusterNode("aa", master), 3));
        assertThat(view.addresses()).containsExactly(master, new Address("other", 7002));
    }

    /** The format of the text stands before its first line. */
    @Test
    void view_inResp3_hasTheEpochOfTheFirstNode() {
        String nodes = "txt:aa 10.0.0.1:7001@17001 myself,master - 0 0 3 connected 0-5\n";
        List<Object> range = List.of(0L, 5L, List.of("10.0.0.1", 7001L, "aa"));
        ClusterView view = ClusterView.of(new Address("asked", 1), nodes, List.of(range));
        ClusterNode master = new ClusterNode("aa", new Address("10.0.0.1", 7001));
        assertThat(view.claims()).containsExactly(new Claim(0, 5, master, 3));
        assertThat(view.isOf(Set.of("aa"))).isTrue();
    }
}
