package io.github.redislocks.bench;

import io.github.redislocks.bench.contender.Contender;
import io.github.redislocks.bench.contender.Contender.Trait;
import io.github.redislocks.bench.contender.EarlierVersion;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

/**
 * The choices of the command line.
 *
 * @param rounds the number of counted rounds of each contender
 * @param only words, one of which the name of a contender must contain; empty for all contenders
 * @param locks the number of locks in works that hold many at once
 * @param jvmArguments the arguments of the child JVMs
 */
public record Settings(boolean quick, int rounds, List<String> only, int locks, List<String> jvmArguments) {

    private static final Set<Contender> BEFORE = EnumSet.of(Contender.OURS_BEFORE, Contender.OURS_QUORUM_BEFORE);

    /** The number of first rounds, which do not count. */
    public int warmUps() {
        return quick ? 1 : 3;
    }

    public long roundMillis() {
        return quick ? 300 : 1_000;
    }

    /** The chosen contenders that have these traits. The floor is the first, even if it was not chosen. */
    public List<Contender> contenders(Contender floor, Trait... wanted) {
        List<Contender> chosen = new ArrayList<>(contenders(wanted));
        chosen.remove(floor);
        chosen.add(0, floor);
        return chosen;
    }

    /** The chosen contenders that have these traits. */
    public List<Contender> contenders(Trait... wanted) {
        return Contender.that(wanted).stream().filter(this::chosen).toList();
    }

    private boolean chosen(Contender contender) {
        if (BEFORE.contains(contender) && System.getProperty(EarlierVersion.JAR) == null) {
            return false;
        }
        return only.isEmpty() || only.stream().anyMatch(contender.label()::contains);
    }
}
