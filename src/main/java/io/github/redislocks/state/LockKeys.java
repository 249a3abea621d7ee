package io.github.redislocks.state;

import io.github.redislocks.LockEvent;
import io.github.redislocks.concurrent.Shown;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The Redis keys of one lock. All keys of a lock share the hash tag {@code {name}}, so that they lie in one slot of a
 * cluster. Braces and percent signs in a name are percent-encoded, so that no name can imitate the keys of another.
 *
 * @param lock the key of the hash that contains the hold. The other keys are made from it when needed, since a process
 *     may hold very many locks
 * @param isRead whether they are those of the read lock, which has no other keys than the write lock
 */
public record LockKeys(String lock, boolean isRead) {

    /** The owner of a lock that readers share. */
    public static final String READERS = "readers";

    public static final int MAX_NAME_BYTES = 4096;

    /** Characters that the scripts take for the end of a word. */
    private static final Pattern BLANK = Pattern.compile("[\\x00-\\x20]");

    /** Characters that have a special meaning in a SCAN pattern. */
    private static final Pattern GLOB = Pattern.compile("[*?\\[\\]\\\\]");

    /** The part of a glob before the first {@code ?} or {@code [}. */
    private static final Pattern BEFORE_ONE_OF = Pattern.compile("(?:\\\\.|[^?\\[\\\\])*+", Pattern.DOTALL);

    private static final Pattern ENCODED = Pattern.compile("%([0-9A-F]{2})");

    public LockKeys(String lock) {
        this(lock, false);
    }

    public static LockKeys of(String prefix, String name) {
        Objects.requireNonNull(name, "name");
        if (name.isEmpty()) {
            throw new IllegalArgumentException("The lock name \"\" is empty: a lock needs a name of 1 to "
                    + MAX_NAME_BYTES + " bytes, such as \"inventory:sku-42\".");
        }
        if (hasUnpairedSurrogate(name)) {
            throw new IllegalArgumentException(
                    "The lock name \"" + Shown.of(name) + "\" has an unpaired surrogate: it has no"
                            + " form in UTF-8. Use well-formed text, or encode binary names, for example as hexadecimal.");
        }
        int bytes = name.getBytes(StandardCharsets.UTF_8).length;
        if (bytes > MAX_NAME_BYTES) {
            throw new IllegalArgumentException("The lock name \"" + Shown.of(name.substring(0, 40)) + "...\" has "
                    + bytes + " bytes in UTF-8: at most " + MAX_NAME_BYTES
                    + " are allowed. Use a digest of it as the name.");
        }
        return tagged(prefix, encode(name));
    }

    /** The keys of a lock that no user can have, since no name is encoded as a single percent sign. */
    public static LockKeys ofNobody(String prefix) {
        return tagged(prefix, "%");
    }

    /** The keys of a lock that no user can have. Different numbers lie in different slots of a cluster. */
    public static LockKeys ofNobody(String prefix, int number) {
        return tagged(prefix, "%-" + number);
    }

    private static LockKeys tagged(String prefix, String tag) {
        return new LockKeys(prefix + ":{" + tag + "}");
    }

    public static LockKeys ofPermits(String prefix, String name) {
        return new LockKeys(of(prefix, name).lock() + ":permits");
    }

    /** The keys as those of the read lock. */
    public LockKeys toRead() {
        return new LockKeys(lock, true);
    }

    /** The mode of an acquisition or a hold with these keys, for its events. */
    public LockEvent.Mode mode() {
        if (isRead) {
            return LockEvent.Mode.READ;
        }
        return arePermits() ? LockEvent.Mode.PERMITS : LockEvent.Mode.WRITE;
    }

    /** Whether these are the keys of a pool of permits. */
    public boolean arePermits() {
        return arePermits(lock);
    }

    public static boolean arePermits(String lock) {
        return lock.charAt(lock.length() - 1) != '}';
    }

