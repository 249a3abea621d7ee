package io.github.redislocks.testkit.twin;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A sorted set: members in the order of their scores, those of one score in the order of their bytes. */
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

    /** Whether the member is a new one. */
    boolean put(String name, double score) {
        // Without the sign of a zero, by which Redis does not sort.
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
