package io.github.redislocks.spring;

import io.github.redislocks.Locks;
import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Runs a method of a Spring bean under a lock of {@link io.github.redislocks.Locks}.
 *
 * <pre>{@code
 * @Locked("order:#{#id}")
 * @Transactional
 * public void ship(long id, @FencingToken long token) { ... }
 * }</pre>
 *
 * <p><b>Order.</b> The lock is taken after security, validation, caches and retries, and before transactions. With the
 * property {@code redis-locks.locked-order} the lock is taken earlier: directly after the advisors whose order is at
 * most the value of the property.
 *
 * <p><b>Transactions.</b> The lock is taken before the transaction begins and released after it has ended, whatever the
 * order of the annotations and of their advisors. If a transaction is already open, the call is refused: the lock would
 * be released before the commit, and the next holder would read the old state. With {@link #inTransaction} the end of
 * that transaction releases the lock instead. A thread that already holds the lock may call the method in any
 * transaction. Before each commit inside the method the lock is checked; if it was lost, the transaction is rolled
 * back.
 *
 * <p><b>Mistakes</b> are reported when the bean is made, with the remedy: a private, static or final method; a method
 * that returns before its work has ended, for instance with a {@code CompletableFuture}; a name in which an expression
 * lacks its {@code #{ }}. If a method of the same object calls the locked method, no lock is taken, because the call
 * does not go through Spring's proxy.
 *
 * <p>The method throws what {@link io.github.redislocks.FencedLock#callWithLock} throws: a
 * {@link io.github.redislocks.LockLostException} if the lock was lost before the method had ended, and a
 * {@link io.github.redislocks.LockUnavailableException} if Redis does not answer. In the second case the method did not
 * run.
 *
 * @since 0.1.0
 */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.METHOD, ElementType.ANNOTATION_TYPE})
public @interface Locked {

    /**
     * The name of the lock, or the names of several locks, all of which the method needs. A name may contain
     * expressions of SpEL in {@code #{ }} and properties in <code>${ }</code>. An expression can use the parameters by
     * their names ({@code #id}, or {@code #p0} for the first), the object as its root, and beans by {@code @name}. If
     * an expression is null when the method is called, the call throws an {@link IllegalArgumentException}. Several
     * locks are taken in the order of their names, one inside the other.
     */
    String[] value();

    /**
     * Whether the method needs the lock for itself, or shares the {@linkplain Locks#readWriteLock read-write lock} with
     * other methods that read. With {@link Mode#READ} all other settings but {@link #locks}, {@link #waitFor} and
     * {@link #busy} must be left out.
     */
    Mode mode() default Mode.WRITE;

    /**
     * The name of the bean that makes the locks. Needed if there are several beans of the type
     * {@link io.github.redislocks.Locks}.
     */
    String locks() default "";

    /**
     * How long to wait for each lock, such as {@code 2s}; 0 to take only a free lock; empty, the default, to wait
     * without a limit.
     */
    String waitFor() default "";

    /**
     * A lease that is not renewed, such as {@code 30s}; empty, the default, for a lease that is renewed until the
     * method ends.
     */
    String lease() default "";

    /**
     * The least time, counted from its acquisition, for which the lock is unavailable to others, such as {@code 50s}.
     * Until then nobody else runs the method, even if it has ended. This is meant for jobs that each JVM schedules.
     * With this setting the lock is held by a handle, not by the thread: locked methods that this method calls can
     * re-enter the lock, but other code of the thread that acquires the lock would deadlock.
     */
    String atLeast() default "";

    /** Whether the lock serves threads of all JVMs in order of arrival. */
    boolean fair() default false;

    /** The reaction to a lock that could not be acquired within {@link #waitFor}. */
    Busy busy() default Busy.THROW;

    /** The reaction to a call inside a transaction that is already open. */
    InTransaction inTransaction() default InTransaction.REFUSE;

    /** The access that a method has under its lock. */
    enum Mode {
        /** The method has the lock for itself. */
        WRITE,
        /**
         * The method runs beside other methods that read. The lock is the read lock of that name. A method that writes,
         * called from a method that reads under the same name, throws an {@link IllegalMonitorStateException}, or finds
         * the lock busy if its {@link #waitFor} is 0; a method that reads, called from one that writes, is let in.
         */
        READ
    }

    /** The reaction to a busy lock. */
    enum Busy {
        /** Throw a {@link LockBusyException}. */
        THROW,
        /** Return at once without running the method: null, or an empty {@code Optional}. */
        SKIP
    }

    /** The reaction to a call inside an open transaction. */
    enum InTransaction {
        /** Throw an {@link IllegalStateException}. */
        REFUSE,
        /**
         * Release the lock when the open transaction has been committed or rolled back. The transaction is not
         * committed if the lock is lost before. Data that the transaction read before the lock was taken may be out of
         * date, so read them again under the lock. Under the isolation levels repeatable read and serializable, reading
         * again does not help.
         */
        UNLOCK_AFTER_COMPLETION
    }
}
