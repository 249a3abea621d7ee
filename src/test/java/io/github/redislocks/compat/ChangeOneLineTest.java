package io.github.redislocks.compat;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.RedisLocks;
import io.github.redislocks.fixture.RedisServers;
import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.stream.IntStream;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The claim of the README, "change one line": {@link Inventory} as it stands, and compiled from the same source in
 * which one line is replaced.
 */
@Timeout(60)
@ParameterizedClass
@ValueSource(strings = {ChangeOneLineTest.JDK, ChangeOneLineTest.OURS})
@Tag("server")
public class ChangeOneLineTest {

    static final String JDK = "    private final Lock lock = new ReentrantLock();";
    static final String OURS = "    private final Lock lock = ChangeOneLineTest.locks().reentrantLock(\"inventory\");";

    private static final String IMPORT = "import java.util.concurrent.locks.ReentrantLock;";
    private static final Path SOURCE =
            Path.of("src", "test", "java", "io", "github", "redislocks", "compat", "Inventory.java");

    @TempDir
    private static Path classes;

    private static RedisLocks locks;
    private static Class<?> changed;

    @Parameter
    private String line;

    /** The one place of an application that makes its locks. */
    public static RedisLocks locks() {
        return locks;
    }

    @BeforeAll
    static void compileOnceMore() throws IOException, ReflectiveOperationException {
        locks = RedisLocks.builder()
                .uri(RedisServers.shared().uri())
                .keyPrefix("compat-" + UUID.randomUUID())
                .build();
        List<String> lines = new ArrayList<>(Files.readAllLines(SOURCE));
        assertThat(lines).containsOnlyOnce(JDK).containsOnlyOnce(IMPORT);
        lines.replaceAll(one -> one.equals(JDK) ? OURS : one);
        // The import that nobody needs any more; compilers do not mind it.
        lines.remove(IMPORT);
        Path source = Files.write(classes.resolve("Inventory.java"), lines);
        String[] arguments = {
            "-d", classes.toString(), "-cp", System.getProperty("java.class.path"), "-proc:none", source.toString()
        };
        assertThat(ToolProvider.getSystemJavaCompiler().run(null, null, null, arguments))
                .isZero();
        changed = new ChildFirst(classes.toUri().toURL()).loadClass(Inventory.class.getName());
    }

    @AfterAll
    static void closeLocks() {
        locks.close();
    }

    /** Finds the changed class before the one that it was made from. */
    private static final class ChildFirst extends URLClassLoader {

        ChildFirst(URL classes) {
            super(new URL[] {classes}, ChangeOneLineTest.class.getClassLoader());
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            return name.equals(Inventory.class.getName()) ? findClass(name) : super.loadClass(name, resolve);
        }
    }

    private Bounded inventory() throws ReflectiveOperationException {
        if (line.equals(JDK)) {
            return new Inventory();
        }
        return (Bounded) changed.getConstructor().newInstance();
    }

    @Test
    void inventory_producersAndConsumers_movesEveryItemOnce() throws Exception {
        Bounded inventory = inventory();
        List<Actor<Void>> producers = new ArrayList<>();
        List<Actor<List<Integer>>> consumers = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            int first = i * 50;
            producers.add(new Actor<Void>(() -> {
                        for (int item = first; item < first + 50; item++) {
                            inventory.put(item);
                        }
                        return null;
                    })
                    .start());
            consumers.add(new Actor<>(() -> {
                        List<Integer> taken = new ArrayList<>();
                        while (taken.size() < 50) {
                            taken.add(inventory.take());
                        }
                        return taken;
                    })
                    .start());
        }
        List<Integer> taken = new ArrayList<>();
        for (Actor<List<Integer>> consumer : consumers) {
            taken.addAll(consumer.result());
        }
        for (Actor<Void> producer : producers) {
            producer.result();
        }
        assertThat(taken)
                .containsExactlyInAnyOrderElementsOf(
                        IntStream.range(0, 200).boxed().toList());
        assertThat(inventory.poll()).isNull();
    }

    @Test
    void inventory_takerInterrupted_isAsBefore() throws Exception {
        Bounded inventory = inventory();
        Actor<Integer> taker = new Actor<>(inventory::take).start();
        await().until(() -> taker.thread.getState() == Thread.State.WAITING);
        taker.thread.interrupt();
        assertThatThrownBy(taker::result).hasCauseInstanceOf(InterruptedException.class);
        inventory.put(7);
        assertThat(inventory.size()).isEqualTo(1);
        assertThat(inventory.poll()).isEqualTo(7);
    }
}
