package io.github.redislocks.redis.jedis;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisNoScriptException;

/**
 * The bytes that were received on a connection and are not read yet: complete answers, and perhaps a part of the next.
 */
public final class AnswerBuffer {

    /** Stands for an answer that is not complete yet. */
    public static final Object MISSING = new Object();

    /** The most bytes in the buffer. The answers to a batch of scripts need less. */
    private static final int MOST_BYTES = 4 << 20;

    private static final int FIRST_BYTES = 1_024;
    private static final int LEAST_SPACE = 512;
    /** The most levels of nested lists. The answers of scripts have fewer; many levels would overflow the stack. */
    private static final int MOST_LISTS = 8;

    /** The most digits of a number that certainly fits into a long. */
    private static final int MOST_DIGITS = 18;

    private byte[] bytes = new byte[FIRST_BYTES];
    private int from;
    private int to;
    /** The next byte to read. */
    private int at;

    /** The free space, for the next bytes received. */
    public ByteBuffer space() {
        if (from == to) {
            from = 0;
            to = 0;
        }
        if (bytes.length - to < LEAST_SPACE) {
            int size = to - from;
            if (2 * size > MOST_BYTES) {
                throw new JedisConnectionException("The server answers with too much");
            }
            byte[] larger = new byte[Math.max(bytes.length, 2 * size + LEAST_SPACE)];
            System.arraycopy(bytes, from, larger, 0, size);
            bytes = larger;
            from = 0;
            to = size;
        }
        return ByteBuffer.wrap(bytes, to, bytes.length - to);
    }

    /** Notes that {@code count} bytes were put into the free space. */
    public void filled(int count) {
        to += count;
    }

    /** Whether all bytes have been read. */
    public boolean isEmpty() {
        return from == to;
    }

    /**
     * Takes the next answer; returns {@link #MISSING} if it is not complete. An error reply is an answer.
     *
     * @throws JedisConnectionException if Redis cannot have sent these bytes
     */
    public @Nullable Object next() {
        at = from;
        Object answer = value(0);
        if (answer != MISSING) {
            from = at;
        }
        return answer;
    }

    /** @param lists the number of lists around the value */
    private @Nullable Object value(int lists) {
        int start = at;
        int end = endOfLine(start);
        if (end < 0) {
            return MISSING;
        }
        at = end + 2;
        return switch (bytes[start]) {
            case '+' -> Arrays.copyOfRange(bytes, start + 1, end);
            case ':' -> number(start + 1, end);
            case '$' -> text(size(start + 1, end));
            case '*' -> array(size(start + 1, end), lists);
            case '_' -> null;
            case '-' -> error(new String(bytes, start + 1, end - start - 1, StandardCharsets.UTF_8));
            default -> throw new JedisConnectionException("Unknown reply: " + (char) bytes[start]);
        };
    }

    private int endOfLine(int start) {
        for (int i = start; i < to - 1; i++) {
            if (bytes[i] == '\r' && bytes[i + 1] == '\n') {
                return i;
            }
        }
        return -1;
    }

    private long number(int start, int end) {
        boolean negative = start < end && bytes[start] == '-';
        int first = negative ? start + 1 : start;
        if (first == end || end - first > MOST_DIGITS) {
            throw new JedisConnectionException("No number where one has to be");
        }
        long value = 0;
        for (int i = first; i < end; i++) {
            int digit = bytes[i] - '0';
            if (digit < 0 || digit > 9) {
                throw new JedisConnectionException("No number where one has to be");
            }
            value = 10 * value + digit;
        }
        return negative ? -value : value;
    }

    /** The size of a text or a list. A negative size stands for null. */
    private int size(int start, int end) {
        long size = number(start, end);
        if (size > MOST_BYTES) {
            throw new JedisConnectionException("The server answers with too much");
        }
        return size < 0 ? -1 : (int) size;
    }

    private @Nullable Object text(int length) {
        if (length < 0) {
            return null;
        }
        int end = at + length;
        if (to - end < 2) {
            return MISSING;
        }
        if (bytes[end] != '\r' || bytes[end + 1] != '\n') {
            throw new JedisConnectionException("A text is not as long as it says");
        }
        byte[] text = Arrays.copyOfRange(bytes, at, end);
        at = end + 2;
        return text;
    }

    private @Nullable Object array(int size, int lists) {
        if (size < 0) {
            return null;
        }
        if (lists == MOST_LISTS) {
            throw new JedisConnectionException("The server answers with lists in lists");
        }
        List<@Nullable Object> values = new ArrayList<>(Math.min(size, FIRST_BYTES));
        for (int i = 0; i < size; i++) {
            Object value = value(lists + 1);
            if (value == MISSING) {
                return MISSING;
            }
            values.add(value);
        }
        return values;
    }

    /** Makes the exception for an error reply. Callers do not need the subclasses that Jedis has. */
    private static JedisDataException error(String text) {
        return text.startsWith("NOSCRIPT ") ? new JedisNoScriptException(text) : new JedisDataException(text);
    }
}
