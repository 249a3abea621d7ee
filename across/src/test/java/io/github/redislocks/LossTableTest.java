package io.github.redislocks;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.Way.Mode;
import io.github.redislocks.fixture.Artifacts;
import io.github.redislocks.shedlock.RedisLocksProvider;
import io.github.redislocks.spring.LockedTransactions;
import io.github.redislocks.spring.integration.RedisLocksRegistry;
import io.github.redislocks.testkit.twin.InMemoryRedis;
import java.io.IOException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.UnaryOperator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.integration.support.locks.DistributedLock;
import org.springframework.util.ClassUtils;

/**
 * Tries all ways to hold a lock with all that can happen to it, on moved time. {@code docs/losses.md} shows the table;
 * {@code -Dlosses.write=true} writes it there.
 */
@Timeout(120)
@Tag("once")
class LossTableTest extends FakeTime implements LossScene.Ground {

    private static final int STEPS = 100;
    private static final long STEP_NANOS = 5_000_000;

    /** The types whose methods take locks, each before its subtypes, and those of their methods that take none. */
    private static final List<Class<?>> TYPES = List.of(
            Locks.class,
            FencedLock.class,
            MultiLock.class,
            Condition.class,
            DistributedLock.class,
            RedisLocksRegistry.class,
            RedisLocksProvider.class,
            LockedTransactions.class,
            RedisLocks.class,
            RedisReentrantLock.class,
            RedisReadLock.class,
            Permits.class);

    private static final Set<String> TAKES_NONE = Set.of(("reentrantLock multiLock"
                    + " newCondition obtain fencedLock connect quorum builder close unlock unlockAfterCompletion signal"
                    + " signalAll expireUnusedOlderThan renewLock clientId isClosed inspect getName fencingToken"
                    + " remainingLease ensureHeld previousHolderLost getHoldCount isHeldByCurrentThread isLocked isFair"
                    + " forceUnlock names countHeld countResident countLastTokens countWaitingCalls countRetries"
                    + " countConnections countRead countPermits heldNames list listPermits"
                    + " waitedForNames getOwner getQueueLength getQueuedThreads"
                    + " getWaitQueueLength getWaitingThreads hasQueuedThread hasQueuedThreads hasWaiters"
                    + " setRenewalTaskScheduler toString permits readWriteLock name size available resize version")
            .split(" "));
    /** Names that suggest a way in any other public type, and the methods that only sound like one. */
    private static final String TAKES = "(?i)(try)?(lock|acquire|take|enter|hold)(all|async|interruptibly)?"
            + "|(try)?(call|run)?with(lock|handle)\\w*|lead\\w*|execute\\w*";

    private static final Set<String> NAMED_ALIKE =
            Set.of("LeaderOptions.lock(LockOptions)", "LeaderWork.lead(LeaderTerm)");

    private final Map<RedisLocks, InMemoryRedis> servers = new HashMap<>();

    static Stream<Arguments> cells() {
        return Arrays.stream(Happening.values())
                .flatMap(what -> Arrays.stream(Mode.values())
                        .filter(mode -> what.expected(mode).isPresent())
                        .map(mode -> Arguments.of(what.name(), mode)));
    }

    @ParameterizedTest
    @MethodSource("cells")
    void owners_inEachWay_areToldAsTheTableSays(Happening what, Mode mode) {
        new LossScene(this, what, mode).run();
    }

    @Test
    void page_showsTheTable() throws IOException {
        Path page = Path.of("docs/losses.md");
        String before = Files.readString(page);
        Iterator<String> tables = List.of(
                        "| held by | taken by | modes |\n|---|---|---|\n"
                                + Way.ROWS.stream().map(Way.Row::toString).collect(Collectors.joining()),
                        "| what happens | renewed | resident | fixed |\n|---|---|---|---|\n"
                                + Arrays.stream(Happening.values())
                                        .map(Happening::toString)
                                        .collect(Collectors.joining()))
                .iterator();
        String after = Pattern.compile("(^\\|.*\n)+", Pattern.MULTILINE)
                .matcher(before)
                .replaceAll(old -> Matcher.quoteReplacement(tables.next()));
        if (Boolean.getBoolean("losses.write")) {
            Files.writeString(page, after);
        }
        assertThat(before).isEqualTo(after);
    }

    @Test
    void publicMethods_thatTakeALock_areWays() throws Exception {
        List<String> taking = Stream.concat(
                        TYPES.stream(),
                        exported()
                                .filter(type -> type != LeasedLock.class)
                                .filter(type -> Modifier.isPublic(type.getModifiers())))
                .distinct()
                .flatMap(LossTableTest::taking)
                .filter(call -> !NAMED_ALIKE.contains(call))
                .toList();
        assertThat(Way.ROWS.stream()
                        .flatMap(row -> row.ways().stream())
                        .map(Way::call)
                        .filter(call -> !call.contains(" then ") && !call.startsWith("@")))
                .containsExactlyInAnyOrderElementsOf(taking);
    }

    private static Stream<String> taking(Class<?> type) {
        boolean all = TYPES.contains(type);
        return Arrays.stream(all ? type.getMethods() : type.getDeclaredMethods())
                .filter(method -> Modifier.isPublic(method.getModifiers())
                        && !method.isBridge()
                        && method.getDeclaringClass() != Object.class)
                .filter(method -> all
                        ? !TAKES_NONE.contains(method.getName()) && !TAKES_NONE.contains(signature(method))
                        : method.getName().matches(TAKES))
                .filter(method -> TYPES.stream()
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

    /** The public types of the packages that the artifacts export. */
    private static Stream<Class<?>> exported() throws IOException {
        List<Class<?>> types = new ArrayList<>();
        for (Path module : Artifacts.sources("src/main/java")) {
            if (module.endsWith("module-info.java")) {
                Path classes = module.resolveSibling("../../../target/classes");
                Pattern.compile("exports ([\\w.]+);")
                        .matcher(Files.readString(module))
                        .results()
                        .map(room -> room.group(1))
                        .forEach(room -> Arrays.stream(classes.resolve(room.replace('.', '/'))
                                        .toFile()
                                        .list())
                                .filter(file -> file.endsWith(".class"))
                                .map(file -> ClassUtils.resolveClassName(room + '.' + file.replace(".class", ""), null))
                                .forEach(types::add));
            }
        }
        return types.stream();
    }

    @Override
    public RedisLocks connect(UnaryOperator<RedisLocksBuilder> settings) {
        InMemoryRedis mine = server.another();
        RedisLocks made = settings.apply(RedisLocks.builder()).build(mine, clock);
        servers.put(made, mine);
        clients.add(made);
        return made;
    }

    @Override
    public Duration lease() {
        return Duration.ofSeconds(30);
    }

    @Override
    public void pass(long millis) {
        super.pass(millis);
    }

    @Override
    public void pass(long millis, BooleanSupplier enough) {
        // Time does not wait for the threads that read messages, so it must not run away from them.
        for (int i = 0; i < STEPS && !enough.getAsBoolean(); i++) {
            pass(Math.max(1, millis / STEPS));
            if (!enough.getAsBoolean()) {
                LockSupport.parkNanos(STEP_NANOS);
            }
        }
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
    public void delete(String name, String keyEnd) {
        server.del("redis-locks:{" + name + "}" + keyEnd);
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
    public boolean isTaken(BooleanSupplier inRedis) {
        return inRedis.getAsBoolean();
    }

    @Override
    void close() {
        clients.forEach(client -> whileTimePasses(() -> true, client::close));
        super.close();
    }
}
