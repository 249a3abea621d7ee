package io.github.redislocks.redis;

import java.util.List;

/**
 * The reply of a script.
 *
 * @param code the result in one word
 * @param values the values after the code, each a {@code Long} or a {@code String}
 * @param resent whether the request was sent more than once, so that an earlier copy may have run
 * @param acks how many replicas confirmed this write and all earlier ones on its connection; -1 if not asked
 */
public record Reply(String code, List<Object> values, boolean resent, int acks) {

    public Reply {
        values = List.copyOf(values);
    }

    public Reply(String code, List<Object> values) {
        this(code, values, false);
    }

    public Reply(String code, List<Object> values, boolean resent) {
        this(code, values, resent, -1);
    }

    /** A copy for a request of which an earlier copy may have run. */
    public Reply resentOnce() {
        return new Reply(code, values, true, acks);
    }

    /** A copy with the number of replicas that confirmed. */
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

    /** Whether the code equals the given one. */
    public boolean is(String expected) {
        return code.equals(expected);
    }
}
