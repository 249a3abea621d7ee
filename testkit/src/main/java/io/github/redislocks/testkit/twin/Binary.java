package io.github.redislocks.testkit.twin;

import java.nio.charset.StandardCharsets;

/**
 * Strings as Redis and Lua see them, with one char for each byte. So {@code length} is the length in bytes, and
 * {@code compareTo} compares as Redis does.
 */
final class Binary {

    private Binary() {}

    static String of(String text) {
        return isAscii(text) ? text : latin(text.getBytes(StandardCharsets.UTF_8));
    }

    static String text(String binary) {
        return isAscii(binary)
                ? binary
                : new String(binary.getBytes(StandardCharsets.ISO_8859_1), StandardCharsets.UTF_8);
    }

    static String latin(byte[] bytes) {
        return new String(bytes, StandardCharsets.ISO_8859_1);
    }

    private static boolean isAscii(String text) {
        for (int i = 0; i < text.length(); i++) {
            if (text.charAt(i) > 127) {
                return false;
            }
        }
        return true;
    }
}
