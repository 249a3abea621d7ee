package io.github.redislocks.redis;

import java.net.SocketTimeoutException;

/** Finds what caused an exception of the client library Jedis. */
public final class Causes {

    private Causes() {}

    public static boolean isTimeout(Throwable e) {
        return root(e) instanceof SocketTimeoutException;
    }

    /**
     * The first exception of the chain. Jedis attaches a failed connect() as a suppressed exception, not as a cause.
     */
    public static Throwable root(Throwable e) {
        Throwable root = e;
        while (true) {
            Throwable deeper = root.getCause();
            if (deeper == null && root.getSuppressed().length > 0) {
                deeper = root.getSuppressed()[0];
            }
            if (deeper == null) {
                return root;
            }
            root = deeper;
        }
    }
}
