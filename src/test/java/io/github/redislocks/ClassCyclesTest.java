package io.github.redislocks;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.fixture.Artifacts;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Which top-level classes need each other to be understood. Read from the sources, so that a type counts that is named
 * in a signature only.
 */
@Tag("once")
class ClassCyclesTest {

    private static final int MOST = 3;

    private static final Pattern NO_CODE = Pattern.compile(
            "/\\*.*?\\*/|//[^\\n]*|^import [^\\n]*|\"(\\\\.|[^\"\\\\])*\"", Pattern.DOTALL | Pattern.MULTILINE);

    private static final Pattern TYPE = Pattern.compile("\\b[A-Z]\\w*");

    @Test
    void classes_thatNeedEachOther_areFew() {
        List<Set<String>> cycles = cycles(graph());
        assertThat(cycles).as("the test sees those that are there").contains(Set.of("Handoff", "HandoffCommands"));
        assertThat(cycles)
                .as("classes that need each other; one of them is to be given a value, an interface or a part instead")
                .allSatisfy(cycle -> assertThat(cycle).hasSizeLessThanOrEqualTo(MOST));
    }

    private static Map<String, Set<String>> graph() {
        Map<String, Path> files = Artifacts.sources("src/main/java/io").stream()
                .filter(file -> !file.endsWith("package-info.java"))
                .collect(Collectors.toMap(ClassCyclesTest::name, file -> file));
        Map<String, Set<String>> graph = new TreeMap<>();
        files.forEach((name, file) -> {
            Set<String> named = TYPE.matcher(code(file))
                    .results()
                    .map(found -> found.group())
                    .filter(files::containsKey)
                    .collect(Collectors.toCollection(TreeSet::new));
            named.remove(name);
            graph.put(name, named);
        });
        return graph;
    }

    private static String name(Path file) {
        return file.getFileName().toString().replace(".java", "");
    }

    private static String code(Path file) {
        try {
            return NO_CODE.matcher(Files.readString(file)).replaceAll("");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The sets of at least two nodes of which each reaches each other one. */
    private static List<Set<String>> cycles(Map<String, Set<String>> graph) {
        Map<String, Set<String>> reached = new HashMap<>();
        graph.keySet().forEach(node -> reached.put(node, reached(graph, node)));
        return graph.keySet().stream()
                .map(node -> reached.get(node).stream()
                        .filter(other -> reached.get(other).contains(node))
                        .collect(Collectors.toSet()))
                .filter(cycle -> !cycle.isEmpty())
                .distinct()
                .toList();
    }

    /** The nodes that a node leads to by one step or more; itself only if it lies on a cycle. */
    private static Set<String> reached(Map<String, Set<String>> graph, String from) {
        Set<String> reached = new HashSet<>();
        Deque<String> open = new ArrayDeque<>(graph.get(from));
        while (!open.isEmpty()) {
            String next = open.pop();
            if (reached.add(next)) {
                open.addAll(graph.get(next));
            }
        }
        return reached;
    }
}
