package io.github.redislocks.spring;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Has a method of a Spring bean run under a lock of {@link io.github.redislocks.Locks}.
 *
 * <pre>{@code
 * @Locked("order:#{#id}")
 * @Transactional
 * public void ship(long id, @FencingToken long token) { ... }
 * }</pre>
 *
 * <p><b>Order.</b> The lock is taken after security, validation, caches and retries, and before transactions. The
 * property {@code redis-locks.locked-order} takes it earlier: behind the advisors whose order is at most that number.
 *
 * <p><b>Transactions.</b> The lock is taken before the transaction begins and released after it has ended, in whatever
 * order the annotations stand and whatever order their advisors have. Inside a transaction that is open already the
 * method is refused, since the next holder would read what was there before its commit; {@link #inTransaction} can have
 * the lock released by the end of that transaction instead. A thread that has the lock already may call it anywhere.
 * Before any transaction is committed inside the method, the lock is asked whether it is held still; if it was lost,
 * the transaction is rolled back.
 *
 * <p><b>What cannot work</b> fails when the bean is made, and says how to mend it: a private, static or final method; a
 * method that returns before its work has ended, as with a {@code CompletableFuture}; a name without its values. A call
 * of a method of the same object does not go through Spring, and so takes no lock.
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
     * The name of the lock, or the names of several, of which the method needs all: each a text with expressions of
     * SpEL in {@code #{ }}, which see the parameters by their names ({@code #id}, or {@code #p0} for the first), the
     * object as root, and beans by {@code @name}; and with properties in <code>${ }</code>. An expression that is null
     * is an error when the method is called. Several locks are taken in the order of their names, one inside the other.
     */
    String[] value();

    /** The name of the bean that makes the locks, where there are several {@link io.github.redislocks.Locks}. */
    String locks() default "";

    /**
     * How long to wait for each lock, such as {@code 2s}, or 0 for a free lock only; empty, for as long as it takes.
     */
    String waitFor() default "";

    /** A lease that is not renewed, such as {@code 30s}; empty for one that is renewed until the method ends. */
    String lease() default "";

    /**
     * How long the lock stays taken at least, from when it was acquired, such as {@code 50s}: nobody else runs the
     * method until then, even if it has ended. For jobs that each JVM schedules. The lock belongs to the call then, not
     * to its thread: locked methods that it calls enter it once more, and other code has to wait.
     */
    String atLeast() default "";

    /** Whether threads of all JVMs are served in order of arrival. */
    boolean fair() default false;

    /** The reaction to a lock that could not be acquired within {@link #waitFor}. */
    Busy busy() default Busy.THROW;

    /** The reaction to a call inside a transaction that is open already. */
    InTransaction inTransaction() default InTransaction.REFUSE;

    /** The reaction to a busy lock. */
    enum Busy {
        /** Throw a {@link LockBusyException}. */
        THROW,
        /** Return at once without running the method: null, or an empty {@code Optional}. */
        SKIP
    }

    /** The reaction to an open transaction. */
    enum InTransaction {
        /** Throw an {@link IllegalStateException}. */
        REFUSE,
        /**
         * Release the lock when that transaction has been committed or rolled back; it is not committed if the lock is
         * lost before. What the transaction had read before the lock was taken may be old: read anew under the lock,
         * which a transaction that is repeatable read or serializable cannot.
         */
        UNLOCK_AFTER_COMPLETION
    }
}
