package io.github.redislocks.bench.work;

import io.github.redislocks.bench.Figure;
import java.util.Map;
import org.HdrHistogram.Histogram;

/** Times of one kind of event, as columns. */
final class Percentiles {

    private Percentiles() {}

    static void put(Map<String, Figure> row, Histogram nanos) {
        row.put("p50 µs", Figure.of(nanos.getValueAtPercentile(50) / 1e3));
        row.put("p99 µs", Figure.of(nanos.getValueAtPercentile(99) / 1e3));
        row.put("p99.9 µs", Figure.of(nanos.getValueAtPercentile(99.9) / 1e3));
        row.put("max µs", Figure.of(nanos.getMaxValue() / 1e3));
    }
}
