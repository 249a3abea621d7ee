package io.github.redislocks.docs;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.spring.Locked;
import java.io.IOException;
import java.lang.reflect.Method;
import java.lang.reflect.RecordComponent;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.springframework.boot.context.properties.bind.DefaultValue;

/** Compares docs/spring.md, the metadata for IDEs, and the code. */
class SpringPageTest {

    private static final Path PAGE = Path.of("docs", "spring.md");
    private static final Path METADATA =
            Path.of("spring-boot-starter/src/main/resources/META-INF/spring-configuration-metadata.json");
    private static final String PREFIX = "redis-locks.";

    /** The properties of the code, by their names, with their types. */
    private static Map<String, Class<?>> properties() throws ClassNotFoundException {
        Map<String, Class<?>> properties = new TreeMap<>();
        add(PREFIX, Class.forName("io.github.redislocks.spring.RedisLocksProperties"), properties);
        return properties;
    }

    private static void add(String prefix, Class<?> type, Map<String, Class<?>> properties) {
        for (RecordComponent component : type.getRecordComponents()) {
            String name =
                    prefix + component.getName().replaceAll("([A-Z])", "-$1").toLowerCase(java.util.Locale.ROOT);
            if (component.getType().isRecord()) {
                add(name + ".", component.getType(), properties);
            } else {
                properties.put(name, component.getType());
            }
        }
    }

    private static Map<String, String[]> rows() throws IOException {
        Map<String, String[]> rows = new TreeMap<>();
        for (String line : Files.readAllLines(PAGE)) {
            if (line.startsWith("| `" + PREFIX)) {
                String[] cells = line.split("\\|", -1);
                rows.put(
                        cells[1].replace("`", "").strip(),
                        new String[] {cells[2].replace("`", "").strip(), cells[3].strip()});
            }
        }
        return rows;
    }

    /** Each property of the metadata: its type, its default or an empty text, and its description. */
    static Map<String, String[]> metadata() throws IOException {
        Pattern property =
                Pattern.compile("\"name\": \"([^\"]+)\",\\s+\"type\": \"([^\"]+)\",\\s+\"description\": \"([^\"]+)\""
                        + "(?:,\\s+\"defaultValue\": \"?([^\"\\n]*)\"?)?");
        return property.matcher(Files.readString(METADATA))
                .results()
                .collect(Collectors.toMap((MatchResult found) -> found.group(1), found ->
                        new String[] {found.group(2), found.group(4) == null ? "" : found.group(4), found.group(3)}));
    }

    @Test
    void table_hasThePropertiesOfTheCode() throws Exception {
        assertThat(rows().keySet()).isEqualTo(properties().keySet());
    }

    @Test
    void metadata_isTheTable() throws Exception {
        Map<String, String[]> metadata = metadata();
        assertThat(new TreeSet<>(metadata.keySet())).containsAll(properties().keySet());
        rows().forEach((name, row) -> {
            assertThat(metadata.get(name)[1]).as("default of " + name).isEqualTo(row[0]);
            assertThat(metadata.get(name)[2]).as("description of " + name).isEqualTo(row[1]);
        });
        properties()
                .forEach((name, type) -> assertThat(boxed(type))
                        .as("type of " + name)
                        .isEqualTo(metadata.get(name)[0].replaceAll("<.*", "")));
    }

    private static String boxed(Class<?> type) {
        return type == boolean.class ? Boolean.class.getName() : type.getName();
    }

    @Test
    void defaultsOfTheCode_areThoseOfTheTable() throws Exception {
        Map<String, String[]> rows = rows();
        Class<?> properties = Class.forName("io.github.redislocks.spring.RedisLocksProperties");
        Arrays.stream(properties.getDeclaredConstructors()[0].getParameters())
                .filter(parameter -> parameter.isAnnotationPresent(DefaultValue.class))
                .filter(parameter -> !parameter.getType().isRecord())
                .forEach(parameter -> assertThat(rows.get(PREFIX
                                + parameter
                                        .getName()
                                        .replaceAll("([A-Z])", "-$1")
                                        .toLowerCase(java.util.Locale.ROOT))[0])
                        .as(parameter.getName())
                        .isEqualTo(parameter.getAnnotation(DefaultValue.class).value()[0]));
    }

    @Test
    void attributesOfLocked_areAllExplained() throws IOException {
        String page = Files.readString(PAGE);
        assertThat(Locked.class.getDeclaredMethods())
                .extracting(Method::getName)
                .filteredOn(name -> !name.equals("value"))
                .allSatisfy(name -> assertThat(page).contains("| `" + name + "` |"));
        assertThat(Locked.Busy.values()).allSatisfy(value -> assertThat(page).contains("`" + value + "`"));
        assertThat(Locked.InTransaction.values())
                .allSatisfy(value -> assertThat(page).contains("`" + value + "`"));
    }
}
