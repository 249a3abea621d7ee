package io.github.redislocks;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The scripts and methods that the actions of the model in docs/model name: {@code @lua FILE @java Class#method}. */
class ModelTest {

    private static final Path MODEL = Path.of("docs", "model");
    private static final Path JAVA = Path.of("src", "main", "java", "io", "github", "redislocks");
    private static final Path LUA = Path.of("src", "main", "resources", "io", "github", "redislocks", "script", "lua");

    private static final Pattern DEFINITION = Pattern.compile("^([A-Z]\\w*)(?:\\([\\w, ]*\\))? ==.*$");
    private static final Pattern NAME = Pattern.compile("\\b[A-Z]\\w*");
    private static final String WORLD = "\\* @world";
    private static final Pattern ORIGIN = Pattern.compile("\\\\\\* @lua (\\S+) @java ([\\w.]+)#(\\w+)");

    /** The definitions that only list actions or scripts. */
    private static final Set<String> LISTS = Set.of("Next", "Steps", "Run");

    static List<Path> modules() throws IOException {
        try (Stream<Path> files = Files.list(MODEL)) {
            return files.filter(file -> file.toString().endsWith(".tla"))
                    .sorted()
                    .toList();
        }
    }

    @Test
    void modules_areAllThere() throws IOException {
        assertThat(modules())
                .extracting(Path::getFileName)
                .extracting(Path::toString)
                .containsExactly(
                        "Condition.tla",
                        "Fencing.tla",
                        "Handle.tla",
                        "Keep.tla",
                        "Lease.tla",
                        "Permits.tla",
                        "Queue.tla",
                        "ReadWrite.tla",
                        "Resident.tla",
                        "Several.tla",
                        "Succession.tla");
    }

    @ParameterizedTest
    @MethodSource("modules")
    void everyAction_ofAModule_namesWhatItStandsFor(Path module) throws IOException {
        List<String> lines = Files.readAllLines(module);
        Set<String> actions = actions(lines);
        List<String> wrong = new ArrayList<>();
        assertThat(actions).hasSizeGreaterThan(5);
        for (int i = 1; i < lines.size(); i++) {
            Matcher definition = DEFINITION.matcher(lines.get(i));
            if (definition.matches() && actions.contains(definition.group(1)) && !isKnown(lines.get(i - 1))) {
                wrong.add(definition.group(1) + " after: " + lines.get(i - 1));
            }
        }
        assertThat(wrong).isEmpty();
    }

    @ParameterizedTest
    @MethodSource("modules")
    void everyOrigin_inAModule_exists(Path module) throws IOException {
        List<String> lines = Files.readAllLines(module);
        assertThat(lines.stream().filter(line -> line.startsWith("\\* @") && !isKnown(line)))
                .isEmpty();
    }

    private static boolean isKnown(String line) {
        Matcher origin = ORIGIN.matcher(line);
        return line.equals(WORLD)
                || (origin.matches()
                        && (origin.group(1).equals("-") || Files.exists(LUA.resolve(origin.group(1))))
                        && hasMethod(origin.group(2), origin.group(3)));
    }

    private static boolean hasMethod(String type, String method) {
        return rooms().map(room -> room + "." + type.replace('.', '$'))
                .flatMap(ModelTest::loaded)
                .flatMap(found -> Arrays.stream(found.getDeclaredMethods()))
                .map(Method::getName)
                .anyMatch(method::equals);
    }

    private static Stream<Class<?>> loaded(String name) {
        try {
            return Stream.of(Class.forName(name));
        } catch (ClassNotFoundException e) {
            return Stream.empty();
        }
    }

    /** The packages of the library. */
    private static Stream<String> rooms() {
        try (Stream<Path> files = Files.walk(JAVA)) {
            return files
                    .filter(Files::isDirectory)
                    .map(folder -> JAVA.getParent()
                            .getParent()
                            .getParent()
                            .relativize(folder)
                            .toString())
                    .map(folder -> folder.replace(File.separatorChar, '.'))
                    .toList()
                    .stream();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The operators that the lists of a module name and that it defines itself, besides the lists. */
    private static Set<String> actions(List<String> lines) {
        Set<String> defined = new TreeSet<>();
        Set<String> named = new TreeSet<>();
        boolean listed = false;
        for (String line : lines) {
            Matcher definition = DEFINITION.matcher(line);
            if (definition.matches()) {
                defined.add(definition.group(1));
                listed = LISTS.contains(definition.group(1));
            } else if (line.isBlank()) {
                listed = false;
            }
            if (listed && !line.startsWith("\\*")) {
                NAME.matcher(line).results().forEach(result -> named.add(result.group()));
            }
        }
        named.retainAll(defined);
        named.removeAll(LISTS);
        return named;
    }
}
