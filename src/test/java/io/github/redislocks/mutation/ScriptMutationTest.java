package io.github.redislocks.mutation;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.mutation.FastTests.Result;
import io.github.redislocks.redis.Script;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeoutException;
import org.awaitility.core.ConditionTimeoutException;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Breaks the scripts in one place at a time and runs their fast tests: at least 80 % of the changes must be noticed.
 * The ordinary build tries one in 32, always the same ones; all with {@code -Dmutation.all=true}, all of some files
 * with {@code -Dmutation.scripts=share.*}. {@code spared.txt} names those that no test can notice, or none of these,
 * each with the reason.
 */
@Tag("once")
@Tag("long")
class ScriptMutationTest {

    private static final int BAR_PERCENT = 80;
    private static final int ONE_OF = 32;
    private static final String SCRIPTS = System.getProperty("mutation.scripts", "");
    private static final boolean ALL = Boolean.getBoolean("mutation.all") || !SCRIPTS.isEmpty();
    private static final String REASON = " # ";

    private final ScriptFiles files = ScriptFiles.read();
    private final FastTests tests = new FastTests();
    /** Tests that noticed something, the last first: they are asked first. */
    private final List<String> keen = new ArrayList<>();

    private Map<String, Result> sound = Map.of();

    /** The control: on sound scripts, read and composed as broken ones are, all tests pass. */
    @BeforeEach
    void soundScripts_passAllTests() {
        sound = tests.runAll(script -> {
            Script composed = files.compose(script);
            assertThat(composed.source()).isEqualTo(script.source());
            return composed;
        });
        sound.forEach((test, result) -> assertThat(result.failure).as(test).isNull());
        assertThat(sound).hasSizeGreaterThan(50);
    }

    @Test
    void brokenScripts_areNoticed() throws IOException {
        Map<String, String> spared = spared();
        List<Mutant> mutants = files.mutants().stream()
                .filter(mutant -> SCRIPTS.isEmpty() || mutant.file().matches(SCRIPTS))
                .filter(mutant -> ALL || Math.floorMod(mutant.name().hashCode(), ONE_OF) == 0)
                .toList();
        List<String> report = new ArrayList<>();
        List<String> needless = new ArrayList<>();
        Map<String, int[]> counts = new TreeMap<>();
        int[] total = new int[2];
        for (Mutant mutant : mutants) {
            boolean isSpared = spared.containsKey(mutant.name());
            if (isSpared && !ALL) {
                continue;
            }
            String noticed = noticed(mutant);
            if (isSpared) {
                if (noticed != null) {
                    needless.add(mutant.name() + " by " + noticed);
                }
                continue;
            }
            report.add((noticed == null ? "SURVIVED " : "noticed  ") + mutant.name() + "  [line " + mutant.line() + "]"
                    + (noticed == null ? "" : "  by " + noticed));
            for (int[] count : List.of(counts.computeIfAbsent(mutant.file(), file -> new int[2]), total)) {
                count[0] += noticed == null ? 0 : 1;
                count[1]++;
            }
        }
        write(report, counts, total);
        soundScripts_passAllTests();
        assertThat(100 * total[0])
                .as("%d of %d changes were noticed; the others are marked in %s", total[0], total[1], report())
                .isGreaterThanOrEqualTo(BAR_PERCENT * total[1]);
        assertThat(needless)
                .as("changes in spared.txt that are noticed after all: remove them there")
                .isEmpty();
        if (ALL && SCRIPTS.isEmpty()) {
            Set<String> gone = new LinkedHashSet<>(spared.keySet());
            mutants.forEach(mutant -> gone.remove(mutant.name()));
            assertThat(gone).as("changes in spared.txt that do not exist").isEmpty();
        }
    }

    /** Which test noticed it, or null. */
    private @Nullable String noticed(Mutant mutant) {
        ScriptFiles broken = files.with(mutant);
        Set<String> ids = new LinkedHashSet<>(keen);
        ids.addAll(sound.keySet());
        ids.removeIf(id -> !runs(sound.get(id), mutant.file()));
        List<String> ordered = List.copyOf(ids);
        int first = Math.min(ordered.size(), (int)
                ids.stream().filter(keen::contains).limit(5).count());
        for (List<String> some : List.of(ordered.subList(0, first), ordered.subList(first, ordered.size()))) {
            for (Map.Entry<String, Result> result : some.isEmpty()
                    ? Set.<Map.Entry<String, Result>>of()
                    : tests.run(some, broken::compose).entrySet()) {
                if (counts(mutant, result.getValue())) {
                    keen.remove(result.getKey());
                    keen.add(0, result.getKey());
                    return result.getKey().replaceAll(".*redislocks\\.|[\\[\\]]", "");
                }
            }
        }
        return null;
    }

    private boolean runs(Result result, String file) {
        return result.scripts.stream()
                .anyMatch(script -> files.isFile(script) && files.parts(script).contains(file));
    }

    /** Whether a test failed because of the change, and not for want of time or because the change is no Lua. */
    private boolean counts(Mutant mutant, Result result) {
        Throwable failure = result.failure;
        if (failure == null || !runs(result, mutant.file())) {
            return false;
        }
        assertThat(String.valueOf(failure.getMessage())).as("%s", mutant).doesNotContain("Error compiling script");
        return !(failure instanceof TimeoutException) && !(failure instanceof ConditionTimeoutException);
    }

    private static Map<String, String> spared() throws IOException {
        Map<String, String> spared = new TreeMap<>();
        try (InputStream in = Objects.requireNonNull(ScriptMutationTest.class.getResourceAsStream("spared.txt"))) {
            new String(in.readAllBytes(), StandardCharsets.UTF_8)
                    .lines()
                    .filter(line -> !line.isBlank() && !line.startsWith("#"))
                    .forEach(line -> {
                        int end = line.indexOf(REASON);
                        assertThat(end)
                                .as("a change, \" # \" and the reason: %s", line)
                                .isPositive();
                        spared.put(line.substring(0, end), line.substring(end + REASON.length()));
                    });
        }
        return spared;
    }

    private static Path report() {
        return Path.of("target", "script-mutations.txt");
    }

    private static void write(List<String> report, Map<String, int[]> counts, int[] total) throws IOException {
        counts.forEach((file, count) -> report.add(file + ".lua: " + count[0] + " of " + count[1]));
        report.add("all: " + total[0] + " of " + total[1]);
        Files.write(report(), report);
        report.stream().filter(line -> !line.startsWith("noticed")).forEach(System.out::println);
    }
}
