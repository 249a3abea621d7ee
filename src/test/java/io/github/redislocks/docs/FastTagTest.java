package io.github.redislocks.docs;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;

import com.tngtech.archunit.ArchConfiguration;
import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaAnnotation;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaField;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.lang.ArchCondition;
import com.tngtech.archunit.lang.ConditionEvents;
import com.tngtech.archunit.lang.SimpleConditionEvent;
import io.github.redislocks.fixture.Artifacts;
import io.github.redislocks.fixture.Logged;
import io.github.redislocks.fixture.Processes;
import java.util.Arrays;
import java.util.Set;
import java.util.stream.Stream;
import jdk.jfr.Recording;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Tags;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;

/**
 * What {@code mvn -Pfast test} leaves out: classes that bear the tag "server", since they keep a process for their
 * tests. Of other classes the tests that start one are skipped. It runs classes side by side, but for those that look
 * at the whole JVM.
 */
@Tag("once")
class FastTagTest {

    private static final Set<String> KEPT = Set.of(
            "RedisServer",
            "ClusterServers",
            "SentinelServers",
            "SentinelServer",
            "QuorumServers",
            "TlsServer",
            "Shared");

    private static final JavaClasses TESTS = testsAlone();

    @Test
    void classThatKeepsAServer_isTagged() {
        classes()
                .that(new DescribedPredicate<JavaClass>("keep a server in a field, and do not ask whether they may") {
                    @Override
                    public boolean test(JavaClass each) {
                        return isTestClass(each)
                                && each.getAllFields().stream().anyMatch(FastTagTest::isServer)
                                && each.getDirectDependenciesFromSelf().stream()
                                        .noneMatch(to -> to.getTargetClass().isEquivalentTo(Processes.class));
                    }
                })
                .should(new ArchCondition<JavaClass>("bear the tag \"server\"") {
                    @Override
                    public void check(JavaClass each, ConditionEvents events) {
                        events.add(
                                new SimpleConditionEvent(each, isTagged(each), each.getName() + ": @Tag(\"server\")"));
                    }
                })
                .check(TESTS);
    }

    @Test
    void classThatLooksAtTheWholeJvm_isIsolated() {
        classes()
                .that(new DescribedPredicate<JavaClass>("look at the log of all threads, or at a recording of them") {
                    @Override
                    public boolean test(JavaClass each) {
                        return isTestClass(each) && !isTagged(each) && looksAtTheWholeJvm(each);
                    }
                })
                .should()
                .beAnnotatedWith(Isolated.class)
                .check(TESTS);
    }

    private static boolean looksAtTheWholeJvm(JavaClass each) {
        return each.getAccessesFromSelf().stream()
                .anyMatch(to -> to.getTargetOwner().isEquivalentTo(Logged.class)
                        || to.getTargetOwner().isEquivalentTo(Recording.class)
                        || (to.getTargetOwner().isEquivalentTo(System.class)
                                && to.getName().equals("setErr")));
    }

    /**
     * Of all artifacts whose tests are compiled. Without what they depend on and without nested classes, which take
     * most of the time and tell nothing here.
     */
    private static JavaClasses testsAlone() {
        ArchConfiguration configuration = ArchConfiguration.get();
        configuration.setResolveMissingDependenciesFromClassPath(false);
        try {
            return new ClassFileImporter()
                    .withImportOption(location -> !location.contains("$"))
                    .importPaths(Artifacts.folders("target/test-classes"));
        } finally {
            configuration.setResolveMissingDependenciesFromClassPath(true);
        }
    }

    private static boolean isTestClass(JavaClass each) {
        return each.getSimpleName().endsWith("Test") && each.isTopLevelClass();
    }

    private static boolean isServer(JavaField field) {
        return field.getRawType().getPackageName().endsWith(".fixture")
                && KEPT.contains(field.getRawType().getSimpleName());
    }

    /** Any other tag that leaves a class out will do as well. */
    private static boolean isTagged(JavaClass test) {
        return Stream.concat(Stream.of(test), test.getAllRawSuperclasses().stream())
                .flatMap(type -> type.getAnnotations().stream())
                .flatMap(FastTagTest::tags)
                .anyMatch(Set.of("server", "failover", "torture", "stress")::contains);
    }

    private static Stream<Object> tags(JavaAnnotation<?> annotation) {
        Object value = annotation.get("value").orElse("");
        if (annotation.getRawType().isEquivalentTo(Tags.class)) {
            return Arrays.stream((JavaAnnotation<?>[]) value).flatMap(FastTagTest::tags);
        }
        return annotation.getRawType().isEquivalentTo(Tag.class) ? Stream.of(value) : Stream.of();
    }
}
