package io.github.redislocks.state;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A pattern for lock names, with the rules of {@code KEYS}, byte by byte. In Redis names are encoded, so the keys that
 * the server finds by a pattern have to be matched again by their names.
 */
public final class NameGlob {

    /** For each byte, in order, the set of bytes that match; null for any number of bytes. */
    private final List<@Nullable BitSet> parts = new ArrayList<>();

    private final byte[] pattern;
    private int next;

    public NameGlob(String pattern) {
        this.pattern = pattern.getBytes(StandardCharsets.UTF_8);
        while (next < this.pattern.length) {
            parts.add(part());
        }
    }

    private int take() {
        return pattern[next++] & 0xff;
    }

    private @Nullable BitSet part() {
        int first = take();
        return switch (first) {
            case '*' -> null;
            case '?' -> anyByte();
            case '[' -> oneOf();
            case '\\' -> exactly(next < pattern.length ? take() : first);
            default -> exactly(first);
        };
    }

    private static BitSet anyByte() {
        BitSet any = new BitSet();
        any.set(0, 256);
        return any;
    }

    private static BitSet exactly(int one) {
        BitSet bits = new BitSet();
        bits.set(one);
        return bits;
    }

    /** Reads the rest of {@code [a-c]}. As in Redis, a set that is not closed ends with the pattern. */
    private BitSet oneOf() {
        BitSet bits = new BitSet();
        boolean not = next < pattern.length && pattern[next] == '^';
        next += not ? 1 : 0;
        while (next < pattern.length) {
            int from = take();
            if (from == ']') {
                break;
            }
            if (from == '\\' && next < pattern.length) {
                bits.set(take());
            } else if (next + 1 < pattern.length && pattern[next] == '-') {
                next++;
                int to = take();
                bits.set(Math.min(from, to), Math.max(from, to) + 1);
            } else {
                bits.set(from);
            }
        }
        if (not) {
            bits.flip(0, 256);
        }
        return bits;
    }

    /** Whether the pattern matches a name. */
    public boolean matches(String name) {
        byte[] text = name.getBytes(StandardCharsets.UTF_8);
        int part = 0;
        int star = -1;
        int retry = 0;
        int at = 0;
        while (at < text.length) {
            if (part < parts.size() && parts.get(part) == null) {
                star = part++;
                retry = at;
            } else if (part < parts.size() && accepts(parts.get(part), text[at])) {
                part++;
                at++;
            } else if (star >= 0) {
                // Let the last star match one byte more. The stars before it need not match more than they do.
                part = star + 1;
                at = ++retry;
            } else {
                return false;
            }
        }
        return parts.subList(part, parts.size()).stream().allMatch(left -> left == null);
    }

    private static boolean accepts(@Nullable BitSet part, byte one) {
        return part != null && part.get(one & 0xff);
    }
}
