package io.github.redislocks.docs;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.LockAcquired;
import io.github.redislocks.LockExpiring;
import io.github.redislocks.LockForced;
import io.github.redislocks.LockGivenUp;
import io.github.redislocks.LockListener;
import io.github.redislocks.LockLost;
import io.github.redislocks.LockNotAcquired;
import io.github.redislocks.LockReleased;
import io.github.redislocks.LocksRenewed;
import io.github.redislocks.RedisOutage;
import io.github.redislocks.concurrent.Log;
import io.github.redislocks.concurrent.Loggers;
import io.github.redislocks.fixture.Artifacts;
import io.github.redislocks.jfr.FlightRecording;
import io.github.redislocks.micrometer.LockMetrics;
import io.github.redislocks.micrometer.LockObservations;
import io.micrometer.common.KeyValue;
import io.micrometer.common.KeyValues;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationHandler;
import io.micrometer.observation.ObservationRegistry;
import java.io.IOException;
import java.lang.reflect.Field;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import jdk.jfr.FlightRecorder;
import jdk.jfr.ValueDescriptor;
import org.junit.jupiter.api.Test;

/**
 * Compares the table of docs/names.md with what is emitted and declared. Where they differ, the message has the table
 * as it should be.
 */
class NamesTest {

    private static final Path PAGE = Path.of("docs/names.md");
    private static final String OURS = "io.github.redislocks.";
    private static final Set<String> OF_ALL_EVENTS = Set.of("startTime", "duration", "eventThread", "stackTrace");
    private static final Pattern LOGGING =
            Pattern.compile("Loggers\\s*\\.([A-Z]+)\\s*\\.(error|warn|info|debug|guard)\\(");
    private static final Pattern ALIAS = Pattern.compile("Log (\\w+) = Loggers\\.(\\w+);");
    private static final Pattern CONFIGURED_ELSEWHERE = Pattern.compile(
            "System\\s*\\.(getProperty|getenv)|(Boolean\\s*\\.getBoolean|(Integer|Long)\\s*\\.get(Integer|Long))\\(");

    private static String row(String name, String kind, String has) {
        return "| `" + name + "` | " + kind + " | " + has + (has.isEmpty() ? "|" : " |");
    }

    private static String quoted(Collection<String> names) {
        return names.stream().map(name -> "`" + name + "`").collect(Collectors.joining(", "));
    }

    /** Has a listener told of one event of each kind. */
    private static void tellAll(LockListener listener) {
        Duration second = Duration.ofSeconds(1);
        List<LockListener.Acquiring> calls = Stream.generate(() -> listener.acquiring("order:1"))
                .limit(3)
                .takeWhile(call -> call != null)
                .toList();
        LockAcquired acquired = LockAcquired.of("order:1", 1, second, false);
        LockNotAcquired notAcquired = LockNotAcquired.of("order:1", second, LockNotAcquired.Outcome.BUSY);
        listener.acquired(acquired);
        listener.notAcquired(notAcquired);
        if (!calls.isEmpty()) {
            calls.get(0).acquired(acquired);
            calls.get(1).acquired(LockAcquired.of("order:1", 2, second, false));
            calls.get(2).notAcquired(notAcquired);
        }
        listener.released(LockReleased.of("order:1", 1, second));
        listener.lost(LockLost.of("order:1", 2, "thread main", LockLost.Reason.EXPIRED));
        listener.expiring(LockExpiring.of("order:1", 2, "thread main", second));
        listener.forced(LockForced.of("order:1", 2, "thread main"));
        listener.givenUp(LockGivenUp.recalled("order:1", second, 1, second));
        listener.renewed(LocksRenewed.of(1));
        listener.outageBegan(RedisOutage.of("localhost:6379", "cut", second));
        listener.outageEnded(RedisOutage.of("localhost:6379", "cut", second));
    }

    private static Collection<String> metrics() {
        SimpleMeterRegistry registry = new SimpleMeterRegistry();
        LockMetrics metrics = new LockMetrics(name -> "order");
        metrics.bindTo(registry);
        tellAll(metrics);
        Map<String, String> rows = new TreeMap<>();
        for (Meter meter : registry.getMeters()) {
            Meter.Id id = meter.getId();
            Set<String> keys = id.getTags().stream().map(Tag::getKey).collect(Collectors.toCollection(TreeSet::new));
            String row = row(id.getName(), id.getType().name().toLowerCase(Locale.ROOT), quoted(keys));
            assertThat(rows.getOrDefault(id.getName(), row))
                    .as("all of a name have the same tags")
                    .isEqualTo(row);
            rows.put(id.getName(), row);
        }
        return rows.values();
    }

