package io.github.redislocks.redis.jedis;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.RedisException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.CancelledKeyException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.exceptions.JedisException;
import redis.clients.jedis.exceptions.JedisNoScriptException;

/**
 * A connection on which a caller sends without waiting, and of which a {@link QuickReader} reads the answers. It has
 * one batch under way at a time. A batch that is given up takes its connection with it, as everywhere.
 */
final class QuickConnection {

    private static final Batch DEAD = new Batch(List.of(), 0, outcomes -> {});
    private static final int CALL_BYTES = 512;

    private final Endpoint endpoint;
    private final ConnectionPool pool;
    private final PooledConnection link;
    private final String server;
    private final SocketChannel channel;
    private final Consumer<@Nullable RedisException> failures;
    private final AnswerBuffer buffer = new AnswerBuffer();
    /** Null if there is none, {@link #DEAD} when there will be no more. */
    private final AtomicReference<@Nullable Batch> current = new AtomicReference<>();

    private volatile @Nullable SelectionKey key;
    /** What did not find room in the buffers of the socket. */
    private volatile @Nullable ByteBuffer unwritten;

    /** Calls on their way, and who is told what became of them. */
    private static final class Batch {

        private final List<Call> calls;
        private final long timeoutNanos;
        private final long deadline;
        private final Consumer<@Nullable List<Outcome>> heard;
        private final @Nullable Object[] answers;
        /** How many have been answered. */
        private int answered;
        /** Which are sent with their source, since the server did not know their script; null at first. */
        private @Nullable List<Integer> again;

        Batch(List<Call> calls, long timeoutNanos, Consumer<@Nullable List<Outcome>> heard) {
            this.calls = calls;
            this.timeoutNanos = timeoutNanos;
            this.deadline = System.nanoTime() + timeoutNanos;
            this.heard = heard;
            this.answers = new @Nullable Object[calls.size()];
        }

        String what() {
            return calls.size() == 1 ? calls.get(0).script().name() : "a batch of " + calls.size();
        }
    }

    /**
     * Takes a connection over that has a channel.
     *
     * @param pool whose connection it is
     * @param server the run id of the server at its other end
     * @param failures told the failure of each call that was answered, or null
     */
    QuickConnection(
            Endpoint endpoint,
            ConnectionPool pool,
            PooledConnection link,
            String server,
            Consumer<@Nullable RedisException> failures) {
        this.endpoint = endpoint;
        this.pool = pool;
        this.link = link;
        this.server = server;
        this.channel = Objects.requireNonNull(link.channel());
        this.failures = failures;
        link.idleSince(pool.now());
    }

    PooledConnection link() {
        return link;
    }

    String server() {
        return server;
    }

    boolean isDead() {
        return current.get() == DEAD;
    }

    /** Whether nobody has used it for so long that a firewall may have forgotten it. */
    boolean isAged() {
        return pool.hasIdled(link, ConnectionPool.AGED_NANOS);
    }

    /** Has a selector look for its answers. */
    void register(Selector selector) throws IOException {
        channel.configureBlocking(false);
        key = channel.register(selector, SelectionKey.OP_READ, this);
    }

    /**
     * Sends calls and returns at once; false if nothing was sent, since others are under way or it is closed.
     *
     * @param heard told once, by another thread or before this returns: the outcomes; or null if the connection broke
     */
    boolean begin(List<Call> calls, long timeoutNanos, Consumer<@Nullable List<Outcome>> heard) {
        if (current.get() != null) {
            return false;
        }
        // All that needs memory comes before.
        Batch batch = new Batch(calls, timeoutNanos, heard);
        ByteBuffer bytes = encoded(calls, null);
        if (!current.compareAndSet(null, batch)) {
            return false;
        }
        if (!send(bytes)) {
            breakOff();
        }
        return true;
    }

    /** Those with these numbers by their source, or all by their digest. */
    private ByteBuffer encoded(List<Call> calls, @Nullable List<Integer> bySource) {
        RequestBytes bytes = new RequestBytes(CALL_BYTES * calls.size());
        if (bySource == null) {
            for (int i = 0; i < calls.size(); i++) {
                bytes.add(calls.get(i), endpoint.address());
            }
        } else {
            for (int index : bySource) {
                bytes.addWithSource(calls.get(index), endpoint.address());
            }
        }
        return bytes.toWrite();
    }

