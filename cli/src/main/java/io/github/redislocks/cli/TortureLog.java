package io.github.redislocks.cli;

import io.github.redislocks.cli.Recorded.Loss;
import io.github.redislocks.cli.Recorded.Outage;
import io.github.redislocks.cli.Recorded.Source;
import io.github.redislocks.cli.Recorded.Span;
import io.github.redislocks.cli.Recorded.Who;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Reads the logs of this project's torture suite (docs/TORTURE.md): one log of each process, and one of the nemesis,
 * which makes the faults. The times in the logs are by a clock without a date, which all processes share. The date is
 * taken from the last change of the first file.
 */
final class TortureLog {

    private static final Pattern LINE = Pattern.compile("\\d+\t[^\t]+\t[A-Z]+\t[^\t]*\t-?\\d+\t.*");

    private final Recorded recorded;
    private final List<Source> sources = new ArrayList<>();
    private final List<Strike> strikes = new ArrayList<>();
    /** The difference between a time since 1970 and the time in the logs; null before the first file was read. */
    private Long offset;

    TortureLog(Recorded recorded) {
        this.recorded = recorded;
    }

    /**
     * A fault that the nemesis made.
     *
     * @param worker the worker that had the fault; empty if the fault concerned no single worker
     */
    private record Strike(String worker, String fault, long begin, long end) {}

    private record Line(long at, String actor, String kind, String lock, long number, String text) {

        static Line parse(String text) {
            String[] fields = text.split("\t", -1);
            return new Line(
                    Long.parseLong(fields[0]) / 1_000,
                    fields[1],
                    fields[2],
                    fields[3],
                    Long.parseLong(fields[4]),
                    fields[5]);
        }
    }

    /** The times of the steps of an actor's acquisition of a lock; -1 for a step that was not reached. */
    private static final class Call {

        long asked = -1;
        long entered = -1;
        long left = -1;
        long token;
        boolean alarmed;
    }

    static boolean isOne(Path file) throws IOException {
        byte[] begin = new byte[200];
        try (var in = Files.newInputStream(file)) {
            int length = Math.max(0, in.read(begin));
            String text = new String(begin, 0, length, StandardCharsets.ISO_8859_1);
            return LINE.matcher(text.lines().findFirst().orElse("")).matches();
        }
    }

    Source read(Path file) throws IOException {
        List<Line> lines;
        try (Stream<String> all = Files.lines(file)) {
            // Skip incomplete lines: a process that was killed may have left one.
            lines = all.filter(line -> LINE.matcher(line).matches())
                    .map(Line::parse)
                    .toList();
        }
        if (offset == null) {
            long last = lines.stream().mapToLong(Line::at).max().orElse(0);
            offset = Files.getLastModifiedTime(file).toMillis() * 1_000 - last;
        }
        Source source = new Source(file);
        sources.add(source);
        Map<List<String>, Call> calls = new HashMap<>();
        for (Line line : lines) {
            Call call = calls.computeIfAbsent(List.of(line.actor, line.lock), first -> new Call());
            add(source, line, call);
        }
        return source;
    }

    private void add(Source source, Line line, Call call) {
        source.events++;
        switch (line.kind) {
            case "ASK", "STRIKE" -> call.asked = line.at;
            case "ALARM" -> call.alarmed = true;
            case "IN" -> {
                call.token = line.number;
                span(source, line, call, Recorded.ACQUIRED, call.asked < 0 ? line.at : call.asked, line.at);
                call.asked = call.left = -1;
                call.entered = line.at;
                call.alarmed = false;
            }
            case "OUT" -> {
                call.left = line.at;
                if (line.text.equals("await")) {
                    held(source, line, call);
                    // The thread is in a Condition: it waits for a signal, and then for the lock.
                    call.asked = line.at;
                }
            }
            case "FREED" -> held(source, line, call);
            case "LOST" -> {
                if (call.token != 0) {
                    recorded.losses.add(new Loss(
                            source, line.at + offset, line.lock, call.token, "thread " + line.actor, line.text));
                }
                call.entered = call.asked = -1;
                call.token = 0;
            }
            case "NO", "CANCELLED", "FAIL" -> {
                if (call.asked >= 0) {
                    call.token = 0;
                    span(source, line, call, ended(line.kind), call.asked, line.at);
                    call.asked = -1;
                }
            }
            case "CEASE" -> {
                if (call.asked >= 0) {
                    strikes.add(new Strike(line.lock, line.text, call.asked + offset, line.at + offset));
                    call.asked = -1;
                }
            }
            default -> source.events--;
        }
    }

    private static String ended(String kind) {
        return switch (kind) {
            case "NO" -> "busy";
            case "CANCELLED" -> "cancelled";
            default -> "failed";
        };
    }

    private void held(Source source, Line line, Call call) {
        if (call.entered >= 0) {
            span(source, line, call, Recorded.HOLD, call.entered, call.left < 0 ? line.at : call.left);
        }
        call.entered = -1;
    }

    private void span(Source source, Line line, Call call, String kind, long from, long until) {
        boolean afterLoss = kind.equals(Recorded.ACQUIRED) && call.alarmed;
        recorded.spans.add(new Span(
                source,
                new Who(line.actor.hashCode(), line.actor),
                line.lock,
                kind,
                call.token,
                until + offset,
                Math.max(0, until - from),
                afterLoss,
                ""));
    }

    /** Adds the faults to the workers that they concerned. Call this when all files were read. */
    void addStrikes() {
        for (Strike strike : strikes) {
            for (Source source : sources) {
                String name = source.file.getFileName().toString();
                if (strike.worker.isEmpty() || name.startsWith(strike.worker) || name.startsWith("nemesis")) {
                    recorded.outages.add(new Outage(
                            source, strike.end, strike.end - strike.begin, "fault " + strike.fault, "", true));
                }
            }
        }
    }
}
