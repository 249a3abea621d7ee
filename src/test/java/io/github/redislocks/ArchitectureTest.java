package io.github.redislocks;

import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideOutsideOfPackage;
import static com.tngtech.archunit.core.domain.properties.HasName.Predicates.nameMatching;
import static com.tngtech.archunit.lang.conditions.ArchPredicates.are;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaMember;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.library.dependencies.SliceAssignment;
import com.tngtech.archunit.library.dependencies.SliceIdentifier;
import io.github.redislocks.fixture.Artifacts;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisClientConfig;

/** The directions in which the parts of the library may know each other, and what none of them may use. */
@Tag("once")
class ArchitectureTest extends CodeRules {

    private static final String CORE = "io.github.redislocks";
    private static final String TRANSPORT = CORE + ".redis..";
    /** The room that implements the ports by the client library. */
    private static final String BY_JEDIS = CORE + ".redis.jedis";

    private static final String CONCURRENT = CORE + ".concurrent..";

    /** The classes whose public API takes an address or a configuration of Jedis. */
    private static final String TAKE_JEDIS_TYPES = "io\\.github\\.redislocks\\.JedisServers";

    private static final String TOLD = "what users are told";

    /** The most lines of a file. */
    private static final int MOST_LINES = 450;
    /** The number of methods with five and more parameters, without constructors. */
    private static final int METHODS_WITH_MANY_PARAMETERS = 13;

    /**
     * The types of the exported package that say something, or are given to users, and know nothing of how a lock
     * works.
     */
    private static final String TOLD_TO_USERS =
            "io\\.github\\.redislocks\\.(Lock(Event|Inspection|Owner|Summary|Listener|Lost|LostException|UnavailableException|Acquired|NotAcquired|Released|Expiring|Forced|GivenUp)"
                    + "|LocksRenewed|RedisOutage|RedisRequestException|((Multi)?(Lock)?|Permit|Read)Handle|PermitsInspection|Handle(Call|Run)|Locked(Call|Run|Result)|LeaderTerm|LeaderWork)(\\$.*)?";

    /**
     * The rooms from the ground up, and what each may know of the library besides itself. What users are told, such as
     * the exceptions, every room above the transport may name.
     */
    private static final Map<String, List<String>> ROOMS = rooms();

    private static Map<String, List<String>> rooms() {
        Map<String, List<String>> rooms = new LinkedHashMap<>();
        rooms.put("concurrent", List.of());
        rooms.put("redis", List.of("concurrent", TOLD));
        rooms.put("redis.jedis", List.of("redis", "concurrent"));
        rooms.put("redis.topology", List.of("redis", "concurrent"));
        rooms.put("redis.sentinel", List.of("redis.topology", "redis", "concurrent"));
        rooms.put("redis.cluster", List.of("redis.topology", "redis", "concurrent"));
        rooms.put(
                "redis.connect",
                List.of("redis.cluster", "redis.sentinel", "redis.topology", "redis.jedis", "redis", "concurrent"));
        rooms.put("state", List.of("redis", "concurrent", TOLD));
        rooms.put("script", List.of("state", "redis", "concurrent", TOLD));
        rooms.put("actions", List.of("concurrent", TOLD));
        rooms.put("jfr", List.of(TOLD));
        rooms.put("events", List.of("jfr", "state", "concurrent", TOLD));
        rooms.put("health", List.of("events", "script", "state", "redis", "concurrent", TOLD));
        rooms.put("watchdog", List.of("health", "redis", "concurrent"));
        rooms.put("lease", List.of("watchdog", "events", "health", "script", "state", "redis", "concurrent", TOLD));
        rooms.put("waiting", List.of("lease", "watchdog", "health", "script", "state", "redis", "concurrent", TOLD));
        rooms.put("inspection", List.of("waiting", "health", "script", "state", "redis", "concurrent", TOLD));
        rooms.put(
                "quorum",
                List.of(
                        "health",
                        "events",
                        "script",
                        "state",
                        "redis.connect",
                        "redis.topology",
                        "redis",
                        "concurrent",
                        TOLD));
        rooms.put(
                "engine",
                List.of(
                        "waiting",
                        "lease",
                        "events",
                        "watchdog",
                        "health",
                        "script",
                        "state",
                        "redis",
                        "concurrent",
                        TOLD));
        rooms.put(
                "several",
                List.of(
                        "engine",
                        "waiting",
                        "lease",
                        "watchdog",
                        "health",
                        "script",
                        "state",
                        "redis",
                        "concurrent",
                        TOLD));
        rooms.put(
                "residency",
                List.of(
                        "engine",
                        "waiting",
                        "lease",
                        "events",
                        "watchdog",
                        "health",
                        "script",
                        "state",
                        "redis",
                        "concurrent",
                        TOLD));
        rooms.put(
                "shared",
                List.of(
                        "engine",
                        "waiting",
                        "lease",
                        "events",
                        "watchdog",
                        "health",
                        "script",
                        "state",
                        "redis",
                        "concurrent",
                        TOLD));
        rooms.put(
                "client",
                List.of(
                        "several",
                        "residency",
                        "shared",
                        "engine",
                        "inspection",
                        "waiting",
                        "lease",
                        "events",
                        "watchdog",
                        "health",
                        "script",
                        "state",
                        "redis",
                        "concurrent",
                        TOLD));
        rooms.put("handles", List.of("client", "several", "engine", "actions", "lease", "state", "concurrent", TOLD));
        return rooms;
    }

