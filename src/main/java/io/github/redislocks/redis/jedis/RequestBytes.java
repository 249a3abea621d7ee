package io.github.redislocks.redis.jedis;

import io.github.redislocks.redis.Call;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;

/** Calls as they are written to a server, one behind the other, in one array of bytes. */
final class RequestBytes {

    private static final byte[] EVALSHA = "$7\r\nEVALSHA\r\n".getBytes(StandardCharsets.US_ASCII);
    private static final byte[] EVAL = "$4\r\nEVAL\r\n".getBytes(StandardCharsets.US_ASCII);
    /** What is written besides keys and arguments, and the digits of a length with its line's end. */
    private static final int OTHERS = 3;

    private static final int LENGTH_BYTES = 16;

    private byte[] bytes;
    private int size;

    RequestBytes(int expectedBytes) {
        bytes = new byte[expectedBytes];
    }

    /** Adds a call of a script that the server knows. */
    void add(Call call, String server) {
        begin(call, EVALSHA);
        text(call.script().digest());
        rest(call, server);
    }

    /** Adds a call with the source of its script. */
    void addWithSource(Call call, String server) {
        begin(call, EVAL);
        text(call.script().source().getBytes(StandardCharsets.UTF_8));
        rest(call, server);
    }

    private void begin(Call call, byte[] command) {
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

    /** All of them, to be written. */
    ByteBuffer toWrite() {
        return ByteBuffer.wrap(bytes, 0, size);
    }
}
