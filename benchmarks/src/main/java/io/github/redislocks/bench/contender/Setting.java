package io.github.redislocks.bench.contender;

import java.io.Serializable;

/**
 * The settings that a work needs of a client.
 *
 * @param uri the URI of the server, or several URIs, separated by spaces
 * @param leaseMillis the lease of holds, which are renewed then; 0 for the contender's default
 * @param threads how many threads use the client at once
 * @param locks the least number of locks that the client makes
 * @param client a number that distinguishes clients with the same settings
 */
public record Setting(String uri, long leaseMillis, int threads, int locks, int client) implements Serializable {

    public Setting(String uri, int threads) {
        this(uri, 0, threads, 0, 0);
    }

    public Setting ofClient(int number) {
        return new Setting(uri, leaseMillis, threads, locks, number);
    }

    /** The URIs of the masters, or of the server. */
    String[] uris() {
        return uri.split(" ");
    }

    int connections() {
        return Math.max(8, threads);
    }
}
