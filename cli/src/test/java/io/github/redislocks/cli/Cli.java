package io.github.redislocks.cli;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine;

/** The command line inside this JVM: what it prints and ends with. */
record Cli(int exitCode, String out, String err) {

    static Cli run(String url, String... args) {
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        CommandLine command = RedisLocksCommand.commandLine();
        command.setOut(new PrintWriter(out)).setErr(new PrintWriter(err));
        List<String> all = new ArrayList<>(List.of(args));
        if (url != null) {
            all.add(1, "--url=" + url);
        }
        int exitCode = command.execute(all.toArray(String[]::new));
        return new Cli(exitCode, out.toString(), err.toString());
    }
}
