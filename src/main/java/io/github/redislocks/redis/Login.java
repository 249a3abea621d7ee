package io.github.redislocks.redis;

import org.jspecify.annotations.Nullable;

/**
 * The login and the options of a connection: the part of a URI beside the server's address.
 *
 * @param user null for the default user
 * @param password null to log in without a password
 * @param clientName the name that the connection gets in Redis, or null
 */
public record Login(
        @Nullable String user,
        @Nullable String password,
        @Nullable String clientName,
        int database,
        boolean tls) {

    /** The login as text, without the password. */
    @Override
    public String toString() {
        return "Login[user=" + user + ", database=" + database + ']';
    }
}
