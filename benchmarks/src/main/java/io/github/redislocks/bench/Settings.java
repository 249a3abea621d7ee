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
 * @param rounds of each contender that count
 * @param only words of which a contender's name must contain one; none for all
 * @param locks how many locks are held at once where many are
 * @param jvmArguments for the JVMs that work
 */
public record Settings(boolean quick, int rounds, List<String> only, int locks, List<String> jvmArguments) {

    private static final Set<Contender> BEFORE = EnumSet.of(Contender.OURS_BEFORE, Contender.OURS_QUORUM_BEFORE);

    /** How many rounds come first and do not count. */
    public int warmUps() {
        return quick ? 1 : 3;
    }

    public long roundMillis() {
        return quick ? 300 : 1_000;
    }

    /** The contenders that were chosen and can do this, the floor first, whether chosen or not. */
    public List<Contender> contenders(Contender floor, Trait... wanted) {
        List<Contender> chosen = new ArrayList<>(contenders(wanted));
        chosen.remove(floor);
        chosen.add(0, floor);
        return chosen;
    }

    /** The contenders that were chosen and can do this. */
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