    private static final JavaClasses MAIN = new ClassFileImporter().importPath(Path.of("target", "classes"));

    ArchitectureTest() throws IOException {
        super(MAIN, sources());
    }

    private static List<Path> sources() throws IOException {
        try (Stream<Path> files = Files.walk(Path.of("src", "main", "java"))) {
            return files.filter(file -> file.toString().endsWith(".java")).toList();
        }
    }

    @Test
    void frameworks_areUnknown() {
        noClasses()
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage("org.springframework..", "org.aopalliance..", "io.micrometer..", "net.javacrumbs..")
                .because("an integration is an artifact of its own")
                .check(MAIN);
    }

    @Test
    void transport_anyClass_knowsNoLocks() {
        noClasses()
                .that()
                .resideInAPackage(TRANSPORT)
                .should()
                .dependOnClassesThat(resideInAPackage(CORE + "..")
                        .and(DescribedPredicate.not(resideInAnyPackage(TRANSPORT, CONCURRENT)))
                        .and(DescribedPredicate.not(JavaClass.Predicates.equivalentTo(RedisRequestException.class))))
                .because("scripts run anywhere; what they mean is the business of the core")
                .check(MAIN);
    }

    @Test
    void jedis_outsideTransport_isUnknown() {
        noClasses()
                .that()
                .resideOutsideOfPackage(BY_JEDIS)
                .and(are(DescribedPredicate.not(nameMatching(TAKE_JEDIS_TYPES))))
                .should()
                .dependOnClassesThat()
                .resideInAPackage("redis.clients..")
                .because("only the transport behind the port knows the client library")
                .allowEmptyShould(true)
                .check(MAIN);
    }

