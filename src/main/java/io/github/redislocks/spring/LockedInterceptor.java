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
        boolean open = OpenTransactions.isOpen() && !lock.isHeldByCurrentThread();
        boolean onItsOwn = open && OpenTransactions.beginsItsOwn(method.method(), type);
        boolean inTransaction = open && !onItsOwn;
        if (inTransaction && method.isRefusedInTransaction()) {
            throw refused(method, name);
        }
        boolean[] ran = new boolean[1];
        @SuppressWarnings("NullAway") // It does not see that the type argument of the call may be null.
        LockedCall<@Nullable Object, Exception> work = () -> {
            ran[0] = true;
            return onItsOwn
                    ? proceedOnItsOwn(invocation, method, source, lock)
                    : proceed(invocation, method, source, lock);
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
                        + " begins the transaction, or around it; or choose inTransaction = UNLOCK_AFTER_COMPLETION, which keeps"
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

    /** Inside an open transaction, which must be suspended by one that begins inside the lock, and ends there. */
    private static @Nullable Object proceedOnItsOwn(
            MethodInvocation invocation, LockedMethod method, Locks source, FencedLock lock) throws Exception {
        long before = OpenTransactions.countSuspensions();
        Object result;
        try {
            result = proceed(invocation, method, source, lock);
        } catch (Exception e) {
            if (OpenTransactions.countSuspensions() == before) {
                IllegalStateException notItsOwn = notItsOwn(method, lock);
                notItsOwn.addSuppressed(e);
                throw notItsOwn;
            }
            throw e;
        }
        if (OpenTransactions.countSuspensions() == before) {
            throw notItsOwn(method, lock);
        }
        return result;
    }

    private static IllegalStateException notItsOwn(LockedMethod method, FencedLock lock) {
        return new IllegalStateException("@Locked on " + method + " has run under the lock \"" + lock.getName()
                + "\" inside the transaction of another proxy, which would commit it after the lock was released."
                + " So it is rolled back. A lock must be taken before the transaction begins: give what makes that proxy,"
                + " such as a BeanNameAutoProxyCreator, a smaller order, or use @EnableTransactionManagement.");
    }

    private static @Nullable Object proceed(
            MethodInvocation invocation, LockedMethod method, Locks source, FencedLock lock) throws Exception {
        if (method.wantsToken()) {
            method.giveToken(invocation.getArguments(), lock.fencingToken());
        }
        EnclosingLocks.enter(source, lock);
        try {
            Object result = invocation.proceed();
            if (method.mayEndLater() && result instanceof Future<?> work) {
                awaitEnd(work);
            }
            return result;
        } catch (Exception | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new UndeclaredThrowableException(e);
        } finally {
            EnclosingLocks.leave();
        }
    }

    /** Waits for the work of an {@code @Async} method that has returned before its end, as its caller is going to. */
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
