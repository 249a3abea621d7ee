package io.github.redislocks.cli;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Draws the events of locks in recordings. */
@Command(
        name = "timeline",
        mixinStandardHelpOptions = true,
        description = {
            "Draws the waits, holds, hand-offs, losses and outages in recordings of Java Flight Recorder, of one JVM or"
                    + " of several, as one HTML page that needs no other file.",
            "To record: java -XX:StartFlightRecording=filename=locks.jfr …, or jcmd PID JFR.start name=locks and then"
                    + " jcmd PID JFR.dump name=locks filename=locks.jfr."
        },
        footer = {"", "Example:", "  redis-locks timeline orders.jfr stock.jfr -o locks.html"})
final class TimelineCommand implements Callable<Integer> {

    @Spec
    private CommandSpec spec;

    @Parameters(arity = "1..*", paramLabel = "FILE", description = "Recordings; several are drawn in one picture.")
    private List<Path> files;

    @Option(
            names = {"-o", "--output"},
            paramLabel = "OUT.html",
            defaultValue = "redis-locks-timeline.html",
            description = "The file of the page, which is replaced if it exists. Default: ${DEFAULT-VALUE}.")
    private Path output;

    @Option(
            names = "--bars",
            paramLabel = "NUMBER",
            defaultValue = "100000",
            description = "The greatest number of waits and holds in the page, which shows the longest. Default:"
                    + " ${DEFAULT-VALUE}. The page says how many it leaves out.")
    private int bars;

    @Override
    public Integer call() {
        if (bars < 1) {
            throw new IllegalArgumentException("--bars is " + bars + ": name 1 or more");
        }
        Recorded recorded = new Recorded(bars);
        RecordingReader reader = new RecordingReader(recorded);
        for (Path file : files) {
            if (isSame(file, output)) {
                throw new IllegalArgumentException(
                        "The page " + output + " would replace a recording: name another file after -o");
            }
            reader.read(file);
        }
        reader.end();
        warnOfEmpty(recorded);
        TimelineData data = new TimelineData(recorded);
        try (Writer out = Files.newBufferedWriter(output)) {
            TimelinePage.write(data.fields(), out);
        } catch (IOException e) {
            throw new IllegalArgumentException(
                    output + " cannot be written (" + e.getClass().getSimpleName()
                            + "): name a file in a folder that is there, after -o",
                    e);
        }
        PrintWriter out = spec.commandLine().getOut();
        out.println(output + ": " + summary(data));
        data.leftOut().forEach(out::println);
        out.flush();
        return ExitCodes.OK;
    }

    private static boolean isSame(Path one, Path other) {
        return one.toAbsolutePath().normalize().equals(other.toAbsolutePath().normalize());
    }

    private void warnOfEmpty(Recorded recorded) {
        List<Recorded.Source> empty =
                recorded.sources.stream().filter(source -> source.events == 0).toList();
        String rule = " has no events of redis-locks";
        if (empty.size() == recorded.sources.size()) {
            throw new IllegalArgumentException(empty.get(0).file + rule
                    + (empty.size() > 1 ? ", and neither have the others" : "")
                    + ": record a JVM that uses locks, with java -XX:StartFlightRecording=filename=locks.jfr, or jcmd PID"
                    + " JFR.start. Waits and holds of less than 10 ms are recorded only if the setting atLeast of their"
                    + " events says so (docs/observability.md)");
        }
        empty.forEach(source -> spec.commandLine().getErr().println("redis-locks: " + source.file + rule));
    }

    private static String summary(TimelineData data) {
        return String.join(
                ", ",
                count(data.bars.size(), "wait or hold", "waits and holds") + " of "
                        + count(data.lockCount(), "lock", "locks") + " in " + count(data.laneCount(), "lane", "lanes"),
                count(data.grants.size(), "hand-off", "hand-offs"),
                count(data.losses.size(), "loss", "losses"),
                count(data.outages.size(), "outage", "outages"));
    }

    private static String count(int number, String one, String many) {
        return String.format(Locale.ROOT, "%,d %s", number, number == 1 ? one : many);
    }
}