    /** The list is in the Javadoc of the package {@code redis}, for a second client library. */
    @Test
    void jedis_isNamedByFourClassesBesideItsRoom() {
        assertThat(MAIN.stream()
                        .filter(each -> !each.getPackageName().equals(BY_JEDIS))
                        .filter(each -> each.getDirectDependenciesFromSelf().stream()
                                .anyMatch(known ->
                                        known.getTargetClass().getPackageName().equals(BY_JEDIS)))
                        .map(each -> each.getName().replaceAll("\\$.*", ""))
                        .distinct())
                .containsExactlyInAnyOrder(
                        CORE + ".redis.connect.RedisUri",
                        CORE + ".redis.connect.Masters",
                        CORE + ".JedisServers",
                        CORE + ".RedisLocksBuilder");
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
    void rooms_areKnown() {
        assertThat(MAIN.stream()
                        .map(JavaClass::getPackageName)
                        .filter(name -> name.startsWith(CORE + "."))
                        .map(name -> name.substring(CORE.length() + 1)))
                .as("tell here what a new room may know, and in its package-info what it is for")
                .hasSameElementsAs(ROOMS.keySet());
        assertThat(ROOMS.keySet())
                .allSatisfy(room -> assertThat(Path.of("src", "main", "java", "io", "github", "redislocks")
                                .resolve(room.replace('.', '/'))
                                .resolve("package-info.java"))
                        .exists());
    }

    @ParameterizedTest
    @MethodSource
    void room_knowsNothingBeyond(String room, List<String> known) {
        DescribedPredicate<JavaClass> allowed =
                resideOutsideOfPackage(CORE + "..").or(resideInAPackage(CORE + "." + room));
        for (String other : known) {
            allowed = allowed.or(
                    switch (other) {
                        case TOLD -> ofBase(nameMatching(TOLD_TO_USERS));
                        default -> resideInAPackage(CORE + "." + other);
                    });
        }
        classes()
                .that()
                .resideInAPackage(CORE + "." + room)
                .should()
                .onlyDependOnClassesThat(allowed.as("the rooms " + known))
                .check(MAIN);
    }

    /** Also of arrays of such classes. */
    private static DescribedPredicate<JavaClass> ofBase(DescribedPredicate<? super JavaClass> predicate) {
        return DescribedPredicate.describe(
                "they or arrays of them", type -> predicate.test(type.getBaseComponentType()));
    }

    static Stream<Arguments> room_knowsNothingBeyond() {
        return ROOMS.entrySet().stream().map(room -> Arguments.of(room.getKey(), room.getValue()));
    }

    /** {@link #room_knowsNothingBeyond} says that no class below depends on the room. */
    @Test
    void residency_isUnknownBelow() {
        String[] below = {
            CORE + ".engine", CORE + ".waiting", CORE + ".lease", CORE + ".state", CORE + ".script", CORE + ".watchdog"
        };
        noClasses()
                .that()
                .resideInAnyPackage(below)
                .should()
                .haveSimpleNameContaining("Residen")
                .because("a client that keeps a lock is an owner as others are")
                .check(MAIN);
        assertThat(MAIN.stream()
                        .filter(type -> resideInAnyPackage(below).test(type))
                        .flatMap(type -> type.getMembers().stream())
                        .map(JavaMember::getName))
                .doesNotContain("isLocal", "inRedis", "isBeginning");
    }

    @Test
    void exportedPackage_holdsPublicTypesOnly() {
        classes()
                .that()
                .resideInAPackage(CORE)
                .and()
                .areTopLevelClasses()
                .and()
                .doNotHaveSimpleName("package-info")
                .should()
                .bePublic()
                .check(MAIN);
    }

    @Test
    void packages_all_haveNoCycles() {
        slices().assignedFrom(BY_PACKAGE).should().beFreeOfCycles().check(MAIN);
    }

    private static final SliceAssignment BY_PACKAGE = new SliceAssignment() {
        @Override
        public SliceIdentifier getIdentifierOf(JavaClass javaClass) {
            if (nameMatching(TOLD_TO_USERS).test(javaClass)) {
                return SliceIdentifier.of(TOLD);
            }
            return javaClass.getPackageName().startsWith(CORE)
                    ? SliceIdentifier.of(javaClass.getPackageName())
                    : SliceIdentifier.ignore();
        }

        @Override
        public String getDescription() {
            return "packages";
        }
    };

    @Test
    void files_areShort() throws IOException {
        Map<Path, Integer> tooLong = new LinkedHashMap<>();
        for (Path file : Artifacts.sources("src/main/java/io")) {
            int lines = Files.readAllLines(file).size();
            if (lines > MOST_LINES) {
                tooLong.put(file.getFileName(), lines);
            }
        }
        assertThat(tooLong)
                .as(
                        "more than %s lines: remove what nothing needs, or give a part of the file a file of its own",
                        MOST_LINES)
                .isEmpty();
    }

    @Test
    void methods_withFiveAndMoreParameters_areFew() {
        List<String> many = MAIN.stream()
                .flatMap(type -> type.getMethods().stream())
                .filter(method -> method.getRawParameterTypes().size() >= 5)
                .filter(method -> !method.getModifiers().contains(JavaModifier.SYNTHETIC))
                .map(method -> method.getOwner().getSimpleName() + '.' + method.getName())
                .sorted()
                .toList();
        assertThat(many)
                .as("methods with five and more parameters: pass one value instead of its parts")
                .hasSizeLessThanOrEqualTo(METHODS_WITH_MANY_PARAMETERS);
    }
}
