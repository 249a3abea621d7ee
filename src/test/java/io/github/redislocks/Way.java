package io.github.redislocks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.github.redislocks.shedlock.RedisLocksProvider;
import io.github.redislocks.spring.LockedTransactions;
import io.github.redislocks.spring.integration.RedisLocksRegistry;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.Collection;
import java.util.Date;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;
import org.jspecify.annotations.Nullable;
import org.springframework.integration.support.locks.DistributedLock;
import org.springframework.transaction.support.TransactionOperations;

/**
 * A way to come to hold a lock: a public method that takes one, or several, one after the other. It is called by
 * reflection, so that no way is forgotten; what its parameters mean follows from their types.
 */
record Way(String text, List<Method> calls) {

    private static final Duration WAIT = Duration.ofSeconds(9);
    static final Duration LEASE = Duration.ofSeconds(20);

    /**
     * The types whose methods take locks, and how to get an object of each. Inherited methods belong to the supertype.
     */
    private static final Map<Class<?>, Function<Site, Object>> TYPES = Map.of(
            Locks.class,
            Site::locks,
            FencedLock.class,
            Site::lock,
            MultiLock.class,
            site -> site.locks().multiLock(site.names(2).toArray(new String[0])),
            Condition.class,
            Site::condition,
            DistributedLock.class,
            site -> new RedisLocksRegistry(site.locks()).obtain(site.name()),
            RedisLocksRegistry.class,
            site -> new RedisLocksRegistry(site.locks()),
            RedisLocksProvider.class,
            site -> new RedisLocksProvider(site.locks()),
            LockedTransactions.class,
            site -> new LockedTransactions(site.locks(), TransactionOperations.withoutTransaction()),
            RedisLocks.class,
            Site::locks,
            RedisReentrantLock.class,
            Site::lock);

    /** The methods of these that take no lock: they make, end, ask, or lengthen what is held already. */
    private static final Set<String> TAKES_NONE = Set.of(("reentrantLock fairLock lock(String,LockOptions) multiLock"
                    + " newCondition obtain fencedLock connect quorum builder close unlock unlockAfterCompletion signal"
                    + " signalAll expireUnusedOlderThan renewLock clientId isClosed inspect getName fencingToken"
                    + " remainingLease ensureHeld previousHolderLost getHoldCount isHeldByCurrentThread isLocked isFair"
                    + " forceUnlock names countHeld countResident countLastTokens countWaiting countRetries"
                    + " countConnections held list waitedFor getOwner getQueueLength getQueuedThreads"
                    + " getWaitQueueLength getWaitingThreads hasQueuedThread hasQueuedThreads hasWaiters"
                    + " setRenewalTaskScheduler toString")
            .split(" "));
    /** Names that suggest a way in any other public type, and the methods that only sound like one. */
    private static final String TAKES = "(?i)(try)?(lock|acquire|take|enter|hold)(all|async|interruptibly)?"
            + "|(try)?(call|run)?with(lock|handle)\\w*|lead\\w*|execute\\w*";

    private static final Set<String> NAMED_ALIKE =
            Set.of("LeaderOptions.lock(LockOptions)", "LeaderWork.lead(LeaderTerm)");

    /** Where a way is tried. */
    record Site(RedisLocks locks, RedisLocks rival, String name, LockOptions options, int many) {

        RedisReentrantLock lock() {
            return locks.lock(name, options);
        }

        List<String> names(int count) {
            return IntStream.range(0, count)
                    .mapToObj(i -> i == 0 ? name : name + " and " + i)
                    .toList();
        }

        /** Returns a Condition that the rival signals once; the calling thread holds the lock then. */
        private Condition condition() {
            lock().lock();
            RedisReentrantLock theirs = rival.reentrantLock(name);
            new Thread(() -> theirs.runWithLock(theirs.newCondition("c")::signalAll)).start();
            return lock().newCondition("c");
        }
    }

