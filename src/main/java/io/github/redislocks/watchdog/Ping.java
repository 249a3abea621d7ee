package io.github.redislocks.watchdog;

/** How the mailbox is asked whether it still hears. */
public interface Ping {

    /** What it hears messages of. */
    String channel();

    /** Sends a message to it. */
    void ping(long timeoutNanos);
}
