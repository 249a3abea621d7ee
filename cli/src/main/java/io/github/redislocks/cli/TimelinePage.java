package io.github.redislocks.cli;

import com.fasterxml.jackson.jr.ob.JSON;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Base64;
import java.util.Map;

/**
 * The page, as one file. The names of locks and threads are only data in the page. The page's security policy permits
 * only its own script, by a hash of that script. So a browser runs no script that a name may contain.
 */
final class TimelinePage {

    private TimelinePage() {}

    static void write(Map<String, Object> fields, Writer out) throws IOException {
        String page = resource("timeline.html");
        // Compute the hash from the text between the script tags, as the browser does.
        String script = resource("timeline.js");
        int hashAt = page.indexOf("@HASH@");
        int dataAt = page.indexOf("@DATA@");
        int scriptAt = page.indexOf("@SCRIPT@");
        out.write(page, 0, hashAt);
        out.write(hash(script));
        out.write(page, hashAt + "@HASH@".length(), dataAt - hashAt - "@HASH@".length());
        out.write(json(fields));
        out.write(page, dataAt + "@DATA@".length(), scriptAt - dataAt - "@DATA@".length());
        out.write(script);
        out.write(page.substring(scriptAt + "@SCRIPT@".length()));
    }

    /** Writes JSON that cannot end the HTML element that contains it. */
    static String json(Map<String, Object> fields) throws IOException {
        return JSON.std
                .asString(fields)
                .replace("<", "\\u003c")
                .replace(">", "\\u003e")
                .replace("&", "\\u0026")
                .replace("\u2028", "\\u2028")
                .replace("\u2029", "\\u2029");
    }

    private static String hash(String script) {
        try {
            byte[] digest = MessageDigest.getInstance("SHA-256").digest(script.getBytes(StandardCharsets.UTF_8));
            return "'sha256-" + Base64.getEncoder().encodeToString(digest) + "'";
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e);
        }
    }

    private static String resource(String name) {
        try (InputStream in = TimelinePage.class.getResourceAsStream(name)) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
