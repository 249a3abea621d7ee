package io.github.redislocks.failover;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Repeated harm in each topology. {@code mvn -B verify -Pfailover -Dtest=HarmTest} strikes five times each, or
 * {@code -Dstrikes=} times, and leaves the table in target/harm.md.
 */
@Tag("failover")
class HarmTest {

    private static final int STRIKES = Integer.getInteger("strikes", 5);

    private static final List<String> TABLE = new ArrayList<>(Fight.HEAD);

    @AfterAll
    static void save() throws IOException {
        TABLE.forEach(System.out::println);
        Files.write(Path.of("target", "harm.md"), TABLE);
    }

    @ParameterizedTest
    @ValueSource(strings = {"server", "sentinels", "cluster", "quorum"})
    void harm_againAndAgain_isReported(String topology) throws Exception {
        try (Scene scene = Scenes.start(topology)) {
            for (Scene.Harm harm : scene.harms()) {
                TABLE.add(new Fight().run(scene, harm, STRIKES));
            }
        }
    }
}
