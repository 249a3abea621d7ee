package io.github.redislocks.bench;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Draws the pictures of a saved run. */
@Command(name = "draw", mixinStandardHelpOptions = true, description = "Draws the pictures of a saved run anew.")
final class Draw implements Callable<Integer> {

    @Spec
    private CommandSpec spec;

    @Parameters(
            paramLabel = "FOLDER",
            defaultValue = "${sys:results:-target/results}",
            description = "Where its results.json is (${DEFAULT-VALUE}).")
    private Path folder;

    @Override
    public Integer call() {
        if (!Files.isRegularFile(folder.resolve("results.json"))) {
            throw new ParameterException(spec.commandLine(), folder + " has no results.json: name the folder of a run");
        }
        Results.draw(folder);
        System.out.println("Drawn in " + folder.toAbsolutePath().normalize());
        return 0;
    }
}
