package io.github.redislocks.bench;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.Stream;

/** The machine and the software of the measurement. */
final class Environment {

    private static final String[] LIBRARIES = {
        "redis-locks-", "jedis-", "caffeine-", "redisson-", "spring-integration-redis-", "lettuce-core-"
    };

    private Environment() {}

    static Map<String, String> of(Server server, Settings settings) {
        Map<String, String> all = new LinkedHashMap<>();
        all.put(
                "run",
                Instant.now().truncatedTo(ChronoUnit.MINUTES) + (settings.quick() ? ", quick, " : ", ")
                        + settings.rounds() + " rounds of " + settings.roundMillis() + " ms");
        all.put("JDK", System.getProperty("java.vm.name") + " " + System.getProperty("java.vm.version"));
        all.put(
                "system",
                System.getProperty("os.name") + " "
                        + System.getProperty("os.version").replaceFirst("-.*", "") + " "
                        + System.getProperty("os.arch"));
        all.put("processors", Runtime.getRuntime().availableProcessors() + processor());
        all.put("Redis", server.version() + ", " + server.origin());
        for (String library : LIBRARIES) {
            all.put(library.substring(0, library.length() - 1), version(library));
        }
        return all;
    }

    private static String processor() {
        Path cpus = Path.of("/proc/cpuinfo");
        if (!Files.isReadable(cpus)) {
            return "";
        }
        try (Stream<String> lines = Files.lines(cpus)) {
            return lines.filter(line -> line.startsWith("model name"))
                    .findFirst()
                    .map(line -> " of " + line.substring(line.indexOf(':') + 1).strip())
                    .orElse("");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The version of a library, from the name of its jar on the class path. */
    private static String version(String library) {
        return Stream.of(System.getProperty("java.class.path").split(File.pathSeparator))
                .map(path -> new File(path).getName())
                .filter(name -> name.startsWith(library) && Character.isDigit(name.charAt(library.length())))
                .filter(name -> !name.endsWith("-tests.jar"))
                .map(name -> name.substring(library.length(), name.length() - ".jar".length()))
                .findFirst()
                .orElse("unknown");
    }
}
