package io.github.redislocks.testkit.twin;

import java.nio.charset.StandardCharsets;

/**
 * Strings as Redis and Lua see them, one char per byte: so lengths are theirs, and {@code compareTo} is their order.
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

    /** Whether JNI's own UTF-8 passes it on unchanged, which it does not for NUL. */
    static boolean isPlain(String binary) {
        return isAscii(binary) && binary.indexOf('\0') < 0;
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
