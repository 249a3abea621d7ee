package check;

import io.github.redislocks.LockUnavailableException;
import io.github.redislocks.RedisLocks;

/** Connects to a Redis that is not there, which is enough to load the library and its dependencies. */
public final class Main {

    private Main() {}

    public static void main(String[] args) {
        try (RedisLocks locks = RedisLocks.connect("redis://127.0.0.1:1")) {
            throw new IllegalStateException("Something answers at port 1: " + locks);
        } catch (LockUnavailableException e) {
            System.out.println("app runs on the module path.");
        }
    }
}
