package io.github.redislocks.spring;

import io.github.redislocks.FencedLock;
import io.github.redislocks.LockHandle;
import io.github.redislocks.LockedCall;
import io.github.redislocks.LockedResult;
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
    /** Of the methods of beans; empty for those without a lock. */
    private final ConcurrentMap<MethodClassKey, Optional<LockedMethod>> methods = new ConcurrentHashMap<>();

    LockedInterceptor(Supplier<? extends Locks> locks, ConfigurableBeanFactory beans) {
        this.locks = locks;
        this.beans = beans;
    }

    /** What a method of a class asks for, or nothing. Throws if that cannot work. */
    Optional<LockedMethod> find(Method method, Class<?> type) {
        return methods.computeIfAbsent(
                new MethodClassKey(method, type),
                first -> Optional.ofNullable(LockedMethod.of(specific(method, type), type, beans)));
    }

    private static Method specific(Method method, Class<?> type) {
        // The methods of a proxy's class are final, and are those of its interfaces.
        return Proxy.isProxyClass(type) ? method : AopUtils.getMostSpecificMethod(method, type);
    }

    /** Whether any method of a class asks for a lock. Throws if one of them asks for a lock that it cannot have. */
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

    /** Takes the first of the locks, and the others inside: each caller takes several locks in the same order. */
    private @Nullable Object invoke(Call call, List<String> names) throws Exception {
        LockedMethod method = call.method;
        Locks source = call.source;
        String name = names.get(0);
        List<String> others = names.subList(1, names.size());
        // Else it would be taken anew, and what encloses this call would go on under a lock that it had lost.
        long token = EnclosingLocks.tokenOfHandle(source, name);
        if (token != 0) {
            return proceed(call, name, token, others);
        }
        FencedLock lock = source.lock(name, method.options);
        if (lock == null) {
            throw new IllegalStateException("The Locks of @Locked on " + method + ", a "
                    + source.getClass().getName() + ", returned no lock, as a mock does. Use locks that work"
                    + " without Redis in tests: a bean of InMemoryLocks.start().client().");
        }
        // Who has the lock took it before the transaction, or was let in.
        boolean inTransaction = OpenTransactions.isOpenFor(method.method, call.type)
                && !lock.isHeldByCurrentThread()
                && !InnerTransactions.beginsItsOwn(call.invocation, method.method, call.type, beans);
        if (inTransaction && method.isRefusedInTransaction()) {
            throw refused(method, name);
        }
        boolean[] ran = new boolean[1];
        @SuppressWarnings("NullAway") // It does not see that the type argument of the call may be null.
        LockedCall<@Nullable Object, Exception> work = () -> {
            ran[0] = true;
            EnclosingLocks.enter(source, lock);
            return proceedAndLeave(call, name, lock.fencingToken(), others);
        };
        try {
            Duration atLeast = method.atLeast;
            if (atLeast != null && !lock.isHeldByCurrentThread()) {
                return callAtLeast(call, name, others, atLeast, ran);
            }
            return inTransaction ? callUntilCompletion(work, call, lock) : call(work, call, lock);
        } catch (InterruptedException e) {
            if (ran[0] || method.declares(InterruptedException.class)) {
                throw e;
            }
            Thread.currentThread().interrupt();
            throw new LockBusyException(
                    name,
                    "The thread was interrupted while it waited for the lock " + shown(name) + " of " + method,
                    e);
        }
    }

    /** In quotes, without line breaks and control characters: a name may have text of users. */
    private static String shown(String name) {
        return LogFormatUtils.formatValue(name, -1, true);
    }

    private static IllegalStateException refused(LockedMethod method, String name) {
        return new IllegalStateException(
                "@Locked on " + method + " wants the lock " + shown(name) + " inside a transaction"
                        + " that is open already. A lock must be taken before the transaction begins and released after it has"
                        + " been committed, else the next holder reads what was there before. Put @Locked on the method that"
                        + " begins the transaction, or around it; if a proxy around this one begins it, have that"
                        + " proxy made before the lock's; or choose inTransaction = UNLOCK_AFTER_COMPLETION, which keeps"
                        + " the lock until the open transaction has ended.");
    }

    @SuppressWarnings("NullAway") // It does not see that the type argument of the call may be null.
    private static @Nullable Object call(LockedCall<@Nullable Object, Exception> work, Call call, FencedLock lock)
            throws Exception {
        Duration wait = call.method.waitFor;
        if (wait == null) {
            return lock.callWithLock(work);
        }
        LockedResult<@Nullable Object> result = lock.tryCallWithLock(wait, work);
        return result.ran() ? result.get() : busy(call.method, lock.getName());
    }

    private static @Nullable Object callUntilCompletion(
            LockedCall<@Nullable Object, Exception> work, Call call, FencedLock lock) throws Exception {
        Duration wait = call.method.waitFor;
        if (wait == null) {
            lock.lock();
        } else if (!lock.tryLock(wait)) {
            return busy(call.method, lock.getName());
        }
        TransactionEnds.unlockAfterCompletion(lock);
        return work.call();
    }

    /** By a handle, since what keeps the lock afterwards is no thread. */
    private @Nullable Object callAtLeast(Call call, String name, List<String> others, Duration atLeast, boolean[] ran)
            throws Exception {
        LockedMethod method = call.method;
        try {
            // Now: after the work it would be too late. What has no fair locks keeps none.
            FencedLock unused = call.source.fairLock(name);
        } catch (UnsupportedOperationException e) {
            throw new UnsupportedOperationException(
                    "The atLeast of " + method + " needs a lock that is kept by nobody, which a quorum does not offer."
                            + " Use a single server, Sentinel or a cluster for this method, or no atLeast.",
                    e);
        }
        LockHandle acquired = method.waitFor == null
                ? call.source.acquire(name, method.options)
                : call.source.tryAcquire(name, method.waitFor, method.options).orElse(null);
        if (acquired == null) {
            return busy(method, name);
        }
        ran[0] = true;
        try (Kept kept = new Kept(acquired, atLeast)) {
            EnclosingLocks.enter(call.source, kept.handle);
            return proceedAndLeave(call, name, kept.handle.fencingToken(), others);
        }
    }

    /** A lock that stays taken for a time after its method. */
    private record Kept(LockHandle handle, Duration atLeast) implements AutoCloseable {

        @Override
        public void close() {
            try {
                if (!handle.releaseAfter(atLeast)) {
                    handle.ensureHeld();
                }
            } finally {
                handle.close();
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

    private @Nullable Object proceedAndLeave(Call call, String name, long token, List<String> others) throws Exception {
        try {
            return proceed(call, name, token, others);
        } finally {
            EnclosingLocks.leave();
        }
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

    /** Whatever the method declares: waits for work that goes on, as of {@code @Async}; throws if it cannot. */
    private static void awaitEndOf(@Nullable Object result, LockedMethod method, String lock) {
        Object work = result instanceof Optional<?> some ? some.orElse(null) : result;
        if (work instanceof CompletionStage<?> stage) {
            awaitEnd(stage.toCompletableFuture());
        } else if (work instanceof Future<?> future) {
            awaitEnd(future);
        } else if (work != null && LaterResults.isLater(work.getClass())) {
            throw new IllegalStateException("@Locked on " + method + " has returned a "
                    + work.getClass().getName() + ", whose work begins or goes on after the lock " + shown(lock)
                    + " was released. Use Locks.withLockAsync(…) in it; or have it do the work, and return what came"
                    + " of it.");
        }
    }

    private static void awaitEnd(Future<?> work) {
        try {
            Object unused = work.get();
        } catch (ExecutionException | CancellationException e) {
            // Told to whoever has the same object.
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
