package io.github.redislocks.redis;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/**
 * A Lua script of the library: its name, its source, and the SHA-1 digest by which Redis finds it. A line
 * {@code --@include other} in a script is replaced by the file {@code other.lua}, which several scripts may share.
 */
public final class Script {

    private static final String INCLUDE = "--@include ";

    private final String name;
    private final String source;
    private final String sha1;
    private final byte[] digest;

    /** Makes a script; {@code sha1} is the digest of the source in hexadecimal. */
    public Script(String name, String source, String sha1) {
        this.name = name;
        this.source = source;
        this.sha1 = sha1;
        this.digest = sha1.getBytes(StandardCharsets.US_ASCII);
    }

    public String name() {
        return name;
    }

    public String source() {
        return source;
    }

    public String sha1() {
        return sha1;
    }

    /** The digest as it is sent. Callers must not change the array. */
    public byte[] digest() {
        return digest;
    }

    /** Reads {@code name.lua} from the folder {@code lua} beside the class {@code owner}. */
    public static Script load(Class<?> owner, String name) {
        String source = read(owner, name);
        return new Script(name, source, sha1(source));
    }

    /** Makes a script with the same name and another source. */
    public Script rewritten(String other) {
        return new Script(name, other, sha1(other));
    }

    private static String read(Class<?> owner, String name) {
        String path = "lua/" + name + ".lua";
        String text;
        try (InputStream in = owner.getResourceAsStream(path)) {
            if (in == null) {
                throw new IllegalStateException("The script " + path + " is missing from the jar.");
            }
            text = new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        StringBuilder whole = new StringBuilder();
        for (String line : (Iterable<String>) text.lines()::iterator) {
            if (line.startsWith(INCLUDE)) {
                whole.append(read(owner, line.substring(INCLUDE.length()).strip()));
            } else {
                whole.append(line).append('\n');
            }
        }
        return whole.toString();
    }

    private static String sha1(String source) {
        try {
            byte[] digest = MessageDigest.getInstance("SHA-1").digest(source.getBytes(StandardCharsets.UTF_8));
            return HexFormat.of().formatHex(digest);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public String toString() {
        return name;
    }
}
