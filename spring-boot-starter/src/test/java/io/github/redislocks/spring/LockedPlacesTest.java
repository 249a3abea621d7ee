package io.github.redislocks.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.Locks;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.fixture.Moment;
import io.github.redislocks.testkit.InMemoryLocks;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import java.util.concurrent.FutureTask;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.aopalliance.intercept.MethodInterceptor;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.aop.framework.ProxyFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Role;
import org.springframework.core.Ordered;
import org.springframework.core.task.SimpleAsyncTaskExecutor;
import org.springframework.http.ResponseEntity;
import org.springframework.scheduling.annotation.Async;
import org.springframework.scheduling.annotation.EnableAsync;
import org.springframework.web.context.request.async.DeferredResult;
import org.springframework.web.context.request.async.WebAsyncTask;
import org.springframework.web.servlet.mvc.method.annotation.SseEmitter;
import org.springframework.web.servlet.mvc.method.annotation.StreamingResponseBody;

/** {@link Locked} in classes with several methods, on interfaces, and among other proxies. */
@Timeout(60)
class LockedPlacesTest {

    @Configuration(proxyBeanMethods = false)
    static class Config {

        @Bean(destroyMethod = "close")
        InMemoryLocks memory() {
            return InMemoryLocks.start();
        }

        @Bean(destroyMethod = "")
        RedisLocks locks(InMemoryLocks memory) {
            return memory.client();
        }

        @Bean
        @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
        static LockedPostProcessor locked(ObjectProvider<Locks> locks) {
            return new LockedPostProcessor(locks::getObject, Ordered.LOWEST_PRECEDENCE);
        }
    }

    private final AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext();

    @AfterEach
    void stop() {
        context.close();
    }

    private <T> T start(Class<T> type, Class<?> config, Supplier<? extends T> bean) {
        context.register(Config.class, config);
        context.registerBean("subject", type, () -> bean.get());
        context.refresh();
        return context.getBean(type);
    }

    private RedisLocks locks() {
        return context.getBean(RedisLocks.class);
    }

    static class PrivateAmongOthers {
        @Locked("a")
        public void a() {}

        @SuppressWarnings("UnusedMethod")
        @Locked("x")
        private void work() {}

        @Locked("z")
        public void z() {}
    }

    static class FinalAmongOthers {
        @Locked("a")
        public void a() {}

        @Locked("x")
        public final void work() {}

        @Locked("z")
        public void z() {}
    }

    static class StaticAmongOthers {
        @Locked("a")
        public void a() {}

        @Locked("x")
        public static void work() {}

        @Locked("z")
        public void z() {}
    }

    static class WrongTimeAmongOthers {
        @Locked("a")
        public void a() {}

        @Locked(value = "x", waitFor = "soon")
        public void work() {}

        @Locked("z")
        public void z() {}
    }

    /** A class of which one method can have its lock must not hide that another cannot. */
    @ParameterizedTest
    @ValueSource(
            classes = {
                PrivateAmongOthers.class,
                FinalAmongOthers.class,
                StaticAmongOthers.class,
                WrongTimeAmongOthers.class
            })
    void methodThatCannotWork_amongOthersThatCan_failsTheStart(Class<?> type) {
        assertThatThrownBy(() -> start(Object.class, type, Object::new))
                .hasStackTraceContaining(type.getName() + ".work(");
    }

    /** As with transactions: another proxy is there already. */
    @ParameterizedTest
    @ValueSource(
            classes = {
                PrivateAmongOthers.class,
                FinalAmongOthers.class,
                StaticAmongOthers.class,
                WrongTimeAmongOthers.class
            })
    void methodThatCannotWork_behindAnotherProxy_failsTheStart(Class<?> type) {
        assertThatThrownBy(() -> start(Object.class, Object.class, () -> proxied(type)))
                .hasStackTraceContaining(type.getName() + ".work(");
    }

    private static Object proxied(Class<?> type) {
        try {
            ProxyFactory factory =
                    new ProxyFactory(type.getDeclaredConstructor().newInstance());
            factory.setProxyTargetClass(true);
            factory.addAdvice((MethodInterceptor) call -> call.proceed());
            return factory.getProxy();
        } catch (ReflectiveOperationException e) {
            throw new LinkageError("The class has no constructor", e);
        }
    }

    static class WithStage {
        @Locked("x")
        public CompletionStage<Void> work() {
            return CompletableFuture.completedStage(null);
        }
    }

