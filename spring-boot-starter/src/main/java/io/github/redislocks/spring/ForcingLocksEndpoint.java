package io.github.redislocks.spring;

import io.github.redislocks.RedisLocks;
import org.springframework.boot.actuate.endpoint.annotation.DeleteOperation;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.Selector;

/**
 * The endpoint {@code locks} that can also force locks open. It needs the property {@code redis-locks.endpoint.force}.
 */
@Endpoint(id = "locks")
final class ForcingLocksEndpoint extends LocksEndpoint {

    ForcingLocksEndpoint(RedisLocks locks) {
        super(locks);
    }

    /** Ends the present hold of a lock: {@link io.github.redislocks.FencedLock#forceUnlock()}. */
    @DeleteOperation
    public Object force(@Selector(match = Selector.Match.ALL_REMAINING) String... name) {
        return answer(
                name(name), lock -> new Forced(lock, locks.reentrantLock(lock).forceUnlock()));
    }

    /**
     * The result of a forced unlock.
     *
     * @param forced whether there was a hold
     */
    public record Forced(String name, boolean forced) {}
}
