package io.github.redislocks.docs;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.RedisLocks;
import io.github.redislocks.testkit.InMemoryLocks;
import java.io.IOException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Every call that the users' pages name in their texts and tables exists, with as many arguments. */
class CallsInPagesTest {

    private static final Path DOCS = Path.of("docs");
    private static final List<String> PAGES = List.of(
            "guide.md",
            "reference.md",
            "handles.md",
            "residency.md",
            "read-write.md",
            "fencing.md",
            "recipes.md",
            "redis.md",
            "testing.md",
            "topologies.md");

    /** Calls of later versions of Java and of other libraries. */
    private static final Set<String> FOREIGN = Set.of("newVirtualThreadPerTaskExecutor", "withExposedPorts");

    private static final Pattern BLOCK = Pattern.compile("```.*?```", Pattern.DOTALL);
    private static final Pattern CODE = Pattern.compile("`([^`]+)`");
    private static final Pattern NAME = Pattern.compile("(?<![\\w@])([a-z]\\w*)\\(");
    /** A number of arguments that does not matter, since the page leaves them out. */
    private static final int ANY = -1;

    private record Call(String name, int arguments) {}

    @Test
    void calls_inTextsAndTables_existInTheApi() throws IOException, URISyntaxException {
        Map<String, Set<Integer>> api = api();
        assertThat(api).containsKeys("reentrantLock", "acquireAsync", "advance");
        List<String> wrong = new ArrayList<>();
        int found = 0;
        for (Path page : pages()) {
            for (String line : texts(page)) {
                for (Call call : calls(line)) {
                    found++;
                    if (!exists(call, api) && !FOREIGN.contains(call.name())) {
                        wrong.add(page + ": " + call + " in: " + line.strip());
                    }
                }
            }
        }
        assertThat(wrong).isEmpty();
        assertThat(found).as("calls that were found").isGreaterThan(200);
    }

    private static boolean exists(Call call, Map<String, Set<Integer>> api) {
        Set<Integer> known = api.getOrDefault(call.name(), Set.of());
        return call.arguments() == ANY ? !known.isEmpty() : known.contains(call.arguments());
    }

    private static List<Path> pages() throws IOException {
        try (Stream<Path> migration = Files.list(DOCS.resolve("migration"))) {
            return Stream.concat(PAGES.stream().map(DOCS::resolve), migration)
                    .sorted()
                    .toList();
        }
    }

    /** The lines outside of blocks; of a page that names another lock's calls in its first column, without that. */
    private static List<String> texts(Path page) throws IOException {
        String text = BLOCK.matcher(Files.readString(page)).replaceAll("");
        boolean isMigration = page.startsWith(DOCS.resolve("migration"));
        return text.lines()
                .map(line -> isMigration && line.startsWith("|") ? line.replaceFirst("\\|[^|]*\\|", "") : line)
                .toList();
    }

    private static List<Call> calls(String line) {
        List<Call> calls = new ArrayList<>();
        for (Matcher code = CODE.matcher(line); code.find(); ) {
            String span = code.group(1);
            for (Matcher name = NAME.matcher(span); name.find(); ) {
                calls.add(new Call(name.group(1), arguments(span, name.end())));
            }
        }
        return calls;
    }

    /** The number of arguments between a bracket and the one that closes it. */
    private static int arguments(String span, int begin) {
        int depth = 0;
        int commas = 0;
        int end = begin;
        for (; end < span.length() && (depth > 0 || span.charAt(end) != ')'); end++) {
            char sign = span.charAt(end);
            depth += sign == '(' ? 1 : sign == ')' ? -1 : 0;
            commas += sign == ',' && depth == 0 ? 1 : 0;
        }
        String inside = span.substring(begin, end);
        if (inside.contains("…") || inside.contains("...")) {
            return ANY;
        }
        return inside.isBlank() ? 0 : commas + 1;
    }

    /** The public methods of this library and of the types of the JDK that the pages use, by name. */
    private static Map<String, Set<Integer>> api() throws IOException, URISyntaxException {
        Map<String, Set<Integer>> api = new HashMap<>();
        List<Class<?>> types = new ArrayList<>(
                List.of(ReentrantLock.class, Condition.class, CompletableFuture.class, Optional.class, Duration.class));
        types.addAll(publicTypes(RedisLocks.class));
        types.addAll(publicTypes(InMemoryLocks.class));
        for (Class<?> type : types) {
            for (Method method : type.getMethods()) {
                Set<Integer> counts = api.computeIfAbsent(method.getName(), first -> new HashSet<>());
                counts.add(method.getParameterCount());
                if (method.isVarArgs()) {
                    counts.addAll(List.of(1, 2, 3, 5));
                }
            }
        }
        return api;
    }

    private static List<Class<?>> publicTypes(Class<?> member) throws IOException, URISyntaxException {
        Path root = Path.of(
                member.getProtectionDomain().getCodeSource().getLocation().toURI());
        Path folder = root.resolve(member.getPackageName().replace('.', '/'));
        try (Stream<Path> files = Files.list(folder)) {
            List<Class<?>> types = new ArrayList<>();
            for (Path file : files.toList()) {
                String name = file.getFileName().toString();
                if (name.endsWith(".class") && !name.contains("-")) {
                    types.add(type(member.getPackageName() + '.' + name.replaceFirst("\\.class$", "")));
                }
            }
            types.removeIf(type -> !Modifier.isPublic(type.getModifiers()));
            return types;
        }
    }

    private static Class<?> type(String name) {
        try {
            return Class.forName(name, false, CallsInPagesTest.class.getClassLoader());
        } catch (ClassNotFoundException e) {
            throw new AssertionError(name, e);
        }
    }
}