    private static Collection<String> observations() {
        ObservationRegistry registry = ObservationRegistry.create();
        Map<String, Set<String>> keys = new TreeMap<>();
        registry.observationConfig().observationHandler(new ObservationHandler<Observation.Context>() {
            @Override
            public void onStop(Observation.Context context) {
                Set<String> ofName = keys.computeIfAbsent(context.getName(), first -> new TreeSet<>());
                add("", context.getLowCardinalityKeyValues(), ofName);
                add("high ", context.getHighCardinalityKeyValues(), ofName);
            }

            private void add(String cardinality, KeyValues all, Set<String> to) {
                all.stream().map(KeyValue::getKey).map(key -> cardinality + key).forEach(to::add);
            }

            @Override
            public boolean supportsContext(Observation.Context context) {
                return true;
            }
        });
        tellAll(new LockObservations(registry, name -> "order"));
        List<String> rows = new ArrayList<>();
        keys.forEach((name, all) -> rows.add(row(
                name,
                "observation",
                all.stream()
                        .sorted((a, b) -> Boolean.compare(a.startsWith("high "), b.startsWith("high ")))
                        .map(key -> key.startsWith("high ") ? "`" + key.substring(5) + "` (high)" : "`" + key + "`")
                        .collect(Collectors.joining(", ")))));
        return rows;
    }

    private static Collection<String> events() {
        assertThat(FlightRecording.isOn(FlightRecording.make())).isFalse();
        return FlightRecorder.getFlightRecorder().getEventTypes().stream()
                .filter(type -> type.getName().startsWith(OURS))
                .map(type -> row(
                        type.getName(),
                        "event",
                        quoted(type.getFields().stream()
                                .map(ValueDescriptor::getName)
                                .filter(field -> !OF_ALL_EVENTS.contains(field))
                                .toList())))
                .sorted()
                .toList();
    }

    private static Collection<String> properties() throws IOException {
        Map<String, String> rows = new TreeMap<>();
        SpringPageTest.metadata()
                .forEach((name, property) ->
                        rows.put(name, row(name, "property", property[1].isEmpty() ? "" : "`" + property[1] + "`")));
        return rows.values();
    }

    /** The matches in all sources of the library, with their groups; a logger by the name of its constant. */
    private static List<MatchResult> found(Pattern pattern) throws IOException {
        List<MatchResult> found = new ArrayList<>();
        for (Path file : Artifacts.sources("src/main/java")) {
            String text = Files.readString(file);
            Matcher alias = ALIAS.matcher(text);
            if (alias.find()) {
                text = text.replaceAll("\\b" + alias.group(1) + "\\.", "Loggers." + alias.group(2) + ".");
            }
            pattern.matcher(text).results().forEach(found::add);
        }
        return found;
    }

    private static Collection<String> loggers() throws ReflectiveOperationException, IOException {
        Map<String, String> rows = new TreeMap<>();
        List<String> used = found(LOGGING).stream()
                .map(call -> call.group(1) + ' ' + call.group(2))
                .toList();
        for (Field field : Loggers.class.getFields()) {
            if (field.getType() == Log.class) {
                String name = ((Log) field.get(null)).name();
                List<String> levels = Stream.of("ERROR", "WARN", "INFO", "DEBUG")
                        .filter(level -> used.contains(field.getName() + ' ' + level.toLowerCase(Locale.ROOT))
                                || (level.equals("ERROR") && used.contains(field.getName() + " guard")))
                        .toList();
                assertThat(levels).as(name).isNotEmpty();
                rows.put(name, row(name, "logger", String.join(", ", levels)));
            }
        }
        return rows.values();
    }

    @Test
    void table_hasAllThatIsEmittedAndDeclared() throws Exception {
        List<String> rows = new ArrayList<>();
        rows.addAll(metrics());
        rows.addAll(observations());
        rows.addAll(events());
        rows.addAll(loggers());
        rows.addAll(properties());
        List<String> page = Files.readAllLines(PAGE).stream()
                .filter(line -> line.startsWith("| `"))
                .toList();
        assertThat(page).as("the table should be%n%s", String.join("\n", rows)).isEqualTo(rows);
        assertThat(rows).hasSizeGreaterThan(50);
    }

    /** The page says that there are none. */
    @Test
    void systemPropertiesAndEnvironment_areNotRead() throws IOException {
        assertThat(found(CONFIGURED_ELSEWHERE)).extracting(MatchResult::group).isEmpty();
        assertThat(Files.readString(PAGE))
                .contains("The library reads no system property and no environment variable.");
    }

    /** Each logger is explained where operators look. */
    @Test
    void loggers_areAllInTheReference() throws Exception {
        String reference = Files.readString(Path.of("docs/reference.md"));
        for (Field field : Loggers.class.getFields()) {
            if (field.getType() == Log.class) {
                assertThat(reference).contains("| `" + ((Log) field.get(null)).name() + "` |");
            }
        }
    }
}
