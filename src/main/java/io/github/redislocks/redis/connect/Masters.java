package io.github.redislocks.redis.connect;

import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.redis.Address;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.jedis.QuickReader;
import io.github.redislocks.redis.topology.Topology;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongConsumer;

/**
 * The ports to several servers that a client asks at the same time.
 *
 * @param all the port to each server
 * @param pause waits for replies to submitted calls, or until the thread is unparked, for the given nanoseconds at most
 */
public record Masters(List<Redis> all, LongConsumer pause) {

    /**
     * Opens the ports.
     *
     * @param callers the number of threads that call {@link Redis#run} and {@link Redis#runAll} of each server
     */
    public static Masters open(List<RedisUri> uris, int callers, Threads threads) {
        QuickReader reader = new QuickReader(threads);
        List<Redis> all = new ArrayList<>();
        for (RedisUri uri : uris) {
            Address address = ((Topology.Single) uri.topology()).address();
            all.add(uri.configs().serverOf(address, callers, reader));
        }
        return new Masters(all, reader::pause);
    }
}
