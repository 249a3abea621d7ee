package io.github.redislocks.cli;

import java.time.Duration;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import picocli.CommandLine;

/** Parses times that users write, and formats times for users. */
final class Times {

    private static final Pattern TIME = Pattern.compile("(\\d{1,9})(ms|s|m|h)");

    private Times() {}

    static Duration parse(String text) {
        Matcher time = TIME.matcher(text);
        if (!time.matches()) {
            throw new CommandLine.TypeConversionException(
                    "'" + text + "' is no time: write a number and its unit, such as 500ms, 30s, 5m or 2h");
        }
        long number = Long.parseLong(time.group(1));
        return switch (time.group(2)) {
            case "ms" -> Duration.ofMillis(number);
            case "s" -> Duration.ofSeconds(number);
            case "m" -> Duration.ofMinutes(number);
            default -> Duration.ofHours(number);
        };
    }

    /** Formats a time with at most two units: {@code 850ms}, {@code 12.3s}, {@code 5m12s}, {@code 3h20m}. */
    static String show(Duration time) {
        long millis = Math.max(0, time.toMillis());
        if (millis < 1_000) {
            return millis + "ms";
        }
        if (millis < 60_000) {
            return String.format(Locale.ROOT, "%.1fs", Math.floor(millis / 100.0) / 10);
        }
        long seconds = millis / 1_000;
        return seconds < 3_600
                ? seconds / 60 + "m" + seconds % 60 + "s"
                : seconds / 3_600 + "h" + seconds / 60 % 60 + "m";
    }
}
