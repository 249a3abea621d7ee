package io.github.redislocks.health;

import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.redis.ServerTimes;
import io.github.redislocks.state.FailoverEpoch;
import io.github.redislocks.state.Settings;

/**
 * What a part of a client needs that asks Redis for a lock, and says why there is none.
 *
 * @param settings of the client
 * @param epoch which server it is that answers now
 * @param serverTimes by which requests are dated
 * @param monitored runs the scripts
 * @param unavailable makes the exceptions
 */
public record RedisAccess(
        Clock clock,
        Settings settings,
        FailoverEpoch epoch,
        ServerTimes serverTimes,
        MonitoredRedis monitored,
        UnavailableMessages unavailable) {}