    /** The SCAN pattern for the fence keys of all locks. */
    public static String fences(String prefix) {
        return new LockKeys(GLOB.matcher(prefix).replaceAll("\\\\$0") + ":{*}").fence();
    }

    /**
     * A SCAN pattern for the keys of the locks whose names match a glob. Keys of other locks may match too: {@code ?}
     * and {@code [..]} stand for one byte of a name, and one byte of a name may be three bytes of a key.
     * {@link NameGlob} decides which names match.
     *
     * @param pattern a glob with the rules of {@code KEYS}: {@code *}, {@code ?}, {@code [a-c]}, and a backslash before
     *     a character that stands for itself
     */
    public static String matching(String prefix, String pattern) {
        Objects.requireNonNull(pattern, "pattern");
        if (pattern.isEmpty()) {
            throw new IllegalArgumentException(
                    "The pattern \"\" is empty and matches no name: use \"*\" for all locks, or \"order:*\".");
        }
        if (hasUnpairedSurrogate(pattern)) {
            throw new IllegalArgumentException("The pattern \"" + Shown.of(pattern)
                    + "\" has an unpaired surrogate: no lock has" + " such a name. Use well-formed text.");
        }
        Matcher before = BEFORE_ONE_OF.matcher(pattern);
        boolean some = before.lookingAt() && before.end() < pattern.length();
        String sent = some ? encode(before.group()) + "*" : encode(pattern);
        return new LockKeys(GLOB.matcher(prefix).replaceAll("\\\\$0") + ":{" + sent + "}*").lock();
    }

    /** The channel for a client's grants. The scripts derive the same name from a lock key and an owner. */
    public static String mailbox(String prefix, String clientId) {
        return prefix + ":mailbox:" + clientId;
    }

    /** The lock's name as the user wrote it. */
    public String name() {
        return decode(lock.substring(lock.indexOf('{') + 1, lock.indexOf('}')));
    }

    /** The lock or the pool of permits for logs and messages, such as {@code lock "job"} or {@code pool "job"}. */
    public String shown() {
        return (arePermits() ? "pool \"" : "lock \"") + Shown.of(name()) + '"';
    }

    /** The keys lock, queue, waiters, fence, conditions and shares, in the order that the scripts expect. */
    public List<String> all() {
        return List.of(lock, queue(), waiters(), fence(), conditions(), shares());
    }

    public String queue() {
        return lock + ":queue";
    }

    public String waiters() {
        return lock + ":waiters";
    }

    public String fence() {
        return lock + ":fence";
    }

    public String conditions() {
        return lock + ":conditions";
    }

    /** The shares of clients that wait to read. */
    public String shares() {
        return lock + ":shares";
    }

    /** The id of a named Condition in Redis: without spaces, and different from all ids of numbered Conditions. */
    public static String condition(String name) {
        Objects.requireNonNull(name, "name");
        if (name.isEmpty() || name.length() > 256 || hasUnpairedSurrogate(name)) {
            throw new IllegalArgumentException("The Condition name \"" + Shown.of(name)
                    + "\" cannot be used: it must have 1 to 256" + " well-formed characters, such as \"not-empty\".");
        }
        return "="
                + BLANK.matcher(encode(name))
                        .replaceAll(blank ->
                                String.format("%%%02X", (int) blank.group().charAt(0)));
    }

    /** The name of a Condition by its id; for a numbered Condition the id itself. */
    public static String conditionName(String id) {
        return id.startsWith("=") ? decode(id.substring(1)) : id;
    }

    private static String decode(String text) {
        if (text.indexOf('%') < 0) {
            return text;
        }
        return ENCODED.matcher(text)
                .replaceAll(
                        code -> Matcher.quoteReplacement(String.valueOf((char) Integer.parseInt(code.group(1), 16))));
    }

    private static String encode(String name) {
        return name.replace("%", "%25").replace("{", "%7B").replace("}", "%7D");
    }

    public static boolean hasUnpairedSurrogate(String text) {
        return !StandardCharsets.UTF_8.newEncoder().canEncode(text);
    }
}
