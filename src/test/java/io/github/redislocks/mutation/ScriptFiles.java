package io.github.redislocks.mutation;

import io.github.redislocks.redis.Script;
import io.github.redislocks.script.Scripts;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The files of the library's scripts, and the scripts that are composed of them by include. */
final class ScriptFiles {

    private static final Path FOLDER =
            Path.of("src", "main", "resources", "io", "github", "redislocks", "script", "lua");
    private static final String INCLUDE = "--@include ";

    /** The script check looks at what only real servers have: see ServerRequirementsTest and AclTest. */
    private static final Set<String> ELSEWHERE = Set.of("check");

    private final Map<String, String> texts;

    private ScriptFiles(Map<String, String> texts) {
        this.texts = texts;
    }

    static ScriptFiles read() {
        try (Stream<Path> files = Files.list(FOLDER)) {
            return new ScriptFiles(files.collect(Collectors.toMap(
                    file -> file.getFileName().toString().replace(".lua", ""),
                    ScriptFiles::text,
                    (one, two) -> one,
                    TreeMap::new)));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static String text(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** All changes of one place each. */
    List<Mutant> mutants() {
        return texts.entrySet().stream()
                .filter(file -> !ELSEWHERE.contains(file.getKey()))
                .flatMap(file -> Mutations.of(file.getKey(), file.getValue()).stream())
                .toList();
    }

    ScriptFiles with(Mutant mutant) {
        Map<String, String> changed = new TreeMap<>(texts);
        changed.put(mutant.file(), mutant.whole());
        return new ScriptFiles(changed);
    }

    /** The script as it is here; one that is none of the library's stays as it is. */
    Script compose(Script script) {
        if (!isOurs(script)) {
            return script;
        }
        return new Script(script.name(), compose(script.name()), script.sha1());
    }

    private String compose(String file) {
        return texts.get(file)
                .lines()
                .map(line -> line.startsWith(INCLUDE) ? compose(included(line)) : line + '\n')
                .collect(Collectors.joining());
    }

    boolean isFile(String name) {
        return texts.containsKey(name);
    }

    private boolean isOurs(Script script) {
        return isFile(script.name())
                && script.source()
                        .equals(Script.load(Scripts.class, script.name()).source());
    }

    /** The files of which a script is made. */
    Set<String> parts(String script) {
        Set<String> parts = new LinkedHashSet<>(Set.of(script));
        texts.get(script)
                .lines()
                .filter(line -> line.startsWith(INCLUDE))
                .forEach(line -> parts.addAll(parts(included(line))));
        return parts;
    }

    private static String included(String line) {
        return line.substring(INCLUDE.length()).strip();
    }
}
