package io.github.redislocks.bench;

import java.util.Map;

/**
 * How something grows with something else: lines over one axis.
 *
 * @param name of the file that shows it
 * @param lines of each contender, the value at each place of the axis
 */
public record Series(String name, String title, String across, String up, Map<String, Map<Integer, Double>> lines) {}
