package io.github.redislocks.testkit.twin;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A sorted set. Its members are sorted by their scores, and members with the same score by their bytes. */
final class ScoredSet {

    record Member(String name, double score) implements Comparable<Member> {
        @Override
        public int compareTo(Member other) {
            int byScore = Double.compare(score, other.score);
            return byScore != 0 ? byScore : name.compareTo(other.name);
        }
    }

    private final Map<String, Member> byName = new HashMap<>();
    private final List<Member> ordered = new ArrayList<>();

    /** Adds a member or changes its score. Returns whether the member is new. */
    boolean put(String name, double score) {
        // Adding 0.0 turns -0.0 into 0.0: Redis treats the two as equal, and Double.compare does not.
        Member member = new Member(name, score + 0.0);
        Member before = byName.put(name, member);
        if (before != null) {
            ordered.remove(Collections.binarySearch(ordered, before));
        }
        ordered.add(-1 - Collections.binarySearch(ordered, member), member);
        return before == null;
    }

    boolean remove(String name) {
        Member member = byName.remove(name);
        if (member != null) {
            ordered.remove(Collections.binarySearch(ordered, member));
        }
        return member != null;
    }

    @Nullable
    Member get(String name) {
        return byName.get(name);
    }

    int rank(Member member) {
        return Collections.binarySearch(ordered, member);
    }

    List<Member> members() {
        return ordered;
    }

    int size() {
        return ordered.size();
    }
}
