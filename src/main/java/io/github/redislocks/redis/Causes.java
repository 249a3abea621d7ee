package io.github.redislocks.redis;

import java.net.SocketTimeoutException;

/** Finds the cause of an exception of Jedis. */
public final class Causes {

    private Causes() {}

    public static boolean isTimeout(Throwable e) {
        return root(e) instanceof SocketTimeoutException;
    }

    /** The last exception in the chain of causes. */
    public static Throwable root(Throwable e) {
        Throwable root = e;
        while (root.getCause() != null) {
            root = root.getCause();
        }
        return root;
    }
}
