package io.github.redislocks.docs;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.fixture.Artifacts;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The names in docs/ARCHITECTURE.md are those of the code. */
class ArchitecturePageTest {

    private static final Path SCRIPTS =
            Path.of("src", "main", "resources", "io", "github", "redislocks", "script", "lua");

    private static final Pattern CODE = Pattern.compile("`([^`\\n]+)`");
    private static final Pattern TYPE =
            Pattern.compile("(?:(?:\\w+/)*)([A-Z]\\w*[a-z]\\w*)((?:\\.[A-Z]\\w+)*)(?:\\.([a-z]\\w*))?");
    private static final Pattern SCRIPT = Pattern.compile("(?:[\\w/]+/)?(\\w+)\\.lua");
    private static final Pattern LINK = Pattern.compile("\\]\\(([\\w/.-]+)\\)");
    /** Named, and not of the library; or nested in a class that is not named. */
    private static final Set<String> ELSEWHERE = Set.of("AbstractQueuedSynchronizer", "ArchitectureTest");

    private final String page = Files.readString(Path.of("docs", "ARCHITECTURE.md"));
    private final Map<String, String> sources;

    ArchitecturePageTest() throws IOException {
        sources = Artifacts.sources("src/main/java/io").stream()
                .filter(file -> !file.endsWith("package-info.java"))
                .collect(Collectors.toMap(
                        file -> file.getFileName().toString().replace(".java", ""), ArchitecturePageTest::read));
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private List<String> names() {
        return CODE.matcher(page).results().map(code -> code.group(1)).toList();
    }

    @Test
    void types_andTheirMembers_exist() {
        List<String> unknown = names().stream()
                .map(TYPE::matcher)
                .filter(Matcher::matches)
                .filter(name -> !isKnown(name))
                .map(MatchResult::group)
                .toList();
        assertThat(names()).filteredOn(name -> TYPE.matcher(name).matches()).hasSizeGreaterThan(40);
        assertThat(unknown).isEmpty();
    }

    private boolean isKnown(MatchResult name) {
        String type = name.group(1);
        String source = sources.get(type);
        if (source == null) {
            return ELSEWHERE.contains(type) || sources.values().stream().anyMatch(each -> declares(each, type));
        }
        boolean nested = Stream.of(name.group(2).split("\\."))
                .filter(part -> !part.isEmpty())
                .allMatch(part -> declares(source, part));
        String member = name.group(3);
        return nested
                && (member == null
                        || Pattern.compile("\\b" + member + "\\(")
                                .matcher(source)
                                .find());
    }

    private static boolean declares(String source, String type) {
        return Pattern.compile("\\b(class|interface|record|enum) " + type + "\\b")
                .matcher(source)
                .find();
    }

    @Test
    void scripts_exist() {
        List<String> scripts = names().stream()
                .map(SCRIPT::matcher)
                .filter(Matcher::matches)
                .map(name -> name.group(1))
                .toList();
        assertThat(scripts)
                .hasSizeGreaterThan(3)
                .allSatisfy(
                        script -> assertThat(SCRIPTS.resolve(script + ".lua")).exists());
    }

    @Test
    void links_leadToFiles() {
        assertThat(LINK.matcher(page).results().map(link -> link.group(1)))
                .hasSizeGreaterThan(25)
                .allSatisfy(link -> assertThat(Path.of("docs").resolve(link)).exists());
    }

    @Test
    void decisions_areAllListed() throws IOException {
        try (Stream<Path> files = Files.list(Path.of("docs", "adr"))) {
            assertThat(files.map(file -> "(adr/" + file.getFileName() + ")"))
                    .allSatisfy(link -> assertThat(page).contains(link));
        }
    }

    @Test
    void rooms_areAllDrawn() throws IOException {
        for (Path artifact : Artifacts.folders("src/main/java/io/github/redislocks")) {
            try (Stream<Path> folders = Files.walk(artifact)) {
                assertThat(folders.filter(Files::isDirectory).filter(folder -> !folder.equals(artifact)))
                        .extracting(
                                folder -> artifact.relativize(folder).toString().replace('/', '.'))
                        .allSatisfy(room -> assertThat(page).containsPattern("\\b" + Pattern.quote(room) + "\\b"));
            }
        }
    }
}
