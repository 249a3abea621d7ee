package io.github.redislocks;

import static com.tngtech.archunit.base.DescribedPredicate.not;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideOutsideOfPackage;
import static com.tngtech.archunit.core.domain.properties.HasName.Predicates.nameMatching;
import static com.tngtech.archunit.lang.conditions.ArchPredicates.are;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import io.github.redislocks.fixture.Artifacts;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** The limits on the artifacts beside the core: their knowledge of the core and of each other, and the code rules. */
class IntegrationsTest extends CodeRules {

    private static final String CORE = "io.github.redislocks";

    private static final Pattern ARTIFACT = Pattern.compile("<artifactId>(redis-locks.*?)</artifactId>");

    /** The classes that make a configuration of Jedis of what Spring Boot knows. */
    private static final String TRANSLATE_TO_JEDIS =
            "io\\.github\\.redislocks\\.spring\\.(BootServers|DataRedisProperties|ConnectionDetailsServers)(\\$.*)?";

    private static final JavaClasses CLASSES = new ClassFileImporter()
            .importPaths(Artifacts.folders("target/classes").stream()
                    .filter(folder -> !folder.startsWith("target"))
                    .toList());

    IntegrationsTest() {
        super(
                CLASSES,
                Artifacts.sources("src/main/java").stream()
                        .filter(file -> !file.startsWith("src"))
                        .toList());
    }

    /**
     * The packages, and what each may know of the library besides itself; the empty name is the core's exported
     * package.
     */
    static Stream<Arguments> package_knowsNothingBeyond() {
        return Stream.of(
                Arguments.of("micrometer", List.of("")),
                Arguments.of("shedlock", List.of("")),
                Arguments.of("spring", List.of("", "micrometer")),
                Arguments.of("spring.integration", List.of("")),
                Arguments.of("testkit.lua", List.of()),
                Arguments.of("testkit.twin", List.of("testkit.lua", "redis", "concurrent")),
                Arguments.of(
                        "testkit",
                        List.of(
                                "",
                                "testkit.twin",
                                "client",
                                "shared",
                                "engine",
                                "waiting",
                                "lease",
                                "watchdog",
                                "script",
                                "state",
                                "redis",
                                "concurrent")));
    }

    @ParameterizedTest
    @MethodSource
    void package_knowsNothingBeyond(String name, List<String> known) {
        String[] allowed = Stream.concat(Stream.of(name), known.stream())
                .map(each -> each.isEmpty() ? CORE : CORE + "." + each)
                .toArray(String[]::new);
        classes()
                .that()
                .resideInAPackage(CORE + "." + name)
                .should()
                .onlyDependOnClassesThat(resideOutsideOfPackage(CORE + "..").or(resideInAnyPackage(allowed)))
                .as(name + " knows " + Arrays.toString(allowed))
                .check(CLASSES);
    }

    @Test
    void packages_areKnown() {
        assertThat(CLASSES.stream()
                        .map(JavaClass::getPackageName)
                        .filter(name -> !name.isEmpty())
                        .distinct())
                .as("tell here what a new package may know")
                .containsExactlyInAnyOrderElementsOf(package_knowsNothingBeyond()
                        .map(row -> CORE + "." + row.get()[0])
                        .toList());
    }

    @Test
    void jedis_isUnknown() {
        noClasses()
                .that(are(not(nameMatching(TRANSLATE_TO_JEDIS))))
                .should()
                .dependOnClassesThat()
                .resideInAPackage("redis.clients..")
                .because("only the core's transport knows the client library")
                .check(CLASSES);
    }

    @Test
    void bom_namesEachPublishedArtifact() throws IOException {
        List<String> published = new ArrayList<>();
        for (Path sources : Artifacts.folders("src/main/java")) {
            Path pom = sources.resolve("../../../pom.xml").normalize();
            published.add(artifacts(pom, "</parent>").get(0));
        }
        assertThat(artifacts(Path.of("bom/pom.xml"), "<dependencyManagement>"))
                .containsExactlyInAnyOrderElementsOf(published);
    }

    /** Returns the artifacts that a POM names after a text. */
    private static List<String> artifacts(Path pom, String after) throws IOException {
        String text = Files.readString(pom);
        return ARTIFACT.matcher(text.substring(text.indexOf(after)))
                .results()
                .map(name -> name.group(1))
                .toList();
    }
}
