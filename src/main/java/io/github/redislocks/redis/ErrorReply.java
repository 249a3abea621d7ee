package io.github.redislocks.redis;

import java.io.Serial;

/** An error reply of a server, as the cause of a call's failure. The message is the server's text. */
public final class ErrorReply extends RuntimeException {

    @Serial
    private static final long serialVersionUID = 1L;

    public ErrorReply(String text) {
        super(text);
    }

    /** Makes the cause from the exception of a client library. */
    public ErrorReply(String text, Throwable cause) {
        super(text, cause);
    }
}
