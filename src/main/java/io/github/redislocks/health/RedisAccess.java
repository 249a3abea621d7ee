package io.github.redislocks.health;

import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.ServerTimes;
import io.github.redislocks.state.FailoverEpoch;
import io.github.redislocks.state.Settings;

/**
 * The parts of a client that an acquisition needs in order to ask Redis for a lock, and to explain a failure.
 *
 * @param settings the client's settings
 * @param redis the servers
 * @param epoch counts the failovers
 * @param serverTimes computes the deadlines of requests
 * @param monitored runs the scripts
 * @param unavailable makes the exceptions
 */
public record RedisAccess(
        Clock clock,
        Settings settings,
        Redis redis,
        FailoverEpoch epoch,
        ServerTimes serverTimes,
        MonitoredRedis monitored,
        UnavailableMessages unavailable) {}
