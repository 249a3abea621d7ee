package io.github.redislocks.redis.jedis;

import io.github.redislocks.redis.Call;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;

/** Encoded calls, one after the other in one array of bytes, as they are written to a server. */
final class RequestBytes {

    private static final byte[] EVALSHA = "$7\r\nEVALSHA\r\n".getBytes(StandardCharsets.US_ASCII);
    private static final byte[] EVAL = "$4\r\nEVAL\r\n".getBytes(StandardCharsets.US_ASCII);
    /** The number of parts of a call beside its keys and arguments: the command, the digest, and the number of keys. */
    private static final int OTHERS = 3;

    private static final int LENGTH_BYTES = 16;

    private byte[] bytes;
    private int size;

    RequestBytes(int expectedBytes) {
        bytes = new byte[expectedBytes];
    }

    /** Adds a call by the digest of its script. */
    void add(Call call, String server) {
        start(call, EVALSHA);
        text(call.script().digest());
        rest(call, server);
    }

    /** Adds a call by the source of its script. */
    void addWithSource(Call call, String server) {
        start(call, EVAL);
        text(call.script().source().getBytes(StandardCharsets.UTF_8));
        rest(call, server);
    }

    private void start(Call call, byte[] command) {
        length('*', OTHERS + call.keys().size() + call.args().size());
        ensure(command.length);
        System.arraycopy(command, 0, bytes, size, command.length);
        size += command.length;
    }

    private void rest(Call call, String server) {
        List<String> keys = call.keys();
        text(Integer.toString(keys.size()));
        for (int i = 0; i < keys.size(); i++) {
            text(keys.get(i));
        }
        for (int i = 0; i < call.args().size(); i++) {
            text(call.argument(i, server));
        }
    }

    private void text(String text) {
        text(text.getBytes(StandardCharsets.UTF_8));
    }

    private void text(byte[] text) {
        length('$', text.length);
        ensure(text.length + 2);
        System.arraycopy(text, 0, bytes, size, text.length);
        size += text.length;
        endLine();
    }

    private void length(char kind, int number) {
        ensure(LENGTH_BYTES);
        bytes[size++] = (byte) kind;
        int power = 1;
        while (number / power > 9) {
            power *= 10;
        }
        for (; power > 0; power /= 10) {
            bytes[size++] = (byte) ('0' + number / power % 10);
        }
        endLine();
    }

    private void endLine() {
        bytes[size++] = '\r';
        bytes[size++] = '\n';
    }

    private void ensure(int more) {
        if (bytes.length - size < more) {
            bytes = Arrays.copyOf(bytes, Math.max(2 * bytes.length, size + more));
        }
    }

    /** The bytes of all calls. */
    ByteBuffer toWrite() {
        return ByteBuffer.wrap(bytes, 0, size);
    }
}
