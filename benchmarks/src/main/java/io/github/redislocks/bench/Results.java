package io.github.redislocks.bench;

import com.fasterxml.jackson.databind.JsonNode;
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
import java.util.Optional;

/** All results of a run. Each result is printed and saved at once, so that a run that ends early leaves its results. */
public final class Results {

    /** The figures of a work, by contender and by the name of the column. */
    public record Section(String work, String title, Map<String, Map<String, Figure>> rows) {}

    private final Path folder;
    private final Map<String, String> environment;
    private final List<Section> sections = new ArrayList<>();
    private final List<Series> series = new ArrayList<>();
    private final List<String> failures = new ArrayList<>();

    public Results(Path folder, Map<String, String> environment) {
        this.folder = folder;
        this.environment = environment;
    }

    /** Adds, prints and saves the figures of a work. */
    public void add(Section section) {
        sections.add(section);
        System.out.println(Tables.markdown(section));
        save();
        draw(section);
    }

    /** Adds, prints, saves and draws a series. */
    public void add(Series one) {
        series.add(one);
        System.out.println(Tables.markdown(one));
        save();
        Plots.lines(folder, one);
    }

    /** Draws the pictures of a saved run from {@code results.json} in a folder. */
    static void draw(Path folder) {
        try {
            JsonNode all =
                    new ObjectMapper().readTree(folder.resolve("results.json").toFile());
            Results saved = new Results(folder, Map.of());
            ObjectMapper mapper = new ObjectMapper();
            for (JsonNode section : all.get("sections")) {
                saved.sections.add(mapper.treeToValue(section, Section.class));
            }
            saved.sections.forEach(saved::draw);
            for (JsonNode series : all.get("series")) {
                Plots.lines(folder, mapper.treeToValue(series, Series.class));
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void draw(Section section) {
        Plots.bars(folder, section);
        Plots.overview(folder, this::section);
    }

    /** Notes a problem because of which the run, or a part of it, is worthless. */
    public void fail(String what) {
        failures.add(what);
        System.out.println("FAILED: " + what);
        save();
    }

    public List<String> failures() {
        return List.copyOf(failures);
    }

    public Optional<Section> section(String work) {
        return sections.stream().filter(section -> section.work().equals(work)).findFirst();
    }

    private void save() {
        Map<String, Object> all = new LinkedHashMap<>();
        all.put("environment", environment);
        all.put("failures", failures);
        all.put("sections", sections);
        all.put("series", series);
        StringBuilder markdown = new StringBuilder(Tables.environment(environment));
        failures.forEach(
                failure -> markdown.append("\n**FAILED**: ").append(failure).append('\n'));
        sections.forEach(section -> markdown.append('\n').append(Tables.markdown(section)));
        series.forEach(one -> markdown.append('\n').append(Tables.markdown(one)));
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
