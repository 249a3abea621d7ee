package io.github.redislocks.bench;

import java.util.Arrays;
import java.util.Collection;

/** A value that was measured some times: its median, and the quarters below and above. */
public record Figure(double low, double median, double high, int times) {

    public static Figure of(double value) {
        return new Figure(value, value, value, 1);
    }

    public static Figure of(Collection<Double> values) {
        double[] sorted =
                values.stream().mapToDouble(Double::doubleValue).sorted().toArray();
        if (sorted.length == 0 || Arrays.stream(sorted).anyMatch(value -> !Double.isFinite(value))) {
            throw new IllegalStateException("Nothing was measured: " + values);
        }
        return new Figure(quantile(sorted, 0.25), quantile(sorted, 0.5), quantile(sorted, 0.75), sorted.length);
    }

    /** Between two values, by the straight line. */
    private static double quantile(double[] sorted, double share) {
        double at = share * (sorted.length - 1);
        int below = (int) at;
        int above = Math.min(below + 1, sorted.length - 1);
        return sorted[below] + (at - below) * (sorted[above] - sorted[below]);
    }
}
