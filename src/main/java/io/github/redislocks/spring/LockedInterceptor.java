package io.github.redislocks.spring;

import io.github.redislocks.FencedLock;
import io.github.redislocks.LockedCall;
import io.github.redislocks.LockedResult;
import io.github.redislocks.Locks;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.lang.reflect.UndeclaredThrowableException;
import java.time.Duration;
import java.util.LinkedHashSet;
import java.util.Optional;
import java.util.Set;
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
import org.springframework.util.ClassUtils;
import org.springframework.util.ReflectionUtils;

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
                first -> Optional.ofNullable(LockedMethod.of(specific(method, type), type, this::resolved)));
    }

    private static Method specific(Method method, Class<?> type) {
        // The methods of a proxy's class are final, and are those of its interfaces.
        return Proxy.isProxyClass(type) ? method : AopUtils.getMostSpecificMethod(method, type);
    }

    /** Throws if any method of a class asks for a lock that it cannot have. */
    void check(Class<?> type) {
        Set<Class<?>> all = new LinkedHashSet<>(ClassUtils.getAllInterfacesForClassAsSet(type));
        if (!Proxy.isProxyClass(type)) {
            all.add(ClassUtils.getUserClass(type));
        }
        for (Class<?> each : all) {
            for (Method method : ReflectionUtils.getAllDeclaredMethods(each)) {
                Optional<LockedMethod> unused = find(method, type);
            }
        }
    }

    private String resolved(String text) {
        return String.valueOf(beans.resolveEmbeddedValue(text));
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
                target == null ? type : target, method.method(), invocation.getArguments(), names);
        context.setBeanResolver(new BeanFactoryResolver(beans));
        String name = method.lockName(context);
        Locks source = locks.get();
        FencedLock lock = source.lock(name, method.options());
        // Else it would be taken anew, and what encloses this call would go on under a lock that it had lost.
        EnclosingLocks.ensureHeld(source, lock);
        // Who has the lock took it before the transaction, or was let in.
        boolean inTransaction = OpenTransactions.isOpenFor(method.method(), type)
                && !lock.isHeldByCurrentThread()
                && !OpenTransactions.beginsItsOwn(invocation, this, method.method(), type, beans);
        if (inTransaction && method.isRefusedInTransaction()) {
            throw refused(method, name);
        }
        boolean[] ran = new boolean[1];
        @SuppressWarnings("NullAway") // It does not see that the type argument of the call may be null.
        LockedCall<@Nullable Object, Exception> work = () -> {
            ran[0] = true;
            return proceed(invocation, method, source, lock);
        };
        try {
            return inTransaction ? callUntilCompletion(work, method, lock) : call(work, method, lock);
        } catch (InterruptedException e) {
            if (ran[0] || method.declares(InterruptedException.class)) {
                throw e;
            }
            Thread.currentThread().interrupt();
            throw new LockBusyException(
                    name, "The thread was interrupted while it waited for the lock \"" + name + "\" of " + method, e);
        }
    }

    private static IllegalStateException refused(LockedMethod method, String name) {
        return new IllegalStateException(
                "@Locked on " + method + " wants the lock \"" + name + "\" inside a transaction"
                        + " that is open already. A lock must be taken before the transaction begins and released after it has"
                        + " been committed, else the next holder reads what was there before. Put @Locked on the method that"
                        + " begins the transaction, or around it; if a proxy around this one begins it, give what makes that"
                        + " proxy, such as a BeanNameAutoProxyCreator, a smaller order; or choose inTransaction = UNLOCK_AFTER_COMPLETION, which keeps"
                        + " the lock until the open transaction has ended.");
    }

    @SuppressWarnings("NullAway") // It does not see that the type argument of the call may be null.
    private static @Nullable Object call(
            LockedCall<@Nullable Object, Exception> work, LockedMethod method, FencedLock lock) throws Exception {
        Duration wait = method.waitFor();
        if (wait == null) {
            return lock.callWithLock(work);
        }
        LockedResult<@Nullable Object> result = lock.tryCallWithLock(wait, work);
        return result.ran() ? result.get() : busy(method, lock);
    }

    private static @Nullable Object callUntilCompletion(
            LockedCall<@Nullable Object, Exception> work, LockedMethod method, FencedLock lock) throws Exception {
        Duration wait = method.waitFor();
        if (wait == null) {
            lock.lock();
        } else if (!lock.tryLock(wait)) {
            return busy(method, lock);
        }
        OpenTransactions.unlockAfterCompletion(lock);
        return work.call();
    }

    private static @Nullable Object busy(LockedMethod method, FencedLock lock) {
        if (method.isSkipped()) {
            return method.skipped();
        }
        throw new LockBusyException(
                lock.getName(),
                "The lock \"" + lock.getName() + "\" of " + method + " was busy for " + method.waitFor(),
                null);
    }

    private static @Nullable Object proceed(
            MethodInvocation invocation, LockedMethod method, Locks source, FencedLock lock) throws Exception {
        if (method.wantsToken()) {
            method.giveToken(invocation.getArguments(), lock.fencingToken());
        }
        EnclosingLocks.enter(source, lock);
        try {
            Object result = invocation.proceed();
            awaitEndOf(result, method, lock);
            return result;
        } catch (Exception | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new UndeclaredThrowableException(e);
        } finally {
            EnclosingLocks.leave();
        }
    }

    /** Whatever the method declares: waits for work that goes on, as of {@code @Async}; throws if it cannot. */
    private static void awaitEndOf(@Nullable Object result, LockedMethod method, FencedLock lock) {
        Object work = result instanceof Optional<?> some ? some.orElse(null) : result;
        if (work instanceof CompletionStage<?> stage) {
            awaitEnd(stage.toCompletableFuture());
        } else if (work instanceof Future<?> future) {
            awaitEnd(future);
        } else if (work != null && LaterResults.isLater(work.getClass())) {
            throw new IllegalStateException("@Locked on " + method + " has returned a "
                    + work.getClass().getName() + ", whose work begins or goes on after the lock \"" + lock.getName()
                    + "\" was released. Use Locks.withLockAsync(…) in it; or have it do the work, and return what came"
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
