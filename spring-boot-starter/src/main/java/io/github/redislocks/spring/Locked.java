package io.github.redislocks.spring;

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
 * <p><b>Order.</b> The lock is taken after security, validation, caches and retries, and before transactions. By the
 * property {@code redis-locks.locked-order} it can be taken earlier: directly after the advisors whose order is at most
 * that number.
 *
 * <p><b>Transactions.</b> The lock is taken before the transaction begins and released after it has ended, in whatever
 * order the annotations stand and whatever order their advisors have. If a transaction is already open, the call is
 * refused, because the lock would be released before the commit and the next holder would read the old state; with
 * {@link #inTransaction} the end of that transaction releases the lock instead. A thread that already holds the lock
 * may call the method in any transaction. Before any commit inside the method the lock is checked; if it was lost, the
 * transaction is rolled back.
 *
 * <p><b>Mistakes</b> are reported when the bean is made, with the remedy: a private, static or final method; a method
 * that returns before its work has ended, for instance with a {@code CompletableFuture}; a name in which an expression
 * lacks its {@code #{ }}. A method that another method of the same object calls takes no lock, because the call does
 * not go through Spring's proxy.
 *
 * <p>The method throws what {@link io.github.redislocks.FencedLock#callWithLock} throws: a
 * {@link io.github.redislocks.LockLostException} if the lock was lost before the method had ended, and a
 * {@link io.github.redislocks.LockUnavailableException} if Redis does not answer, in which case the method did not run.
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

    /** The name of the bean that makes the locks, needed if there are several {@link io.github.redislocks.Locks}. */
    String locks() default "";

    /**
     * How long to wait for each lock, such as {@code 2s}; 0 to take a free lock only; empty, the default, to wait
     * without a limit.
     */
    String waitFor() default "";

    /**
     * A lease that is not renewed, such as {@code 30s}; empty, the default, for a lease that is renewed until the
     * method ends.
     */
    String lease() default "";

    /**
     * How long the lock stays unavailable at least, counted from its acquisition, such as {@code 50s}: until then
     * nobody else runs the method, even if it has ended. It is meant for jobs that each JVM schedules. With this
     * setting a handle and not the thread holds the lock: locked methods that this method calls can re-enter the lock,
     * but other code of the thread would have to wait for it.
     */
    String atLeast() default "";

    /** Whether the lock serves threads of all JVMs in order of arrival. */
    boolean fair() default false;

    /** The reaction to a lock that could not be acquired within {@link #waitFor}. */
    Busy busy() default Busy.THROW;

    /** The reaction to a call inside a transaction that is already open. */
    InTransaction inTransaction() default InTransaction.REFUSE;

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
         * Release the lock when the open transaction has been committed or rolled back. It is not committed if the lock
         * is lost before. Data that the transaction read before the lock was taken may be out of date, so read them
         * again under the lock; under the isolation levels repeatable read and serializable that does not help.
         */
        UNLOCK_AFTER_COMPLETION
    }
}
