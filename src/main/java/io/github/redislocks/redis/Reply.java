package io.github.redislocks.redis;

import java.util.List;

/**
 * A script's answer.
 *
 * @param code what happened, in a word
 * @param values what belongs to it, each a {@code Long} or a {@code String}
 * @param resent whether the request was sent more than once, so that an earlier copy may have run before
 * @param acks how many replicas have confirmed it and all before it on its connection; -1 if that was not asked
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

    /** The same, of a request of which another copy may have run before. */
    public Reply resentOnce() {
        return new Reply(code, values, true, acks);
    }

    /** The same, confirmed by so many replicas. */
    public Reply confirmedBy(long replicas) {
        return new Reply(code, values, resent, (int) Math.min(Integer.MAX_VALUE, replicas));
    }

    /** The value at a position behind the code, counted from 0, as a number. */
    public long number(int index) {
        return values.get(index) instanceof Long number ? number : Long.parseLong(text(index));
    }

    /** The value at a position behind the code, counted from 0, as text. */
    public String text(int index) {
        return values.get(index).toString();
    }

    /** Whether the code is this one. */
    public boolean is(String expected) {
        return code.equals(expected);
    }
}