    /** The queries and operations of an owner during its possession; null where a way does not offer one. */
    record Asked(
            @Nullable BooleanSupplier isHeld,
            @Nullable Runnable ensureHeld,
            @Nullable Supplier<Duration> remaining,
            @Nullable Supplier<CompletionStage<LockLost>> lost,
            @Nullable Runnable keep,
            boolean ofThread) {

        static Asked of(Object held, boolean ofThread) {
            if (held instanceof FencedLock lock) {
                return new Asked(
                        lock::isHeldByCurrentThread, lock::ensureHeld, lock::remainingLease, null, null, ofThread);
            } else if (held instanceof MultiLock lock) {
                return new Asked(
                        lock::isHeldByCurrentThread, lock::ensureHeld, lock::remainingLease, null, null, ofThread);
            } else if (held instanceof LockHandle one) {
                Runnable keep = () -> one.releaseAfter(LEASE);
                return new Asked(one::isHeld, one::ensureHeld, one::remainingLease, one::lost, keep, false);
            } else if (held instanceof MultiLockHandle all) {
                return new Asked(all::isHeld, all::ensureHeld, all::remainingLease, all::lost, null, false);
            } else if (held instanceof LeaderTerm term) {
                Supplier<CompletionStage<LockLost>> stopping =
                        () -> term.stopping().thenApply(loss -> loss.orElse(null));
                return new Asked(term::isHeld, term::ensureHeld, term::remainingLease, stopping, null, false);
            }
            return new Asked(null, null, null, null, null, false);
        }
    }

    /** The time of the possession. Returns whether to release the lock: false if the thread just ends. */
    interface Inside {
        boolean run(Asked asked);
    }

    /** All methods of the public API that take a lock. */
    static Stream<String> api(Collection<Class<?>> exported) {
        return Stream.concat(TYPES.keySet().stream(), exported.stream())
                .distinct()
                .flatMap(Way::taking)
                .filter(call -> !NAMED_ALIKE.contains(call));
    }

    private static Stream<String> taking(Class<?> type) {
        boolean all = TYPES.containsKey(type);
        return Arrays.stream(all ? type.getMethods() : type.getDeclaredMethods())
                .filter(method ->
                        Modifier.isPublic(method.getModifiers()) && method.getDeclaringClass() != Object.class)
                .filter(method -> all
                        ? !TAKES_NONE.contains(method.getName()) && !TAKES_NONE.contains(signature(method))
                        : method.getName().matches(TAKES))
                .filter(method -> TYPES.keySet().stream()
                        .filter(other -> other != type && other.isAssignableFrom(type))
                        .flatMap(other -> Arrays.stream(other.getMethods()))
                        .noneMatch(other -> signature(other).equals(signature(method))))
                .map(method -> type.getSimpleName() + '.' + signature(method));
    }

    private static String signature(Method method) {
        return Arrays.stream(method.getParameterTypes())
                .map(Class::getSimpleName)
                .collect(Collectors.joining(",", method.getName() + '(', ")"));
    }

    /** Returns the way with a text such as {@code FencedLock.lock() then FencedLock.lock(Duration)}. */
    static Way of(String text) {
        return new Way(
                text, Arrays.stream(text.split(" then ")).map(Way::method).toList());
    }

    private static Method method(String call) {
        return TYPES.keySet().stream()
                .flatMap(type -> Arrays.stream(type.getMethods())
                        .filter(method -> call.equals(type.getSimpleName() + '.' + signature(method))))
                .findAny()
                .orElseThrow(() -> new AssertionError("There is no " + call));
    }

    private Class<?> type() {
        return TYPES.keySet().stream()
                .filter(type -> text.startsWith(type.getSimpleName() + '.'))
                .findAny()
                .orElseThrow();
    }

    /** Comes to hold the lock of a site, stays inside as long as that lasts, and releases the lock. */
    void hold(Site site, Inside inside) throws Throwable {
        Object subject = TYPES.get(type()).apply(site);
        Work work = new Work(site, inside);
        Object result = null;
        for (Method call : calls) {
            result = work.call(call, subject);
            assertThat(subject instanceof Condition || !Boolean.FALSE.equals(result))
                    .as(text)
                    .isTrue();
        }
        Object held = result instanceof Optional<?> optional ? optional.orElseThrow() : result;
        if (work.acts) {
            work.end(held);
        } else if (held instanceof CompletableFuture<?> future) {
            release(future.join(), inside);
        } else if (subject instanceof Lock || subject instanceof Condition) {
            Lock lock = subject instanceof Lock one ? one : site.lock();
            if (inside.run(Asked.of(lock instanceof DistributedLock ? site.lock() : lock, true))) {
                unlock(lock);
            }
        } else {
            release(held, inside);
        }
    }

