package io.github.redislocks.bench;

import java.util.Map;

/**
 * How a value grows with another one: a line for each contender over a common axis.
 *
 * @param name the name of the file with the picture
 * @param lines for each contender, the value at each position of the axis
 */
public record Series(String name, String title, String across, String up, Map<String, Map<Integer, Double>> lines) {}
