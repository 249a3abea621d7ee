package io.github.redislocks.cli;

import com.fasterxml.jackson.jr.ob.JSON;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** The data of a page of {@code timeline}, read back from the page. */
final class TimelinePages {

    private static final String BEGIN = "<script type=\"application/json\" id=\"data\">";

    private final Map<String, Object> fields;

    private TimelinePages(Map<String, Object> fields) {
        this.fields = fields;
    }

    /** A wait or a hold, a lost hold. */
    record Bar(
            String jvm,
            String lane,
            long row,
            String lock,
            String kind,
            long begin,
            long length,
            String token,
            String site,
            boolean afterLoss) {

        long end() {
            return begin + length;
        }
    }

    record Grant(Bar from, Bar to) {}

    record Loss(String lane, String lock, String token, String owner, String reason) {}

    static TimelinePages read(Path page) throws IOException {
        String text = Files.readString(page);
        int begin = text.indexOf(BEGIN) + BEGIN.length();
        return new TimelinePages(JSON.std.mapFrom(text.substring(begin, text.indexOf("</script>", begin))));
    }

    static TimelinePages of(Recorded recorded) {
        try {
            return new TimelinePages(JSON.std.mapFrom(TimelinePage.json(new TimelineData(recorded).fields())));
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    List<Bar> bars() {
        List<Bar> bars = new ArrayList<>();
        for (Object each : list("bars")) {
            List<?> columns = (List<?>) each;
            List<?> lane = (List<?>) list("lanes").get(number(columns, 0));
            bars.add(new Bar(
                    jvms().get(number(lane, 0)),
                    (String) lane.get(1),
                    number(columns, 1),
                    (String) list("locks").get(number(columns, 2)),
                    (String) list("kinds").get(number(columns, 3)),
                    ((Number) columns.get(4)).longValue(),
                    ((Number) columns.get(5)).longValue(),
                    (String) columns.get(6),
                    (String) list("sites").get(number(columns, 7)),
                    number(columns, 8) == 1));
        }
        return bars;
    }

    List<Bar> bars(String lock, String kind) {
        return bars().stream()
                .filter(bar -> bar.lock().equals(lock) && bar.kind().equals(kind))
                .toList();
    }

    /** The files of each. */
    List<String> jvms() {
        return list("jvms").stream()
                .map(jvm -> (String) ((Map<?, ?>) jvm).get("files"))
                .toList();
    }

    List<String> lanes() {
        return list("lanes").stream()
                .map(lane -> (String) ((List<?>) lane).get(1))
                .toList();
    }

    List<Grant> grants() {
        List<Bar> bars = bars();
        return list("grants").stream()
                .map(grant -> new Grant(bars.get(number((List<?>) grant, 0)), bars.get(number((List<?>) grant, 1))))
                .toList();
    }

    List<Loss> losses() {
        return list("losses").stream()
                .map(each -> {
                    List<?> columns = (List<?>) each;
                    return new Loss(
                            lanes().get(number(columns, 0)),
                            (String) list("locks").get(number(columns, 2)),
                            (String) columns.get(4),
                            (String) columns.get(5),
                            (String) columns.get(6));
                })
                .toList();
    }

    List<?> list(String name) {
        return (List<?>) fields.get(name);
    }

    private static int number(List<?> columns, int at) {
        return ((Number) columns.get(at)).intValue();
    }
}
