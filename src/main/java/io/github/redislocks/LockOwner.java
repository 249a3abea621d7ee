package io.github.redislocks;

import io.github.redislocks.concurrent.Shown;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * An owner of a lock, or a waiter: a thread of some JVM, a {@link LockHandle}, a client that keeps the lock for its
 * threads ({@link RedisLocksBuilder#residency}), or all clients that read together under a read-write lock.
 *
 * @since 0.1.0
 */
public final class LockOwner {

    private static final String HANDLE = "h";
    private static final String RESIDENCE = "r";
    private static final String READERS = "readers";
    private static final Pattern FORM = Pattern.compile("(?s).*[^:]:[hr]?\\d{1,18}");

    private final String clientId;
    private final String id;
    private final @Nullable String threadName;

    private LockOwner(String clientId, String id, @Nullable String threadName) {
        this.clientId = Objects.requireNonNull(clientId, "clientId");
        this.id = id;
        this.threadName = threadName;
    }

    /** Makes an owner that is a thread, for tests of code that inspects locks. */
    public static LockOwner of(String clientId, long threadId) {
        return new LockOwner(clientId, Long.toString(threadId), null);
    }

    /**
     * Makes an owner from its text: {@code host:pid:random:7} is a thread, {@code host:pid:random:h7} a handle, and
     * {@code host:pid:random:r7} a client that keeps the lock for its threads; {@code readers} are all clients that
     * read under a read-write lock.
     *
     * @throws IllegalArgumentException if the text has none of these forms
     */
    public static LockOwner parse(String text) {
        if (text.equals(READERS)) {
            return new LockOwner("", READERS, null);
        }
        if (!FORM.matcher(text).matches()) {
            throw new IllegalArgumentException("\"" + Shown.of(text) + "\" is no owner of a lock. An owner has the"
                    + " form host:pid:random:thread or host:pid:random:h7. If this text is in the key of a lock,"
                    + " another program uses that key: give the locks another keyPrefix.");
        }
        int colon = text.lastIndexOf(':');
        return new LockOwner(text.substring(0, colon), text.substring(colon + 1), null);
    }

    /** Returns this owner with the name of its thread. */
    public LockOwner withThreadName(String name) {
        return new LockOwner(clientId, id, Objects.requireNonNull(name, "name"));
    }

    /** The id of the owner's client, as {@link Locks#clientId()} returns it; empty if readers are the owner. */
    public String clientId() {
        return clientId;
    }

    /** Whether the owner is a handle. */
    public boolean isHandle() {
        return id.startsWith(HANDLE);
    }

    /**
     * Whether the owner is a whole client, which keeps the lock for its threads by its
     * {@link RedisLocksBuilder#residency residency}. Only that client knows whether one of its threads holds the lock.
     */
    public boolean isResidence() {
        return id.startsWith(RESIDENCE) && !isReaders();
    }

    /** Whether the owner stands for all clients that read under a read-write lock. It names no client. */
    public boolean isReaders() {
        return id.equals(READERS);
    }

    /** The {@code Thread.threadId()} of the owner; empty if the owner is no thread. */
    public OptionalLong threadId() {
        return isHandle() || id.startsWith(RESIDENCE) ? OptionalLong.empty() : OptionalLong.of(Long.parseLong(id));
    }

    /**
     * The name of the owner's thread; empty if the owner is no thread. Redis does not know the names of threads, so the
     * name is also empty if the inspection was made by another client. Equality ignores this name.
     */
    public Optional<String> threadName() {
        return Optional.ofNullable(threadName);
    }

    /** The name of the owner's client, which {@link RedisLocksBuilder#clientName} sets; empty if it was not set. */
    public Optional<String> clientName() {
        int start = clientId.lastIndexOf(':') + 1;
        int end = clientId.lastIndexOf('.');
        return end < start ? Optional.empty() : Optional.of(clientId.substring(start, end));
    }

    /** The host name of the owner's client. */
    public String host() {
        return part(0);
    }

    /**
     * The process id of the owner's client.
     *
     * @throws IllegalStateException if the id of the client contains no process id: then the client does not belong to
     *     this library
     */
    public long pid() {
        String number = part(1);
        if (!number.matches("\\d{1,18}")) {
            throw new IllegalStateException("The owner \"" + Shown.of(toString()) + "\" names no process, so its client"
                    + " does not belong to this library, whose clients have ids of the form host:pid:random.");
        }
        return Long.parseLong(number);
    }

    private String part(int index) {
        String[] parts = clientId.split(":", -1);
        return index < parts.length ? parts[index] : "";
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof LockOwner that && clientId.equals(that.clientId) && id.equals(that.id);
    }

    @Override
    public int hashCode() {
        return Objects.hash(clientId, id);
    }

    /** The text of the owner in Redis, in one of the forms of {@link #parse}. */
    @Override
    public String toString() {
        return isReaders() ? id : clientId + ':' + id;
    }

    /** The text of the owner, with the name of its thread if the name is known. */
    String description() {
        return Shown.of(threadName == null ? toString() : this + " (\"" + threadName + "\")");
    }
}
