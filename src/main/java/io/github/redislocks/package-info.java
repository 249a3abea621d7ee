/**
 * {@code java.util.concurrent.locks} on Redis: locks across processes that are used like the JDK's. Start at
 * {@link io.github.redislocks.RedisLocks}.
 *
 * <pre>{@code
 * try (RedisLocks locks = RedisLocks.connect("redis://localhost:6379")) {
 *     locks.reentrantLock("inventory:sku-42").runWithLock(() -> stock.take("sku-42"));
 * }
 * }</pre>
 *
 * <table>
 *   <caption>Which class for what</caption>
 *   <tr><th>To</th><th>use</th></tr>
 *   <tr><td>connect, once per process</td>
 *     <td>{@link io.github.redislocks.RedisLocks}, and {@link io.github.redislocks.JedisServers} where a URI cannot say
 *     how</td></tr>
 *   <tr><td>guard something</td>
 *     <td>{@link io.github.redislocks.RedisReentrantLock}; {@link io.github.redislocks.LeasedLock} has all ways to take
 *     it. The result of a try that runs an action is a {@link io.github.redislocks.LockedResult}</td></tr>
 *   <tr><td>guard several things at once</td><td>{@link io.github.redislocks.MultiLock}</td></tr>
 *   <tr><td>hold a lock by an object that belongs to no thread</td>
 *     <td>{@link io.github.redislocks.LeasedLock#acquire()}, which returns a {@link io.github.redislocks.Handle}</td></tr>
 *   <tr><td>let at most n do something at a time</td>
 *     <td>{@link io.github.redislocks.Permits}, whose holds are a {@link io.github.redislocks.PermitHandle}; who has
 *     which permits is in a {@link io.github.redislocks.PermitsInspection}</td></tr>
 *   <tr><td>set lease, fairness or residency of one lock</td><td>{@link io.github.redislocks.LockOptions}</td></tr>
 *   <tr><td>write code that a test or a framework can give other locks</td>
 *     <td>{@link io.github.redislocks.Locks} and {@link io.github.redislocks.FencedLock}</td></tr>
 *   <tr><td>have one process do some work as long as it lives</td>
 *     <td>{@link io.github.redislocks.Locks#leadership}, which calls a {@link io.github.redislocks.LeaderWork} with a
 *     {@link io.github.redislocks.LeaderTerm}; {@link io.github.redislocks.LeaderOptions}</td></tr>
 *   <tr><td>know that a hold was lost</td>
 *     <td>{@link io.github.redislocks.LockLostException}, which calls throw after the loss;
 *     {@link io.github.redislocks.RedisLocksBuilder#onLockLost} to be notified at once</td></tr>
 *   <tr><td>know why no lock can be acquired</td>
 *     <td>{@link io.github.redislocks.LockUnavailableException}; its cause, if a request failed, is a
 *     {@link io.github.redislocks.RedisRequestException}</td></tr>
 *   <tr><td>measure</td>
 *     <td>{@link io.github.redislocks.LockListener}, which gets {@link io.github.redislocks.LockAcquired},
 *     {@link io.github.redislocks.LockNotAcquired}, {@link io.github.redislocks.LockReleased},
 *     {@link io.github.redislocks.LockLost}, {@link io.github.redislocks.LockExpiring},
 *     {@link io.github.redislocks.LocksRenewed} and {@link io.github.redislocks.RedisOutage}</td></tr>
 *   <tr><td>see who holds a lock and who waits</td>
 *     <td>{@link io.github.redislocks.Locks#inspect}, which returns a
 *     {@link io.github.redislocks.LockInspection}</td></tr>
 *   <tr><td>stop a service</td><td>{@link io.github.redislocks.Locks#close(java.time.Duration)}</td></tr>
 * </table>
 *
 * <p>Every method throws {@link NullPointerException} for a null argument that is not marked as nullable.
 *
 * @since 0.1.0
 */
@NullMarked
package io.github.redislocks;

import org.jspecify.annotations.NullMarked;