    static class WithPublisher {
        @Locked("x")
        public Flow.Publisher<String> work() {
            return subscriber -> {};
        }
    }

    static class WithCallable {
        @Locked("x")
        public Callable<String> work() {
            return () -> "later";
        }
    }

    static class WithStream {
        @Locked("x")
        public IntStream work() {
            return IntStream.of(1);
        }
    }

    static class WithDeferredResult {
        @Locked("x")
        public DeferredResult<String> work() {
            return new DeferredResult<>();
        }
    }

    static class WithWebAsyncTask {
        @Locked("x")
        public WebAsyncTask<String> work() {
            return new WebAsyncTask<>(() -> "later");
        }
    }

    static class WithEmitter {
        @Locked("x")
        public SseEmitter work() {
            return new SseEmitter();
        }
    }

    static class WithStreamedBody {
        @Locked("x")
        public ResponseEntity<StreamingResponseBody> work() {
            return ResponseEntity.ok(out -> out.write(1));
        }
    }

    static class WithOptionalFuture {
        @Locked("x")
        public Optional<CompletableFuture<Void>> work() {
            return Optional.empty();
        }
    }

    static class Supplying<T> {
        @Locked("x")
        public T work() {
            return null;
        }
    }

    static class WithInheritedFuture extends Supplying<CompletableFuture<Void>> {}

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "io.github.redislocks.spring.LockedPlacesTest$WithStream          | IntStream",
                "io.github.redislocks.spring.LockedPlacesTest$WithDeferredResult  | DeferredResult<String>",
                "io.github.redislocks.spring.LockedPlacesTest$WithWebAsyncTask    | WebAsyncTask<String>",
                "io.github.redislocks.spring.LockedPlacesTest$WithEmitter         | SseEmitter",
                "io.github.redislocks.spring.LockedPlacesTest$WithStreamedBody    | ResponseEntity<StreamingResponseBody>",
                "io.github.redislocks.spring.LockedPlacesTest$WithOptionalFuture  | Optional<CompletableFuture<Void>>",
                "io.github.redislocks.spring.LockedPlacesTest$WithInheritedFuture | CompletableFuture<Void>"
            })
    void resultThatWorksLater_failsTheStart(Class<?> type, String named) {
        assertThatThrownBy(() -> start(Object.class, type, Object::new))
                .hasStackTraceContaining(".work() cannot work: it returns " + named + ", so that")
                .hasStackTraceContaining("FencedLock.callWithHandleAsync");
    }

    /** Of whatever type: what its methods return is known when they have. */
    static class Holding {

        private final Supplier<Object> results;

        Holding(Supplier<Object> results) {
            this.results = results;
        }

        @Locked("x")
        public Object object() {
            return results.get();
        }

        @Locked("x")
        public Optional<Object> optional() {
            return Optional.of(results.get());
        }
    }

    @Test
    void futureThatNoTypeTellsOf_keepsTheLockUntilItsEnd() throws Exception {
        BlockingQueue<CompletableFuture<Object>> begun = new LinkedBlockingQueue<>();
        Holding holding = start(
                Holding.class,
                Object.class,
                () -> new Holding(() -> {
                    CompletableFuture<Object> work = new CompletableFuture<>();
                    begun.add(work);
                    return work.minimalCompletionStage();
                }));
        for (Callable<Object> call : List.<Callable<Object>>of(holding::object, holding::optional)) {
            FutureTask<Object> called = new FutureTask<>(call);
            Thread caller = new Thread(called);
            caller.start();
            CompletableFuture<Object> work = begun.take();
            await().until(() -> caller.getState() == Thread.State.WAITING || !caller.isAlive());
            assertThat(locks().inspect("x").holder()).as("while it works").isPresent();
            work.complete("done");
            assertThat(called.get()).isNotNull();
            assertThat(locks().inspect("x").holder()).isEmpty();
        }
    }

    @Test
    void resultThatWorksLater_andThatNoTypeTellsOf_isRefused() {
        Holding holding = start(Holding.class, Object.class, () -> new Holding(IntStream::empty));
        for (Callable<Object> call : List.<Callable<Object>>of(holding::object, holding::optional)) {
            assertThatThrownBy(call::call)
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("IntPipeline")
                    .hasMessageContaining("FencedLock.callWithHandleAsync");
        }
    }

    static class WithPlainResults {
        @Locked("x")
        public ResponseEntity<List<String>> entity() {
            return ResponseEntity.ok(List.of());
        }

        @Locked("x")
        public Object object() {
            return "";
        }

        @Locked("x")
        public <T> Map<String, T> map() {
            return Map.of();
        }
    }

    @Test
    void resultThatIsThere_isLetThrough() {
        WithPlainResults plain = start(WithPlainResults.class, Object.class, WithPlainResults::new);
        assertThat(plain.entity().getBody()).isEmpty();
        assertThat(plain.object()).isEqualTo("");
        assertThat(plain.map()).isEmpty();
    }

    static class WithNegativeWait {
        @Locked(value = "x", waitFor = "-1s")
        public void work() {}
    }

    @ParameterizedTest
    @ValueSource(classes = {WithStage.class, WithPublisher.class, WithCallable.class, WithNegativeWait.class})
    void methodThatReturnsBeforeItsWork_orWaitsForNoTime_failsTheStart(Class<?> type) {
        assertThatThrownBy(() -> start(Object.class, type, Object::new))
                .hasStackTraceContaining(type.getName() + ".work(");
    }

    interface Shipping {
        @Locked("order:#{#p0}")
        long ship(long id, @FencingToken long token);
    }

    static class Warehouse implements Shipping {
        @Override
        public long ship(long id, long token) {
            return token;
        }
    }

    @Test
    void token_ofAParameterOfTheInterface_isGiven() {
        Shipping shipping = start(Shipping.class, Object.class, Warehouse::new);
        assertThat(shipping.ship(1, -1)).isPositive();
    }

    static class Depot {
        public long ship(long id, long token) {
            return token;
        }
    }

    static class Branch extends Depot implements Shipping {}

    @Test
    void methodOfASuperclass_thatOnlyTheClassHasFromItsInterface_isLocked() {
        Shipping shipping = start(Shipping.class, Object.class, Branch::new);
        assertThat(shipping.ship(1, -1)).isPositive();
    }

    @Test
    void methodOfASuperclass_thatTheInterfaceOfAProxyHas_isLocked() {
        Shipping shipping = start(Shipping.class, Object.class, () -> {
            ProxyFactory factory = new ProxyFactory(new Branch());
            factory.addAdvice((MethodInterceptor) call -> call.proceed());
            return (Shipping) factory.getProxy();
        });
        assertThat(shipping.ship(1, -1)).isPositive();
    }

    interface Loading<T> {
        @Locked("order:#{#p0}")
        long ship(T id, @FencingToken long token);
    }

    static class Pier {
        public long ship(String id, long token) {
            return token;
        }
    }

    static class Dock extends Pier implements Loading<String> {}

    @Test
    void methodOfASuperclass_thatOnlyTheClassHasFromAGenericInterface_isLocked() {
        @SuppressWarnings("unchecked")
        Loading<String> loading = start(Loading.class, Object.class, Dock::new);
        assertThat(loading.ship("a", -1)).isPositive();
    }

    static class FinalDepot {
        public final long ship(long id, long token) {
            return token;
        }
    }

    static class FinalBranch extends FinalDepot implements Shipping {}

    @Test
    void finalMethodOfASuperclass_thatOnlyTheClassHasFromItsInterface_failsTheStart() {
        assertThatThrownBy(() -> start(Shipping.class, Object.class, FinalBranch::new))
                .hasStackTraceContaining("it is final, and Spring");
    }

    interface Heading<T> {
        long ship(T id, @FencingToken long token);
    }

    static class Harbour implements Heading<String> {
        @Override
        @Locked("order:#{#p0}")
        public long ship(String id, long token) {
            return token;
        }
    }

    @Test
    void token_ofAParameterOfAGenericInterface_isGiven() {
        @SuppressWarnings("unchecked")
        Heading<String> heading = start(Heading.class, Object.class, Harbour::new);
        assertThat(heading.ship("a", -1)).isPositive();
    }

    /** As a client of HTTP, or a mapper of a database: an interface that has no class. */
    @Test
    void interfaceWithoutAClass_isLocked() {
        Shipping shipping = start(Shipping.class, Object.class, () -> (Shipping) Proxy.newProxyInstance(
                Shipping.class.getClassLoader(), new Class<?>[] {Shipping.class}, (proxy, method, arguments) -> {
                    assertThat(locks().reentrantLock("order:7").isHeldByCurrentThread())
                            .isTrue();
                    return arguments[1];
                }));
        assertThat(shipping.ship(7, -1)).isPositive();
    }

    /** As a repository of Spring Data: the class behind the proxy does not have the methods of the interface. */
    @Test
    void interfaceOfAProxy_whoseTargetDoesNotImplementIt_isLocked() {
        Shipping shipping = start(Shipping.class, Object.class, () -> {
            ProxyFactory factory = new ProxyFactory();
            factory.setTarget(new Object());
            factory.setInterfaces(Shipping.class);
            factory.addAdvice((MethodInterceptor) call -> {
                assertThat(locks().reentrantLock("order:7").isHeldByCurrentThread())
                        .isTrue();
                return call.getArguments()[1];
            });
            return (Shipping) factory.getProxy();
        });
        assertThat(shipping.ship(7, -1)).isPositive();
    }

    interface Work {
        @Locked("work")
        void work();
    }

    static class Interrupted implements Work {
        @Override
        public void work() {
            LockedPlacesTest.<RuntimeException>throwAny(new InterruptedException("the work was interrupted"));
        }
    }

    @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"})
    private static <E extends Throwable> void throwAny(Throwable thrown) throws E {
        throw (E) thrown;
    }

    @Test
    void interruptOfTheWork_isNotTakenForABusyLock() {
        Work work = start(Work.class, Object.class, () -> {
            ProxyFactory factory = new ProxyFactory(new Interrupted());
            factory.setInterfaces(Work.class);
            factory.addAdvice((MethodInterceptor) call -> call.proceed());
            return (Work) factory.getProxy();
        });
        assertThatThrownBy(work::work)
                .isNotInstanceOf(LockBusyException.class)
                .hasRootCauseMessage("the work was interrupted");
    }

    /** The processor of {@code @Async} comes before that of {@link Locked}. */
    @Configuration(proxyBeanMethods = false)
    @EnableAsync(order = Ordered.HIGHEST_PRECEDENCE, proxyTargetClass = true)
    static class AsyncFirst {
        @Bean
        SimpleAsyncTaskExecutor taskExecutor() {
            return new SimpleAsyncTaskExecutor("worker");
        }
    }

    @Configuration(proxyBeanMethods = false)
    @EnableAsync(proxyTargetClass = true)
    static class AsyncAsUsual {
        @Bean
        SimpleAsyncTaskExecutor taskExecutor() {
            return new SimpleAsyncTaskExecutor("worker");
        }
    }

    static class Job {
        final CompletableFuture<Thread> worker = new CompletableFuture<>();

        @Async
        @Locked("job")
        public CompletableFuture<Void> later(CompletableFuture<Void> work) {
            worker.complete(Thread.currentThread());
            return work;
        }

        @Async
        @Locked("job")
        public CompletableFuture<Boolean> held(Supplier<Boolean> held) {
            return CompletableFuture.completedFuture(held.get());
        }
    }

    @ParameterizedTest
    @ValueSource(classes = {AsyncFirst.class, AsyncAsUsual.class})
    void async_runsFirst_inWhateverOrder(Class<?> config) {
        Job job = start(Job.class, config, Job::new);
        assertThat(job.held(() -> locks().reentrantLock("job").isHeldByCurrentThread())
                        .join())
                .as("held by the thread that works")
                .isTrue();
    }

    static class Later {
        @Locked("job")
        public CompletableFuture<Boolean> held(Supplier<Boolean> held) {
            return CompletableFuture.completedFuture(held.get());
        }
    }

    @Async
    static class InheritedLater extends Later {}

    @Test
    void async_ofTheClassThatInherits_isKnown() {
        Later later = start(Later.class, AsyncAsUsual.class, InheritedLater::new);
        assertThat(later.held(() -> locks().reentrantLock("job").isHeldByCurrentThread())
                        .join())
                .isTrue();
    }

    @Test
    void async_workThatIsNotDone_keepsTheLock() throws Exception {
        Job real = new Job();
        Job job = start(Job.class, AsyncAsUsual.class, () -> real);
        CompletableFuture<Void> work = new CompletableFuture<>();
        CompletableFuture<Void> all = job.later(work);
        Thread worker = real.worker.get();
        while (worker.getState() != Thread.State.WAITING && worker.isAlive()) {
            Moment.pass();
        }
        assertThat(locks().inspect("job").holder()).as("while it works").isPresent();
        work.complete(null);
        all.get();
        while (locks().inspect("job").holder().isPresent()) {
            Moment.pass();
        }
    }
}