    /** Calls of methods, and the action that is handed to the last. */
    private static final class Work implements InvocationHandler {

        private final Site site;
        private final Inside inside;
        private final CompletableFuture<Object> given = new CompletableFuture<>();
        private final CompletableFuture<Boolean> done = new CompletableFuture<>();
        private Class<?> returned = void.class;
        boolean acts;

        Work(Site site, Inside inside) {
            this.site = site;
            this.inside = inside;
        }

        @Nullable
        Object call(Method method, Object subject) throws Throwable {
            returned = method.getReturnType();
            Object[] arguments = IntStream.range(0, method.getParameterCount())
                    .mapToObj(i -> argument(method.getName(), i, method.getParameterTypes()[i]))
                    .toArray();
            try {
                return method.invoke(subject, arguments);
            } catch (InvocationTargetException e) {
                throw e.getCause();
            }
        }

        private Object argument(String method, int index, Class<?> type) {
            if (type == String.class || type == Object.class) {
                return site.name();
            } else if (type == Collection.class) {
                return site.names(method.startsWith("try") ? 2 : site.many());
            } else if (type == LockOptions.class) {
                return site.options();
            } else if (type == LeaderOptions.class) {
                return LeaderOptions.defaults().lock(site.options());
            } else if (type == LockConfiguration.class) {
                return new LockConfiguration(Instant.now(), site.name(), Duration.ofHours(1), Duration.ZERO);
            } else if (type == Duration.class) {
                return method.startsWith("lock") || (method.equals("tryLock") && index == 1) ? LEASE : WAIT;
            } else if (type == long.class) {
                return 9L;
            } else if (type == TimeUnit.class) {
                return method.equals("await") ? TimeUnit.MILLISECONDS : TimeUnit.SECONDS;
            } else if (type == Date.class) {
                return Date.from(Instant.EPOCH);
            }
            assertThat(type.isInterface())
                    .as("what a %s of %s means", type, method)
                    .isTrue();
            acts = true;
            return Proxy.newProxyInstance(
                    type.getClassLoader() == null ? Way.class.getClassLoader() : type.getClassLoader(),
                    new Class<?>[] {type},
                    this);
        }

        /** The action. One that is not to block is over when the owner says so, on a thread of its own. */
        @Override
        public Object invoke(Object proxy, Method method, Object @Nullable [] arguments) {
            Object held = arguments == null ? site.lock() : arguments[0];
            boolean async = returned == CompletableFuture.class || returned == Leadership.class;
            if (!async) {
                given.complete(inside.run(Asked.of(held, false)));
                return true;
            }
            given.complete(held);
            return returned == Leadership.class ? done.join() : done;
        }

        void end(Object result) throws Throwable {
            if (result instanceof CompletableFuture<?> future) {
                CompletableFuture.anyOf(given, future).join();
                inside.run(Asked.of(given.join(), false));
                done.complete(true);
                try {
                    future.join();
                } catch (CompletionException e) {
                    throw e.getCause();
                }
            } else if (result instanceof Leadership leadership) {
                inside.run(Asked.of(given.join(), false));
                leadership.closeAsync();
                done.complete(true);
                leadership.close();
            } else {
                assertThat(given).as("the action ran").isDone();
            }
        }
    }

    private static void release(Object held, Inside inside) throws Exception {
        inside.run(Asked.of(held, false));
        if (held instanceof SimpleLock lock) {
            lock.unlock();
        } else {
            ((AutoCloseable) held).close();
        }
    }

    /** Each unlock has to tell of a loss. */
    private void unlock(Lock lock) {
        for (int i = 1; i < calls.size(); i++) {
            Throwable thrown = catchThrowable(lock::unlock);
            assertThat(thrown instanceof LockLostException).isNotEqualTo(((FencedLock) lock).isHeldByCurrentThread());
        }
        lock.unlock();
    }
}
