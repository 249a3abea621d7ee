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
 * A connection on which callers send without waiting. A {@link QuickReader} reads the answers. One batch is under way
 * at a time. If a batch is given up, the connection is closed.
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
    /** The batch that is under way; null if there is none; {@link #DEAD} if the connection is closed. */
    private final AtomicReference<@Nullable Batch> current = new AtomicReference<>();

    private volatile @Nullable SelectionKey key;
    /**
     * The bytes that still have to be written, since they did not fit into the socket's buffers; null if there are
     * none.
     */
    private volatile @Nullable ByteBuffer unwritten;

    /** Calls that were sent together, and the receiver of their outcomes. */
    private static final class Batch {

        private final List<Call> calls;
        private final long timeoutNanos;
        private final long deadline;
        private final Consumer<@Nullable List<Outcome>> receiver;
        private final @Nullable Object[] answers;
        /** The number of answers so far. */
        private int answered;
        /**
         * The indexes of the calls that were sent again by source, since the server did not know their scripts; null
         * before that.
         */
        private @Nullable List<Integer> again;

        Batch(List<Call> calls, long timeoutNanos, Consumer<@Nullable List<Outcome>> receiver) {
            this.calls = calls;
            this.timeoutNanos = timeoutNanos;
            this.deadline = System.nanoTime() + timeoutNanos;
            this.receiver = receiver;
            this.answers = new @Nullable Object[calls.size()];
        }

        String what() {
            return calls.size() == 1 ? calls.get(0).script().name() : "a batch of " + calls.size();
        }
    }

    /**
     * Makes a quick connection from an open connection with a channel.
     *
     * @param pool the pool of the connection
     * @param server the run id of the server at the other end
     * @param failures called for each answered call, with the failure of the call, or null if it succeeded
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

    /** Whether the connection was idle for so long that a firewall may have forgotten it. */
    boolean isAged() {
        return pool.hasIdled(link, ConnectionPool.AGED_NANOS);
    }

    /** Registers the connection with the selector that reads its answers. */
    void register(Selector selector) throws IOException {
        channel.configureBlocking(false);
        key = channel.register(selector, SelectionKey.OP_READ, this);
    }

    /**
     * Sends calls without waiting. Returns false, and sends nothing, if a batch is under way or the connection is
     * closed.
     *
     * @param receiver called once, perhaps before this method returns: with the outcomes, or with null if the
     *     connection broke
     */
    boolean submit(List<Call> calls, long timeoutNanos, Consumer<@Nullable List<Outcome>> receiver) {
        if (current.get() != null) {
            return false;
        }
        // Encode the calls first, so that an error does not change the connection.
        Batch batch = new Batch(calls, timeoutNanos, receiver);
        ByteBuffer bytes = encoded(calls, null);
        if (!current.compareAndSet(null, batch)) {
            return false;
        }
        if (!send(bytes)) {
            breakOff();
        }
        return true;
    }

    /** Encodes all calls by digest, or, if {@code bySource} is not null, the calls with those indexes by source. */
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
     * Writes to the socket. If the bytes do not fit into the socket's buffers, the reader writes the rest later.
     * Returns false after any error, after which a part may have been sent: then the caller closes the connection, and
     * the receiver of the batch asks in another way.
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

    /**
     * Reads the bytes that have come, and writes bytes that did not fit before. Only the reading thread calls this
     * method and those below.
     */
    void read() {
        boolean sound = false;
        try {
            int count = writeOn() ? channel.read(buffer.space()) : -1;
            if (count >= 0) {
                buffer.filled(count);
                sound = take();
            }
        } catch (IOException | JedisException | CancelledKeyException e) {
            // Ignored: the finally block closes the connection.
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

    /** Takes the complete answers. Returns false if the server has sent more answers than there were calls. */
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
        complete(batch);
        return true;
    }

    /** The indexes of the calls whose scripts the server does not know. */
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

    private void complete(Batch batch) {
        Outcome[] outcomes = new Outcome[batch.answers.length];
        for (int i = 0; i < outcomes.length; i++) {
            outcomes[i] = endpoint.outcome(batch.calls.get(i), batch.answers[i], false);
            failures.accept(outcomes[i].failure());
        }
        List<Outcome> all = Arrays.asList(outcomes);
        link.idleSince(pool.now());
        // End the batch before the receiver is called, since the receiver may send the next batch. After an error in
        // the receiver, no batch is under way.
        if (current.compareAndSet(batch, null)) {
            batch.receiver.accept(all);
        }
    }

    /**
     * Returns whether the connection stays open. Gives up an overdue batch, and closes a connection that was idle for
     * long.
     */
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

    /** Closes the connection, unless a batch is under way; returns true if it is closed. */
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
            Outcome each = Outcome.of(
                    endpoint.timedOut(new Endpoint.Unfinished(batch.what(), true, false, batch.timeoutNanos)));
            silence = Collections.nCopies(batch.answers.length, each);
        } finally {
            // End the batch even if there was no memory for the outcomes: then `silence` is null, as after a broken
            // connection.
            if (current.compareAndSet(batch, DEAD)) {
                close(batch, silence);
            }
        }
    }

    private void breakOff() {
        Batch batch = current.getAndSet(DEAD);
        close(batch == null ? DEAD : batch, null);
    }

    /**
     * Closes the connection and calls the receiver. Calls the receiver even if closing throws, since the node of the
     * batch waits for that call.
     */
    private void close(Batch batch, @Nullable List<Outcome> outcomes) {
        try {
            link.cut();
        } finally {
            batch.receiver.accept(outcomes);
        }
    }
}
