package io.github.redislocks;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.LossPage.Happening;
import io.github.redislocks.LossPage.Mode;
import io.github.redislocks.testkit.twin.InMemoryRedis;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Tries all ways to hold a lock with all that can happen to it, as {@code docs/losses.md} says, on moved time. */
@Timeout(120)
class LossTableTest extends FakeTime implements LossScene.Ground {

    private static final int STEPS = 100;
    private static final long STEP_NANOS = 5_000_000;

    private final Map<RedisLocks, InMemoryRedis> servers = new HashMap<>();

    static Stream<Arguments> cells() {
        return Arrays.stream(Happening.values())
                .flatMap(what -> Arrays.stream(Mode.values()).map(mode -> Arguments.of(what, mode)))
                .filter(cell -> LossPage.expected((Happening) cell.get()[0], (Mode) cell.get()[1])
                        .isPresent());
    }

    @ParameterizedTest
    @MethodSource("cells")
    void owners_inEachWay_areToldAsThePageSays(Happening what, Mode mode) {
        new LossScene(this, what, mode, LossPage.expected(what, mode).orElseThrow()).run();
    }

    @Test
    void publicMethods_thatTakeALock_areRowsOfThePage() throws Exception {
        assertThat(LossPage.rows().stream()
                        .flatMap(row -> row.ways().stream())
                        .map(Way::text)
                        .filter(call -> !call.contains(" then ")))
                .containsExactlyInAnyOrderElementsOf(Way.api(exported()).toList());
    }

    /** The public types of the exported packages. */
    private static List<Class<?>> exported() throws Exception {
        List<Class<?>> types = new ArrayList<>();
        Path classes = Path.of(
                Locks.class.getProtectionDomain().getCodeSource().getLocation().toURI());
        for (String line : Files.readAllLines(Path.of("src/main/java/module-info.java"))) {
            if (line.strip().startsWith("exports ")) {
                String name = line.strip().substring(8).replace(";", "");
                try (Stream<Path> files = Files.list(classes.resolve(name.replace('.', '/')))) {
                    for (Path file : files.filter(each -> each.toString().endsWith(".class"))
                            .toList()) {
                        Class<?> type = Class.forName(
                                name + '.' + file.getFileName().toString().replace(".class", ""),
                                false,
                                Locks.class.getClassLoader());
                        if (Modifier.isPublic(type.getModifiers())) {
                            types.add(type);
                        }
                    }
                }
            }
        }
        return types;
    }

    @Override
    public RedisLocks connect(UnaryOperator<RedisLocks.Builder> settings) {
        InMemoryRedis mine = server.another();
        RedisLocks made = settings.apply(RedisLocks.builder()).build(mine, clock);
        servers.put(made, mine);
        clients.add(made);
        return made;
    }

    @Override
    public void pass(long millis, BooleanSupplier enough) {
        // Time does not wait for the threads that read messages, so it must not run away from them.
        for (int i = 0; i < STEPS && !enough.getAsBoolean(); i++) {
            super.pass(millis / STEPS);
            if (!enough.getAsBoolean()) {
                LockSupport.parkNanos(STEP_NANOS);
            }
        }
    }

    @Override
    public void pass(long millis) {
        super.pass(millis);
    }

    @Override
    public void passUntil(BooleanSupplier condition) {
        super.passUntil(condition);
    }

    @Override
    public long nanos() {
        return clock.nanoTime();
    }

    @Override
    public void stall(long millis) {
        clock.advanceMillis(millis);
    }

    @Override
    public void delete(String name) {
        server.del("redis-locks:{" + name + "}");
    }

    @Override
    public void flush() {
        server.flushAll();
    }

    @Override
    public void away(RedisLocks client, boolean away) {
        servers.get(client).down(away);
        servers.get(client).dropSubscriptions();
    }

    @Override
    public boolean isTaken(String name) {
        return !server.hash("redis-locks:{" + name + "}").isEmpty();
    }

    @Override
    void close() {
        clients.forEach(client -> whileTimePasses(() -> true, client::close));
        super.close();
    }
}
