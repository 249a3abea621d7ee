package io.github.redislocks.testkit;

import io.github.redislocks.Locks;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisLocksBuilder;
import java.util.Objects;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;

/**
 * An extension of JUnit Jupiter that passes an {@link InMemoryLocks} to tests, or the first client of one as
 * {@link Locks} or {@link RedisLocks}. The extension closes the {@link InMemoryLocks} after the test.
 *
 * <pre>{@code
 * @ExtendWith(InMemoryLocksExtension.class)
 * class ShopTest {
 *     @Test
 *     void sell_lockIsLost_stops(InMemoryLocks memory, RedisLocks locks) { ... }
 * }
 * }</pre>
 *
 * <p>Each test has its own InMemoryLocks, which all parameters of the test and of its {@code @BeforeEach} share. If a
 * constructor or {@code @BeforeAll} has such a parameter, all tests of the class share one InMemoryLocks. To change
 * settings, make the extension by {@link #InMemoryLocksExtension(UnaryOperator)} in a field with
 * {@code @RegisterExtension}.
 *
 * @since 0.1.0
 */
public final class InMemoryLocksExtension implements ParameterResolver, AfterEachCallback, AfterAllCallback {

    private static final ExtensionContext.Namespace NAMESPACE =
            ExtensionContext.Namespace.create(InMemoryLocksExtension.class);

    private final UnaryOperator<RedisLocksBuilder> settings;

    /** Makes an extension whose clients have default settings. */
    public InMemoryLocksExtension() {
        this(UnaryOperator.identity());
    }

    /** Makes an extension whose clients have the given settings, as in {@link InMemoryLocks#start(UnaryOperator)}. */
    public InMemoryLocksExtension(UnaryOperator<RedisLocksBuilder> settings) {
        this.settings = Objects.requireNonNull(settings, "settings");
    }

    @Override
    public boolean supportsParameter(ParameterContext parameter, ExtensionContext test) {
        Class<?> type = parameter.getParameter().getType();
        return type == InMemoryLocks.class || type == RedisLocks.class || type == Locks.class;
    }

    @Override
    public Object resolveParameter(ParameterContext parameter, ExtensionContext test) {
        ExtensionContext.Store store = test.getStore(NAMESPACE);
        InMemoryLocks known = store.get(InMemoryLocks.class, InMemoryLocks.class);
        if (known == null) {
            known = InMemoryLocks.start(settings);
            store.put(InMemoryLocks.class, known);
        }
        return parameter.getParameter().getType() == InMemoryLocks.class ? known : known.client();
    }

    @Override
    public void afterEach(ExtensionContext test) {
        close(test);
    }

    @Override
    public void afterAll(ExtensionContext test) {
        close(test);
    }

    private static void close(ExtensionContext test) {
        // The store of a test also shows an object that all tests of the class share, but remove() does not remove it.
        @Nullable InMemoryLocks mine = test.getStore(NAMESPACE).remove(InMemoryLocks.class, InMemoryLocks.class);
        if (mine != null) {
            mine.close();
        }
    }
}
