package io.github.redislocks.redis;

/** The address at which a server listens. The text form is {@code host:port}, also with an IPv6 address as the host. */
public record Address(String host, int port) {

    /** Reads {@code host:port}; the host may be empty. */
    public static Address parse(String text) {
        int colon = text.lastIndexOf(':');
        return new Address(text.substring(0, colon), Integer.parseInt(text, colon + 1, text.length(), 10));
    }

    @Override
    public String toString() {
        return host + ':' + port;
    }
}
