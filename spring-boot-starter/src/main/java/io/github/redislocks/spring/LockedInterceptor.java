package io.github.redislocks.spring;

import io.github.redislocks.FencedLock;
import io.github.redislocks.LockHandle;
import io.github.redislocks.LockOptions;
import io.github.redislocks.Locks;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.lang.reflect.UndeclaredThrowableException;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import java.util.function.Supplier;
import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.config.ConfigurableBeanFactory;
import org.springframework.context.expression.BeanFactoryResolver;
import org.springframework.context.expression.MethodBasedEvaluationContext;
import org.springframework.core.DefaultParameterNameDiscoverer;
import org.springframework.core.MethodClassKey;
import org.springframework.core.MethodIntrospector;
import org.springframework.core.log.LogFormatUtils;

/** Runs {@link Locked} methods under their locks. */
final class LockedInterceptor implements MethodInterceptor {

    private final Supplier<? extends Locks> locks;
    private final ConfigurableBeanFactory beans;
    private final DefaultParameterNameDiscoverer names = new DefaultParameterNameDiscoverer();
    /** The checked annotations of methods of beans; empty for a method without the annotation. */
    private final ConcurrentMap<MethodClassKey, Optional<LockedMethod>> methods = new ConcurrentHashMap<>();

    LockedInterceptor(Supplier<? extends Locks> locks, ConfigurableBeanFactory beans) {
        this.locks = locks;
        this.beans = beans;
    }

    /** Returns the checked annotation of a method; empty if there is none. Throws if the annotation cannot work. */
    Optional<LockedMethod> find(Method method, Class<?> type) {
        return methods.computeIfAbsent(
                new MethodClassKey(method, type),
                first -> Optional.ofNullable(LockedMethod.of(specific(method, type), type, beans)));
    }

    private static Method specific(Method method, Class<?> type) {
        // For a JDK proxy, keep the method of the interface: the methods of the proxy's class are final and have no
        // annotations.
        return Proxy.isProxyClass(type) ? method : AopUtils.getMostSpecificMethod(method, type);
    }

    /** Whether a method of a class has a lock. Throws if the annotation of a method cannot work. */
    boolean isNeededBy(Class<?> type) {
        MethodIntrospector.MetadataLookup<LockedMethod> lookup =
                method -> find(method, type).orElse(null);
        return !MethodIntrospector.selectMethods(type, lookup).isEmpty();
    }

    @Override
    public @Nullable Object invoke(MethodInvocation invocation) throws Throwable {
        Object target = invocation.getThis();
        Class<?> type = target == null ? invocation.getMethod().getDeclaringClass() : AopUtils.getTargetClass(target);
        LockedMethod method = find(invocation.getMethod(), type).orElse(null);
        if (method == null) {
            return invocation.proceed();
        }
        MethodBasedEvaluationContext context = new MethodBasedEvaluationContext(
                target == null ? type : target, method.method, invocation.getArguments(), names);
        context.setBeanResolver(new BeanFactoryResolver(beans));
        Locks source = method.source.isEmpty() ? locks.get() : beans.getBean(method.source, Locks.class);
        return invoke(new Call(invocation, method, type, source), method.lockNames(context));
    }

    /** A call of a locked method. */
    private record Call(MethodInvocation invocation, LockedMethod method, Class<?> type, Locks source) {}

    /** Takes the first of the locks, and then the others under it. All callers take several locks in the same order. */
    private @Nullable Object invoke(Call call, List<String> names) throws Exception {
        LockedMethod method = call.method;
        Locks source = call.source;
        String name = names.get(0);
        List<String> others = names.subList(1, names.size());
        // Check first whether an enclosing method has lost this lock. Otherwise this call would get a new hold, and the
        // enclosing method would go on without noticing the loss.
        long token = EnclosingLocks.tokenOfHandle(source, name);
        if (token != 0) {
            return proceed(call, name, token, others);
        }
        MethodLock lock = MethodLock.of(source, name, method);
        // A thread that already holds the lock took it before the transaction began, or was permitted by this check.
        boolean inTransaction = OpenTransactions.isOpenFor(method.method, call.type)
                && !lock.isHeld()
                && !InnerTransactions.beginsItsOwn(call.invocation, method.method, call.type, beans);
        if (inTransaction && method.isRefusedInTransaction()) {
            throw refused(method, name);
        }
        try (Taken taken = take(call, lock, inTransaction)) {
            if (taken == null) {
                return busy(method, name);
            }
            long ofTaken = EnclosingLocks.enter(source, lock, taken.handle);
            try {
                return proceed(call, name, ofTaken, others);
            } finally {
                EnclosingLocks.leave();
            }
        }
    }

    /**
     * Puts a name in quotes. Removes line breaks and control characters, since users' text may be a part of the name.
     */
    private static String shown(String name) {
        return LogFormatUtils.formatValue(name, -1, true);
    }

