package io.github.redislocks.redis;

import java.io.Serial;

/** The error that a server replied, as the cause of a call's failure. The message is the server's text. */
public final class ErrorReply extends RuntimeException {

    @Serial
    private static final long serialVersionUID = 1L;

    public ErrorReply(String text) {
        super(text);
    }

    /** Makes the cause from an error that a client library received. */
    public ErrorReply(String text, Throwable cause) {
        super(text, cause);
    }
}
