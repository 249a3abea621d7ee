package io.github.redislocks.bench.contender;

import java.io.Serializable;

/**
 * The settings that a work needs of a client.
 *
 * @param uri of the server, or those of several with spaces between them
 * @param leaseMillis how long a hold lasts that nobody renews, and then it is renewed; 0 for the contender's default
 * @param threads how many threads use it at once
 * @param locks how many locks it makes at least
 * @param client tells apart clients that are otherwise the same
 */
public record Setting(String uri, long leaseMillis, int threads, int locks, int client) implements Serializable {

    public Setting(String uri, int threads) {
        this(uri, 0, threads, 0, 0);
    }

    public Setting ofClient(int number) {
        return new Setting(uri, leaseMillis, threads, locks, number);
    }

    /** The URLs of several masters, or of the one server. */
    String[] uris() {
        return uri.split(" ");
    }

    int connections() {
        return Math.max(8, threads);
    }
}