    private static IllegalStateException refused(LockedMethod method, String name) {
        return new IllegalStateException(
                "@Locked on " + method + " wants the lock " + shown(name) + " inside a transaction"
                        + " that is open already. A lock must be taken before the transaction begins and released after it has"
                        + " been committed, else the next holder reads what was there before. Put @Locked on the method that"
                        + " begins the transaction, or around it; if a proxy around this one begins it, have that"
                        + " proxy made before the lock's"
                        + (method.reads()
                                ? "."
                                : "; or choose inTransaction = UNLOCK_AFTER_COMPLETION, which keeps"
                                        + " the lock until the open transaction has ended."));
    }

    /**
     * A lock that a call has taken.
     *
     * @param handle the handle that holds the lock if the method has an {@code atLeast}; null if the thread holds the
     *     lock
     * @param release releases the lock; throws if the lock was lost
     */
    private record Taken(@Nullable LockHandle handle, Runnable release) implements AutoCloseable {

        @Override
        public void close() {
            release.run();
        }
    }

    /** Takes the lock; null if it was busy. */
    private static @Nullable Taken take(Call call, MethodLock taken, boolean inTransaction)
            throws InterruptedException {
        LockedMethod method = call.method;
        Duration wait = method.waitFor;
        Lock lock = taken.lock();
        // Make this object before the lock is taken: an error here must not leave the lock held.
        Taken ofThread = new Taken(null, inTransaction ? () -> {} : lock::unlock);
        try {
            if (method.atLeast != null && !taken.isHeld()) {
                LockHandle handle = acquire(call.source, taken.name(), method);
                return handle == null ? null : new Taken(handle, () -> keep(handle, method.atLeast));
            }
            if (wait == null) {
                lock.lock();
            } else if (!lock.tryLock(TimeUnit.NANOSECONDS.convert(wait), TimeUnit.NANOSECONDS)) {
                return null;
            }
        } catch (InterruptedException e) {
            if (method.declares(InterruptedException.class)) {
                throw e;
            }
            Thread.currentThread().interrupt();
            throw new LockBusyException(
                    taken.name(),
                    "The thread was interrupted while it waited for the lock " + shown(taken.name()) + " of " + method,
                    e);
        }
        if (inTransaction) {
            TransactionEnds.unlockAfterCompletion((FencedLock) lock);
        }
        return ofThread;
    }

    private static @Nullable LockHandle acquire(Locks source, String name, LockedMethod method)
            throws InterruptedException {
        try {
            // Check now whether Redis supports releaseAfter: after the work it would be too late. A quorum supports
            // neither releaseAfter nor fair locks, and refuses this fair lock.
            FencedLock unused =
                    source.reentrantLock(name, LockOptions.defaults().fair(true));
        } catch (UnsupportedOperationException e) {
            throw new UnsupportedOperationException(
                    "The atLeast of " + method + " needs releaseAfter, which a quorum does not support."
                            + " Use a single server, Sentinel or a cluster for this method, or no atLeast.",
                    e);
        }
        return method.waitFor == null
                ? source.reentrantLock(name, method.options).acquire()
                : source.reentrantLock(name, method.options)
                        .tryAcquire(method.waitFor)
                        .orElse(null);
    }

    /** Releases the handle by {@code releaseAfter}. If the lock was lost, reports the loss. */
    private static void keep(LockHandle handle, Duration atLeast) {
        try (handle) {
            if (!handle.releaseAfter(atLeast)) {
                handle.ensureHeld();
            }
        }
    }

    private static @Nullable Object busy(LockedMethod method, String name) {
        if (method.isSkipped()) {
            return method.skipped();
        }
        throw new LockBusyException(
                name,
                "The lock " + shown(name) + " of " + method + " was busy for "
                        + Objects.requireNonNull(method.waitFor).toMillis() + " ms",
                null);
    }

    private @Nullable Object proceed(Call call, String name, long token, List<String> others) throws Exception {
        if (!others.isEmpty()) {
            return invoke(call, others);
        }
        call.method.giveToken(call.invocation.getArguments(), token);
        try {
            Object result = call.invocation.proceed();
            awaitEndOf(result, call.method, name);
            return result;
        } catch (Exception | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new UndeclaredThrowableException(e);
        }
    }

    /**
     * If the result shows that work still goes on, waits for the end of the work. Throws if that is not possible. The
     * class of the result decides, whatever type the method declares.
     */
    private static void awaitEndOf(@Nullable Object result, LockedMethod method, String lock) {
        Object work = result instanceof Optional<?> some ? some.orElse(null) : result;
        if (work instanceof CompletionStage<?> stage) {
            awaitEnd(stage.toCompletableFuture());
        } else if (work instanceof Future<?> future) {
            awaitEnd(future);
        } else if (work != null && LaterResults.isLater(work.getClass())) {
            throw new IllegalStateException("@Locked on " + method + " has returned a "
                    + work.getClass().getName() + ", whose work begins or goes on after the lock " + shown(lock)
                    + " was released. Use FencedLock.callWithHandleAsync(…) in it; or have it do the work, and return the result"
                    + " of it.");
        }
    }

    private static void awaitEnd(Future<?> work) {
        try {
            Object unused = work.get();
        } catch (ExecutionException | CancellationException e) {
            // Ignored: the caller gets this future, and so its failure.
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
