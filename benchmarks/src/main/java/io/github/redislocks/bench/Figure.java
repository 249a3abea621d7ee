package io.github.redislocks.bench;

import java.util.Arrays;
import java.util.Collection;

/** The median and the quartiles of a value that was measured several times. */
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

    /** A quantile, interpolated linearly between two values. */
    private static double quantile(double[] sorted, double share) {
        double at = share * (sorted.length - 1);
        int below = (int) at;
        int above = Math.min(below + 1, sorted.length - 1);
        return sorted[below] + (at - below) * (sorted[above] - sorted[below]);
    }
}
