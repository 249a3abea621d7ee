/**
 * {@code java.util.concurrent.locks} on Redis: locks across processes that are used like the JDK's. Start at
 * {@link io.github.redislocks.RedisLocks}.
 *
 * <table>
 *   <caption>Which class for what</caption>
 *   <tr><th>To</th><th>use</th></tr>
 *   <tr><td>connect, once per process</td>
 *     <td>{@link io.github.redislocks.RedisLocks}, and {@link io.github.redislocks.JedisServers} where a URI cannot say
 *     how</td></tr>
 *   <tr><td>guard something</td>
 *     <td>{@link io.github.redislocks.RedisReentrantLock}, by its methods of {@link java.util.concurrent.locks.Lock} or
 *     {@link io.github.redislocks.FencedLock#withLock}</td></tr>
 *   <tr><td>set the lease, fairness or retry time of one lock</td><td>{@link io.github.redislocks.LockOptions}</td></tr>
 *   <tr><td>write code to which tests or frameworks can give other locks</td>
 *     <td>{@link io.github.redislocks.Locks} and {@link io.github.redislocks.FencedLock}</td></tr>
 *   <tr><td>know that a hold was lost</td>
 *     <td>{@link io.github.redislocks.LockLostException} where it matters,
 *     {@link io.github.redislocks.RedisLocks.Builder#onLockLost} to be notified</td></tr>
 *   <tr><td>know why no lock can be acquired</td>
 *     <td>{@link io.github.redislocks.LockUnavailableException}</td></tr>
 *   <tr><td>measure</td><td>{@link io.github.redislocks.LockListener}</td></tr>
 *   <tr><td>look at a lock</td><td>{@link io.github.redislocks.LockInspection}</td></tr>
 * </table>
 */
@NullMarked
package io.github.redislocks;

import org.jspecify.annotations.NullMarked;
