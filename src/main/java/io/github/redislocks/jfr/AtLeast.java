package io.github.redislocks.jfr;

import java.util.Comparator;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import jdk.jfr.SettingControl;

/**
 * The setting {@code atLeast} of an event: shorter events are not recorded. The setting {@code threshold} of Flight
 * Recorder cannot be used, since these events are created after the time that they report. If recordings want different
 * times, the shortest counts.
 */
final class AtLeast extends SettingControl {

    private static final Pattern TIME = Pattern.compile("\\s*(\\d{1,9})\\s*(ns|us|ms|s|m|h)\\s*");
    /** The threshold for waits in the JDK's configuration {@code profile}. */
    static final String DEFAULT = "10 ms";

    private String text = DEFAULT;
    private volatile long nanos = nanos(DEFAULT);

    @Override
    public String combine(Set<String> settings) {
        return settings.stream().min(Comparator.comparingLong(AtLeast::nanos)).orElse(DEFAULT);
    }

    @Override
    public void setValue(String value) {
        text = value;
        nanos = nanos(value);
    }

    @Override
    public String getValue() {
        return text;
    }

    boolean isReached(long lastedNanos) {
        return lastedNanos >= nanos;
    }

    /** A time that cannot be read counts as the default: Flight Recorder drops settings that throw. */
    private static long nanos(String value) {
        Matcher time = TIME.matcher(value.toLowerCase(Locale.ROOT));
        if (!time.matches()) {
            return value.equals(DEFAULT) ? 0 : nanos(DEFAULT);
        }
        long number = Long.parseLong(time.group(1));
        return switch (time.group(2)) {
            case "ns" -> number;
            case "us" -> TimeUnit.MICROSECONDS.toNanos(number);
            case "ms" -> TimeUnit.MILLISECONDS.toNanos(number);
            case "s" -> TimeUnit.SECONDS.toNanos(number);
            case "m" -> TimeUnit.MINUTES.toNanos(number);
            default -> TimeUnit.HOURS.toNanos(number);
        };
    }
}
