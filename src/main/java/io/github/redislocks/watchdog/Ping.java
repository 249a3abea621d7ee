package io.github.redislocks.watchdog;

/** Tests whether the mailbox still receives messages. */
public interface Ping {

    /** The channel to which the mailbox is subscribed. */
    String channel();

    /** Sends a message to the channel. */
    void ping(long timeoutNanos);
}
