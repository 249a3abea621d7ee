package io.github.redislocks.redis;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The reply of a script.
 *
 * @param code the result in one word
 * @param values the values after the code, each a {@code Long} or a {@code String}
 * @param resent whether the request was sent more than once, so that an earlier copy may have run
 * @param acks how many replicas confirmed all writes of the connection so far; -1 if none were asked
 */
public record Reply(String code, List<Object> values, boolean resent, int acks) {

    /** The code of the answer of a server that was not asked, since the call does not concern it. */
    public static final String UNASKED = "UNASKED";

    public Reply {
        values = List.copyOf(values);
    }

    public Reply(String code, List<Object> values) {
        this(code, values, false);
    }

    public Reply(String code, List<Object> values, boolean resent) {
        this(code, values, resent, -1);
    }

    /** Reads a code and at least one number, separated by spaces; null if the text has another form. */
    @Nullable
    public static Reply ofWords(String text, boolean resent) {
        int end = text.indexOf(' ');
        if (end <= 0) {
            return null;
        }
        String code = text.substring(0, end);
        List<Object> values = new ArrayList<>(6);
        try {
            while (end < text.length()) {
                int from = end + 1;
                int next = text.indexOf(' ', from);
                end = next < 0 ? text.length() : next;
                values.add(Long.parseLong(text, from, end, 10));
            }
        } catch (NumberFormatException e) {
            return null;
        }
        return new Reply(code, values, resent);
    }

    /** A copy of the reply with {@link #resent} set. */
    public Reply resentOnce() {
        return new Reply(code, values, true, acks);
    }

    /** A copy of the reply with the number of replicas that confirmed. */
    public Reply confirmedBy(long replicas) {
        return new Reply(code, values, resent, (int) Math.min(Integer.MAX_VALUE, replicas));
    }

    /** The value at an index, counted from 0 after the code, as a number. */
    public long number(int index) {
        return values.get(index) instanceof Long number ? number : Long.parseLong(text(index));
    }

    /** The value at an index, counted from 0 after the code, as text. */
    public String text(int index) {
        return values.get(index).toString();
    }

    /**
     * The server's time in µs; 0 if the reply has none. The heads of the scripts call this value {@code now}; its index
     * depends on the code.
     */
    public long now() {
        int index =
                switch (code) {
                    case "LATE", "LINE", "SIGNALLED" -> 0;
                    // A single number is a new token, which is the server's time.
                    case "OK" -> values.size() == 1 ? 0 : 2;
                    case "BUSY", "RESIDENT", "WAITING", "YOUNG" -> 1;
                    case "GRANTED", "QUEUED", "TAKEN" -> 2;
                    case "VOTED" -> 4;
                    case "CHECKED" -> 10;
                    default -> values.size();
                };
        return index < values.size() ? number(index) : 0;
    }

    /** Whether the code equals the given one. */
    public boolean is(String expected) {
        return code.equals(expected);
    }
}
