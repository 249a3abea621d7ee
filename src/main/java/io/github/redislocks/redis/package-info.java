/**
 * The port to Redis: calls of scripts, their replies and failures, and the interface of a Redis. Knows neither locks
 * nor the client library Jedis; the packages below it implement the port.
 *
 * <p>A second client library needs a package like {@code redis.jedis}, which has:
 *
 * <ul>
 *   <li>a {@link SingleServer}, which runs a script by its digest, and by its text if the server does not know it;
 *       sends batches on a separate connection; subscribes to channels and to changed keys; and sends any command as
 *       words;
 *   <li>{@link Servers}, which makes that port by address with the credentials of a {@link Login}, and computes the
 *       slot of a key;
 *   <li>for a quorum {@link Redis#submit} and {@link Redis#connectQuickly}, and how a thread waits for such replies.
 * </ul>
 *
 * <p>Four classes name {@code redis.jedis}: {@code RedisUri} and {@code Masters} in {@code redis.connect} choose it,
 * {@code JedisServers} takes a user's configuration of Jedis, and {@code RedisLocksBuilder} checks the version of
 * Jedis.
 */
@NullMarked
package io.github.redislocks.redis;

import org.jspecify.annotations.NullMarked;
