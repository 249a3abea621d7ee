package io.github.redislocks.docs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Set;
import java.util.function.Function;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The decision record about settings lists each setting, with the user who needs it, and no other. */
class SettingsHaveUsersTest {

    private static final Path RECORD = Path.of("docs/adr/0055-every-setting-has-a-user.md");
    private static final Path METADATA =
            Path.of("spring-boot-starter/src/main/resources/META-INF/spring-configuration-metadata.json");

    private static Set<String> matches(String pattern, String text, Function<MatchResult, String> name) {
        return Pattern.compile(pattern).matcher(text).results().map(name).collect(Collectors.toSet());
    }

    private static String section(String title) throws IOException {
        String[] parts = Files.readString(RECORD).split("(?m)^### ");
        return Arrays.stream(parts)
                .filter(part -> part.startsWith(title + "\n"))
                .findFirst()
                .orElseThrow(() -> new AssertionError("no section " + title));
    }

    @ParameterizedTest
    @CsvSource({
        "Builder, io.github.redislocks.RedisLocksBuilder",
        "Options of a lock, io.github.redislocks.LockOptions",
        "Options of a leadership, io.github.redislocks.LeaderOptions"
    })
    void methods_thatSetSomething_areListed(String title, Class<?> type) throws IOException {
        Set<String> setters = Arrays.stream(type.getDeclaredMethods())
                .filter(method -> Modifier.isPublic(method.getModifiers()) && !Modifier.isStatic(method.getModifiers()))
                .filter(method -> method.getReturnType() == type)
                .map(method -> method.getName())
                .collect(Collectors.toSet());
        String firstCells = String.join("\n", matches("(?m)^\\| (`[^|]*) \\|", section(title), row -> row.group(1)));
        assertThat(matches("`(\\w+)`", firstCells, name -> name.group(1))).isEqualTo(setters);
    }

    @Test
    void springProperties_areListed() throws IOException {
        String withoutGroups = Files.readString(METADATA).replaceFirst("(?s)^.*\"properties\":", "");
        Set<String> properties =
                matches("\"name\": *\"redis-locks\\.([a-z.-]+)\"", withoutGroups, name -> name.group(1));
        assertThat(matches("`([a-z.-]+)`", section("Spring properties"), name -> name.group(1)))
                .isEqualTo(properties);
    }
}