    /**
     * Writes to the socket, or lets the reader write what the socket's buffers do not take. Returns false after any
     * error, since a part may have been sent: then the connection is broken off, and the receiver of the batch, which
     * alone has it from here on, asks in another way.
     */
    private boolean send(ByteBuffer bytes) {
        try {
            channel.write(bytes);
            if (bytes.hasRemaining()) {
                unwritten = bytes;
                listenFor(SelectionKey.OP_READ | SelectionKey.OP_WRITE);
            }
            return true;
        } catch (Exception | Error e) {
            return false;
        }
    }

    private void listenFor(int operations) {
        SelectionKey registered = Objects.requireNonNull(key);
        registered.interestOps(operations);
        registered.selector().wakeup();
    }

    /** Reads what has come, and writes what could not be written before. By the thread that reads, as all below. */
    void read() {
        boolean sound = false;
        try {
            int count = writeOn() ? channel.read(buffer.space()) : -1;
            if (count >= 0) {
                buffer.filled(count);
                sound = take();
            }
        } catch (IOException | JedisException | CancelledKeyException e) {
            // Broken off below.
        } finally {
            if (!sound) {
                breakOff();
            }
        }
    }

    private boolean writeOn() {
        ByteBuffer rest = unwritten;
        if (rest == null) {
            return true;
        }
        unwritten = null;
        listenFor(SelectionKey.OP_READ);
        return send(rest);
    }

    /** Takes the answers that are there; false if that is none to what was asked. */
    private boolean take() {
        Batch batch = current.get();
        if (batch == null || batch == DEAD) {
            return buffer.isEmpty();
        }
        List<Integer> again = batch.again;
        int expected = again == null ? batch.calls.size() : again.size();
        while (batch.answered < expected) {
            Object answer = buffer.next();
            if (answer == AnswerBuffer.MISSING) {
                return true;
            }
            batch.answers[again == null ? batch.answered : again.get(batch.answered)] = answer;
            batch.answered++;
        }
        if (!buffer.isEmpty()) {
            return false;
        }
        if (again == null) {
            List<Integer> unknown = unknown(batch);
            if (!unknown.isEmpty()) {
                batch.again = unknown;
                batch.answered = 0;
                return send(encoded(batch.calls, unknown));
            }
        }
        end(batch);
        return true;
    }

    /** Of which calls the server does not know the script. */
    private static List<Integer> unknown(Batch batch) {
        List<Integer> unknown = List.of();
        for (int i = 0; i < batch.answers.length; i++) {
            if (batch.answers[i] instanceof JedisNoScriptException) {
                unknown = unknown.isEmpty() ? new ArrayList<>() : unknown;
                unknown.add(i);
            }
        }
        return unknown;
    }

    private void end(Batch batch) {
        Outcome[] outcomes = new Outcome[batch.answers.length];
        for (int i = 0; i < outcomes.length; i++) {
            outcomes[i] = endpoint.outcome(batch.calls.get(i), batch.answers[i], false);
            failures.accept(outcomes[i].failure());
        }
        List<Outcome> told = Arrays.asList(outcomes);
        link.idleSince(pool.now());
        // Before it is told, so that the next ones can be sent then. From here on nothing needs memory.
        if (current.compareAndSet(batch, null)) {
            batch.heard.accept(told);
        }
    }

    /** Whether it goes on; ends what has waited for too long, and itself if nobody has used it for long. */
    boolean isAlive(long now) {
        Batch batch = current.get();
        if (batch == DEAD) {
            return false;
        }
        if (!channel.isOpen()) {
            breakOff();
            return false;
        }
        if (batch == null) {
            return !isAged() || !retire();
        }
        if (now - batch.deadline < 0) {
            return true;
        }
        giveUp(batch);
        return false;
    }

    /** Closes it unless it is in use; whether it did. */
    boolean retire() {
        boolean idle = current.compareAndSet(null, DEAD);
        if (idle) {
            link.cut();
        }
        return idle;
    }

    private void giveUp(Batch batch) {
        List<Outcome> silence = null;
        try {
            Outcome each = Outcome.of(endpoint.timedOut(batch.what(), true, false, batch.timeoutNanos));
            silence = Collections.nCopies(batch.answers.length, each);
        } finally {
            // Without memory to say why, it is as if the connection had broken.
            if (current.compareAndSet(batch, DEAD)) {
                end(batch, silence);
            }
        }
    }

    private void breakOff() {
        Batch batch = current.getAndSet(DEAD);
        end(batch == null ? DEAD : batch, null);
    }

    /** Tells what became of a batch whatever is thrown: nobody else would, and who began it cannot go on before. */
    private void end(Batch batch, @Nullable List<Outcome> outcomes) {
        try {
            link.cut();
        } finally {
            batch.heard.accept(outcomes);
        }
    }
}
