package io.github.redislocks.cli;

import io.github.redislocks.cli.demo.StockDemo;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Shows what a lock prevents, by an example on the user's own Redis. */
@Command(
        name = "demo",
        mixinStandardHelpOptions = true,
        description = {
            "Lets four processes sell a stock, first without a lock and then under it, kills one of them while it holds the"
                    + " lock, and prints both sales side by side. Takes about 12 seconds.",
            "Its keys begin with redis-locks-demo: and are deleted at its end, or expire within a day if it is ended by a"
                    + " signal. The exit code is 1 if the sale under the lock broke a"
                    + " rule."
        })
final class DemoCommand implements Callable<Integer> {

    @Spec
    private CommandSpec spec;

    @Mixin
    private Server server;

    @Option(names = "--no-lock", description = "Leave the lock out of the second sale too, to see the check fail.")
    private boolean withoutLock;

    @Option(
            names = "--timeline",
            paramLabel = "OUT.html",
            description = "Record the sale under the lock, and draw it as the command timeline does.")
    private Path timeline;

    @Override
    public Integer call() throws InterruptedException, IOException {
        String url = server.url("demo");
        if (timeline == null) {
            return run(url, Optional.empty());
        }
        Path folder = Files.createTempDirectory("redis-locks-demo");
        try {
            int code = run(url, Optional.of(folder));
            return code == ExitCodes.OK ? draw(recordings(folder)) : code;
        } finally {
            for (Path file : recordings(folder)) {
                Files.delete(file);
            }
            Files.delete(folder);
        }
    }

    private int run(String url, Optional<Path> recordings) throws InterruptedException {
        return new StockDemo(url, !withoutLock, recordings).run() ? ExitCodes.OK : ExitCodes.PROBLEM;
    }

    private static List<Path> recordings(Path folder) throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.sorted().toList();
        }
    }

    private int draw(List<Path> recordings) throws IOException {
        List<String> line = new ArrayList<>(List.of("timeline", "-o", timeline.toString()));
        for (Path file : recordings) {
            // Skip the recording of the killed process, which is empty.
            if (Files.size(file) > 0) {
                line.add(file.toString());
            }
        }
        return spec.commandLine().getParent().execute(line.toArray(String[]::new));
    }
}
