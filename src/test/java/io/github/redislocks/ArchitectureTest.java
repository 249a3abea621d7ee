package io.github.redislocks;

import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.core.domain.properties.HasName.Predicates.nameMatching;
import static com.tngtech.archunit.lang.conditions.ArchPredicates.are;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaCall;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.properties.HasOwner;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.library.dependencies.SliceAssignment;
import com.tngtech.archunit.library.dependencies.SliceIdentifier;
import io.github.redislocks.concurrent.Threads;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Timer;
import java.util.TimerTask;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisClientConfig;

/** The directions in which the parts of the library may know each other, and what none of them may use. */
class ArchitectureTest {

    private static final String CORE = "io.github.redislocks";
    private static final String TRANSPORT = CORE + ".redis..";
    private static final String CONCURRENT = CORE + ".concurrent..";

    /** The classes whose public API takes an address or a configuration of Jedis. */
    private static final String TAKE_JEDIS_TYPES = "io\\.github\\.redislocks\\.(RedisLocks|LockOptions)(\\$.*)?";

    private static final JavaClasses MAIN = new ClassFileImporter()
            .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
            .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_JARS)
            .importPackages(CORE);

    @Test
    void transport_anyClass_knowsNoLocks() {
        noClasses()
                .that()
                .resideInAPackage(TRANSPORT)
                .should()
                .dependOnClassesThat(resideInAPackage(CORE + "..")
                        .and(DescribedPredicate.not(resideInAnyPackage(TRANSPORT, CONCURRENT))))
                .because("scripts run anywhere; what they mean is the business of the core")
                .check(MAIN);
    }

    @Test
    void threads_outsideTheirFactory_areNotMade() {
        noClasses()
                .that(are(DescribedPredicate.not(JavaClass.Predicates.equivalentTo(Threads.class))))
                .should()
                .callConstructorWhere(JavaCall.Predicates.target(
                        HasOwner.Predicates.With.owner(JavaClass.Predicates.assignableTo(Thread.class))))
                .because("a thread of the library must take nothing over from the caller that happens to need it")
                .check(MAIN);
    }

    @Test
    void jedis_outsideTransport_isUnknown() {
        noClasses()
                .that()
                .resideOutsideOfPackage(TRANSPORT)
                .and(are(DescribedPredicate.not(nameMatching(TAKE_JEDIS_TYPES))))
                .should()
                .dependOnClassesThat()
                .resideInAPackage("redis.clients..")
                .because("only the transport knows the client library")
                .allowEmptyShould(true)
                .check(MAIN);
    }

    @Test
    void jedis_inPublicApi_isAddressAndConfigurationOnly() {
        classes()
                .that(are(nameMatching(TAKE_JEDIS_TYPES)))
                .should()
                .onlyDependOnClassesThat(DescribedPredicate.not(resideInAPackage("redis.clients.."))
                        .or(JavaClass.Predicates.assignableTo(HostAndPort.class))
                        .or(JavaClass.Predicates.assignableTo(JedisClientConfig.class)))
                .allowEmptyShould(true)
                .check(MAIN);
    }

    @Test
    void packages_all_haveNoCycles() {
        slices().assignedFrom(BY_PACKAGE).should().beFreeOfCycles().check(MAIN);
    }

    @Test
    void wallClock_allClasses_isNotRead() {
        noClasses()
                .should()
                .callMethod(System.class, "currentTimeMillis")
                .orShould()
                .callMethod(Instant.class, "now")
                .because("a hold is valid by monotonic time, and a lease by that of Redis; the wall clock jumps")
                .check(MAIN);
    }

    @Test
    void timer_allClasses_isNotUsed() {
        noClasses()
                .should()
                .dependOnClassesThat()
                .areAssignableTo(Timer.class)
                .orShould()
                .dependOnClassesThat()
                .areAssignableTo(TimerTask.class)
                .because("one exception in a task ends a Timer; the library has one scheduler")
                .check(MAIN);
    }

    @Test
    void synchronized_allSources_isNotUsed() throws IOException {
        // Read from the sources, since a class file's model shows synchronized methods but no blocks.
        Pattern comment = Pattern.compile("/\\*.*?\\*/|//[^\\n]*", Pattern.DOTALL);
        Pattern keyword = Pattern.compile("\\bsynchronized\\b");
        Path sources = Path.of("src", "main", "java");
        try (Stream<Path> files = Files.walk(sources)) {
            List<Path> guilty = files.filter(file -> file.toString().endsWith(".java"))
                    .filter(file -> keyword.matcher(comment.matcher(read(file)).replaceAll(""))
                            .find())
                    .toList();
            assertThat(guilty)
                    .as("use a ReentrantLock: synchronized pins a virtual thread before JDK 24")
                    .isEmpty();
        }
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static final SliceAssignment BY_PACKAGE = new SliceAssignment() {
        @Override
        public SliceIdentifier getIdentifierOf(JavaClass javaClass) {
            return javaClass.getPackageName().startsWith(CORE)
                    ? SliceIdentifier.of(javaClass.getPackageName())
                    : SliceIdentifier.ignore();
        }

        @Override
        public String getDescription() {
            return "packages";
        }
    };
}
