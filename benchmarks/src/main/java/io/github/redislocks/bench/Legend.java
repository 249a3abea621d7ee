package io.github.redislocks.bench;

import java.awt.Color;
import java.util.Arrays;

/**
 * The names and colours of contenders in pictures, which are the same in all pictures. Colour-blind people can
 * distinguish the colours.
 */
enum Legend {
    OURS("ours-default", "redis-locks", 0x0072B2),
    FAIR("ours-fair", "redis-locks, fair", 0x56B4E9),
    LOCAL("ours-local", "redis-locks, localReentry", 0x3A6EA5),
    RESIDENT("ours-resident", "redis-locks, residency", 0x56B4E9),
    WATCHING("ours-watching", "redis-locks, watchDeletions", 0x3A6EA5),
    MUTEX("ours-mutex", "redis-locks, plain lock", 0x3A6EA5),
    RESIDENT_MUTEX("ours-resident-mutex", "redis-locks, plain lock, residency", 0x8DA9C4),
    METERED("ours-metered", "redis-locks, with metrics", 0x3A6EA5),
    BEFORE("ours-before", "redis-locks, before", 0x8DA9C4),
    QUORUM("ours-quorum", "redis-locks", 0x0072B2),
    QUORUM_BEFORE("ours-quorum-before", "redis-locks, before", 0x8DA9C4),
    REDISSON("redisson", "Redisson", 0xD55E00),
    SPRING_SPIN("spring-spin", "Spring, spin lock", 0x009E73),
    SPRING_PUBSUB("spring-pubsub", "Spring, pub-sub lock", 0x66C2A5),
    JDK("jdk", "ReentrantLock, one JVM", 0xCC79A7),
    EVAL_FLOOR("floor-eval", "the least: two bare scripts", 0x8C959F),
    HANDOFF_FLOOR("floor-handoff", "the least: a token passed on", 0x8C959F),
    REDLOCK_FLOOR("floor-redlock", "a naive Redlock", 0x8C959F);

    final String contender;
    final String label;
    final Color colour;

    Legend(String contender, String label, int colour) {
        this.contender = contender;
        this.label = label;
        this.colour = new Color(colour);
    }

    static Legend of(String contender) {
        return Arrays.stream(values())
                .filter(one -> one.contender.equals(contender))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("No picture knows " + contender));
    }
}
