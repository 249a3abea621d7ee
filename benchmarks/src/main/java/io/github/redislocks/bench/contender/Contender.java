package io.github.redislocks.bench.contender;

import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import org.springframework.integration.redis.util.RedisLockRegistry.RedisLockType;

/** A kind of lock with its settings, or a floor: the least requests with which a lock is possible. */
public enum Contender {
    OURS_DEFAULT("ours-default", setting -> new Ours(setting, Ours.Kind.DEFAULT), Trait.OF_ONE_SERVER),
    OURS_FAIR("ours-fair", setting -> new Ours(setting, Ours.Kind.FAIR), Trait.twin()),
    OURS_LOCAL("ours-local", setting -> new Ours(setting, Ours.Kind.LOCAL_REENTRY), Trait.twin()),
    OURS_RESIDENT(
            "ours-resident", setting -> new Ours(setting, Ours.Kind.RESIDENT), Trait.twin(Trait.MIXES, Trait.SHARES)),
    OURS_WATCHING(
            "ours-watching", setting -> new Ours(setting, Ours.Kind.WATCHING), EnumSet.of(Trait.LOCKS, Trait.RENEWS)),
    /** The plain lock where others have a read-write lock, and the same with a residency. */
    OURS_MUTEX(
            "ours-mutex", setting -> new Ours(setting, Ours.Kind.MUTEX), EnumSet.of(Trait.MIXES, Trait.CROSSES_JVMS)),
    OURS_RESIDENT_MUTEX(
            "ours-resident-mutex",
            setting -> new Ours(setting, Ours.Kind.RESIDENT_MUTEX),
            EnumSet.of(Trait.MIXES, Trait.CROSSES_JVMS)),
    /** This library with metrics, to show their cost. */
    OURS_METERED("ours-metered", setting -> new Ours(setting, Ours.Kind.METERED), EnumSet.of(Trait.LOCKS)),
    /** An earlier version of this library, if {@code --before} names its jar. */
    OURS_BEFORE("ours-before", EarlierVersion::new, Trait.twin(Trait.SEVERAL)),
    OURS_QUORUM("ours-quorum", setting -> new Ours(setting, Ours.Kind.QUORUM), EnumSet.of(Trait.VOTES)),
    /** An earlier version of this library on a quorum, if {@code --before} names its jar. */
    OURS_QUORUM_BEFORE("ours-quorum-before", EarlierVersion::ofQuorum, EnumSet.of(Trait.VOTES)),
    REDISSON("redisson", RedissonLocks::new, Trait.OF_ONE_SERVER),
    SPRING_SPIN("spring-spin", setting -> new SpringLocks(setting, RedisLockType.SPIN_LOCK), Trait.twin(Trait.RENEWS)),
    SPRING_PUBSUB("spring-pubsub", setting -> new SpringLocks(setting, RedisLockType.PUB_SUB_LOCK), Trait.twin()),
    JDK(
            "jdk",
            setting -> new JdkLocks(),
            EnumSet.of(Trait.LOCKS, Trait.REENTERS, Trait.WAITS, Trait.MIXES, Trait.SHARES, Trait.PERMITS)),
    FLOOR_EVAL("floor-eval", EvalFloor::new, EnumSet.of(Trait.LOCKS, Trait.SEVERAL)),
    FLOOR_HANDOFF("floor-handoff", HandoffFloor::new, EnumSet.of(Trait.WAITS, Trait.CROSSES_JVMS)),
    FLOOR_REDLOCK("floor-redlock", RedlockFloor::new, EnumSet.of(Trait.VOTES));

    /** The abilities of a contender. */
    public enum Trait {
        /** Takes a free lock. */
        LOCKS,
        REENTERS,
        WAITS,
        CROSSES_JVMS,
        /** Takes several locks, all or none. */
        SEVERAL,
        /** Renews its holds as long as it lives. */
        RENEWS,
        /** Reads and writes under one lock. */
        MIXES,
        /** Lets several threads read at once. */
        SHARES,
        /** Has permits. */
        PERMITS,
        /** Asks several masters, of which a majority decides. */
        VOTES;

        static final Set<Trait> OF_ONE_SERVER = EnumSet.complementOf(EnumSet.of(VOTES));

        /**
         * The traits of a contender that differs from another one only in waiting, and more: for the rest it has the
         * same code, or none.
         */
        static Set<Trait> twin(Trait... more) {
            Set<Trait> traits = EnumSet.of(LOCKS, REENTERS, WAITS, CROSSES_JVMS);
            traits.addAll(List.of(more));
            return traits;
        }
    }

    private final String label;
    private final Function<Setting, LockClient> connect;
    private final Set<Trait> traits;

    Contender(String label, Function<Setting, LockClient> connect, Set<Trait> traits) {
        this.label = label;
        this.connect = connect;
        this.traits = traits;
    }

    public String label() {
        return label;
    }

    public boolean can(Trait trait) {
        return traits.contains(trait);
    }

    public LockClient connect(Setting setting) {
        return connect.apply(setting);
    }

    /** Returns the contenders that have all these traits. */
    public static List<Contender> that(Trait... wanted) {
        return Arrays.stream(values())
                .filter(contender -> contender.traits.containsAll(List.of(wanted)))
                .toList();
    }
}
