package io.github.redislocks.redis;

import org.jspecify.annotations.Nullable;

/**
 * The part of a URI that is not the server's address: the login and the options of a connection.
 *
 * @param user null for the default user
 * @param password null if the server asks for none
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
