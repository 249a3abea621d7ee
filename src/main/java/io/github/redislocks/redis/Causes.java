package io.github.redislocks.redis;

import java.net.SocketTimeoutException;

/** What is behind an exception of the client library. */
public final class Causes {

    private Causes() {}

    public static boolean isTimeout(Throwable e) {
        return root(e) instanceof SocketTimeoutException;
    }

    /** What happened first. Jedis tells of a failed connect() as a suppressed exception, not as a cause. */
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
