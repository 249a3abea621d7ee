/**
 * {@code java.util.concurrent.locks} on Redis: locks that exclude across processes and read like the JDK's. Start at
 * {@link io.github.redislocks.RedisLocks}.
 */
@NullMarked
package io.github.redislocks;

import org.jspecify.annotations.NullMarked;
