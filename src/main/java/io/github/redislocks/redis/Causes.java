package io.github.redislocks.redis;

import java.net.SocketTimeoutException;

/** Finds what caused an exception of the client library Jedis. */
public final class Causes {

    private Causes() {}

    public static boolean isTimeout(Throwable e) {
        return root(e) instanceof SocketTimeoutException;
    }

    /** The root of the chain of causes. */
    public static Throwable root(Throwable e) {
        Throwable root = e;
        while (root.getCause() != null) {
            root = root.getCause();
        }
        return root;
    }
}
