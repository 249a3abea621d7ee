package io.github.redislocks.spring;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.RuntimeHintsRegistrar;
import org.springframework.aot.hint.predicate.RuntimeHintsPredicates;
import org.springframework.core.io.support.SpringFactoriesLoader;
import redis.clients.jedis.JedisClientConfig;

/** A native image has the scripts. */
class RedisLocksHintsTest {

    @Test
    void hints_coverEachScriptAndTheProxy() throws IOException {
        List<RuntimeHintsRegistrar> ours =
                SpringFactoriesLoader.forResourceLocation("META-INF/spring/aot.factories")
                        .load(RuntimeHintsRegistrar.class)
                        .stream()
                        .filter(RedisLocksHints.class::isInstance)
                        .toList();
        assertThat(ours).hasSize(1);
        RuntimeHints hints = new RuntimeHints();
        ours.get(0).registerHints(hints, getClass().getClassLoader());
        Path resources = Path.of("src", "main", "resources");
        try (Stream<Path> files = Files.walk(resources)) {
            List<String> scripts = files.filter(file -> file.toString().endsWith(".lua"))
                    .map(file -> resources.relativize(file).toString())
                    .toList();
            assertThat(scripts)
                    .hasSizeGreaterThan(10)
                    .allSatisfy(script -> assertThat(
                                    RuntimeHintsPredicates.resource().forResource(script))
                            .accepts(hints));
        }
        assertThat(RuntimeHintsPredicates.proxies().forInterfaces(JedisClientConfig.class))
                .accepts(hints);
    }
}
