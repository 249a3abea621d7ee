package io.github.redislocks.docs;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.LockGivenUp;
import io.github.redislocks.LockLost;
import io.github.redislocks.LockNotAcquired;
import io.github.redislocks.jfr.FlightRecording;
import io.github.redislocks.micrometer.LockMetrics;
import io.github.redislocks.micrometer.LockObservations;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.Tag;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import jdk.jfr.EventType;
import jdk.jfr.FlightRecorder;
import jdk.jfr.ValueDescriptor;
import org.junit.jupiter.api.Test;

/** Compares docs/observability.md and the dashboard with the meters and events that there are. */
class ObservabilityTest {

    private static final Path PAGE = Path.of("docs/observability.md");
    private static final Path DASHBOARD = Path.of("docs/grafana/redis-locks.json");
    private static final Set<String> OF_ALL_EVENTS = Set.of("startTime", "duration", "eventThread", "stackTrace");

    private final PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);

    /** The rows of the metrics. */
    private static Map<String, List<String>> metricRows() throws IOException {
        Map<String, List<String>> rows = rows("redis.locks.");
        rows.values().removeIf(row -> !Set.of("timer", "counter", "gauge").contains(row.get(1)));
        return rows;
    }

    /** The rows of the page's tables whose first cell begins so, by the text of that cell. */
    private static Map<String, List<String>> rows(String beginning) throws IOException {
        Map<String, List<String>> rows = new TreeMap<>();
        for (String line : Files.readAllLines(PAGE)) {
            if (line.startsWith("| `" + beginning)) {
                List<String> cells = Arrays.stream(line.split("\\|"))
                        .map(String::strip)
                        .filter(cell -> !cell.isEmpty() || line.contains("| |"))
                        .toList();
                List<String> kept = cells.get(0).isEmpty() ? cells.subList(1, cells.size()) : cells;
                rows.put(kept.get(0).replace("`", ""), kept);
            }
        }
        return rows;
    }

    private static String lowerCase(Enum<?> value) {
        return value.name().toLowerCase(Locale.ROOT);
    }

    @Test
    void metrics_areTheOnesOfThePage() throws IOException {
        new LockMetrics().bindTo(registry);
        Map<String, List<String>> rows = metricRows();
        Set<String> emitted = new TreeSet<>();
        for (Meter meter : registry.getMeters()) {
            emitted.add(meter.getId().getName());
            for (Tag tag : meter.getId().getTags()) {
                assertThat(rows.get(meter.getId().getName()).get(2))
                        .as(meter.getId().toString())
                        .contains("`" + tag.getKey() + "`", tag.getValue());
            }
        }
        assertThat(emitted).isEqualTo(rows.keySet());
    }

    @Test
    void outcomesAndReasons_areAllOnThePage() throws IOException {
        Map<String, List<String>> rows = rows("redis.locks.");
        assertThat(rows.get(LockMetrics.LOST).get(2))
                .contains(Stream.of(LockLost.Reason.values())
                        .map(ObservabilityTest::lowerCase)
                        .toList());
        assertThat(rows.get(LockMetrics.GIVEN_UP).get(2))
                .contains(Stream.of(LockGivenUp.Reason.values())
                        .map(ObservabilityTest::lowerCase)
                        .toList());
        assertThat(rows.get(LockMetrics.WAIT).get(2))
                .contains(Stream.of(LockNotAcquired.Outcome.values())
                        .map(ObservabilityTest::lowerCase)
                        .toList());
    }

    @Test
    void observations_areTheOnesOfThePage() throws IOException {
        Map<String, List<String>> rows = rows("redis.locks.");
        rows.keySet().removeAll(metricRows().keySet());
        assertThat(rows.keySet()).containsExactly(LockObservations.ACQUISITION, LockObservations.POSSESSION);
        assertThat(rows.get(LockObservations.ACQUISITION).get(3))
                .contains(Stream.of(LockNotAcquired.Outcome.values())
                        .map(ObservabilityTest::lowerCase)
                        .toList());
        assertThat(rows.get(LockObservations.POSSESSION).get(3))
                .contains(Stream.of(LockLost.Reason.values())
                        .map(ObservabilityTest::lowerCase)
                        .toList());
    }

    @Test
    void dashboard_asksForMetricsThatThereAre() throws IOException {
        new LockMetrics().bindTo(registry);
        String scraped = registry.scrape();
        Set<String> names = Pattern.compile("redis_locks_[a-z_]+")
                .matcher(Files.readString(DASHBOARD))
                .results()
                .map(MatchResult::group)
                .collect(Collectors.toCollection(TreeSet::new));
        assertThat(names)
                .hasSizeGreaterThan(8)
                .allSatisfy(name -> assertThat(scraped).containsPattern("(?m)^" + name + "[ {]"));
    }

    @Test
    void flightEvents_areTheOnesOfThePage() throws IOException {
        assertThat(FlightRecording.isOn(FlightRecording.make())).isFalse();
        Map<String, List<String>> rows = rows("io.github.redislocks.");
        Map<String, EventType> ours = FlightRecorder.getFlightRecorder().getEventTypes().stream()
                .filter(type -> type.getName().startsWith("io.github.redislocks."))
                .collect(Collectors.toMap(EventType::getName, type -> type));
        assertThat(ours.keySet()).isEqualTo(rows.keySet());
        for (EventType type : ours.values()) {
            List<String> fields = type.getFields().stream()
                    .map(ValueDescriptor::getName)
                    .filter(field -> !OF_ALL_EVENTS.contains(field))
                    .toList();
            assertThat(rows.get(type.getName()).get(1).replaceAll("[`,]", "").split(" "))
                    .containsExactlyInAnyOrderElementsOf(fields);
        }
    }
}
