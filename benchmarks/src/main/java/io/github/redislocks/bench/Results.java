package io.github.redislocks.bench;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** All that was measured: printed and saved as it comes, so that a run that ends early leaves what it had. */
public final class Results {

    /** The figures of a work: of each contender, by the names of the columns. */
    public record Section(String work, String title, Map<String, Map<String, Figure>> rows) {}

    private final Path folder;
    private final Map<String, String> environment;
    private final List<Section> sections = new ArrayList<>();
    private final List<String> failures = new ArrayList<>();

    public Results(Path folder, Map<String, String> environment) {
        this.folder = folder;
        this.environment = environment;
        System.out.println(Tables.environment(environment));
    }

    /** Takes, prints and saves the figures of a work. */
    public void add(Section section) {
        sections.add(section);
        System.out.println(Tables.markdown(section));
        save();
    }

    /** Remembers what makes the run worthless, or a part of it. */
    public void fail(String what) {
        failures.add(what);
        System.out.println("FAILED: " + what);
        save();
    }

    public List<String> failures() {
        return List.copyOf(failures);
    }

    public List<Section> sections() {
        return List.copyOf(sections);
    }

    private void save() {
        Map<String, Object> all = new LinkedHashMap<>();
        all.put("environment", environment);
        all.put("failures", failures);
        all.put("sections", sections);
        StringBuilder markdown = new StringBuilder(Tables.environment(environment));
        failures.forEach(
                failure -> markdown.append("\n**FAILED**: ").append(failure).append('\n'));
        sections.forEach(section -> markdown.append('\n').append(Tables.markdown(section)));
        try {
            Files.createDirectories(folder);
            new ObjectMapper()
                    .enable(SerializationFeature.INDENT_OUTPUT)
                    .writeValue(folder.resolve("results.json").toFile(), all);
            Files.writeString(folder.resolve("results.md"), markdown);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
