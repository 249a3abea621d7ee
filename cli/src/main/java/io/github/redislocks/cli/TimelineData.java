package io.github.redislocks.cli;

import io.github.redislocks.cli.Recorded.Outage;
import io.github.redislocks.cli.Recorded.Renewal;
import io.github.redislocks.cli.Recorded.Source;
import io.github.redislocks.cli.Recorded.Span;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * The data of the page. Times are microseconds since {@code base}, which is in milliseconds since 1970. Lengths are
 * microseconds. To save space, the frequent elements are arrays instead of objects, with these columns:
 *
 * <ul>
 *   <li>bars: lane, row in the lane, lock, kind, begin, length, token, site, whether the previous holder lost the lock;
 *   <li>grants: the bar of the hold that ended, the bar that was waiting;
 *   <li>losses: lane, row, lock, at, token, owner, reason;
 *   <li>outages: JVM, begin, length, server, failure, whether it ended;
 *   <li>renewals: JVM, at, count.
 * </ul>
 */
final class TimelineData {

    private final Recorded recorded;
    private final Lanes lanes;
    private final Map<Object, Integer> jvms = new HashMap<>();
    private final Texts locks = new Texts();
    private final Texts kinds = new Texts();
    private final Texts sites = new Texts();
    private final long base;

    final List<List<Object>> bars = new ArrayList<>();
    final List<List<Object>> grants = new ArrayList<>();
    final List<List<Object>> losses = new ArrayList<>();
    final List<List<Object>> outages = new ArrayList<>();
    private final List<List<Object>> laneFields = new ArrayList<>();
    private long end;

    TimelineData(Recorded recorded) {
        this.recorded = recorded;
        this.lanes = new Lanes(recorded);
        lockNames(lanes.pieces).forEach(locks::of);
        this.base = Math.floorDiv(earliest(), 1_000L) * 1_000;
        lanes.jvms.keySet().forEach(jvm -> jvms.put(jvm, jvms.size()));
        lanes.jvms.keySet().forEach(jvm -> lanes.of(jvm).forEach(lane -> add(jvm, lane)));
        addGrants();
        addOutages();
    }

    int lockCount() {
        return locks.all().size();
    }

    int laneCount() {
        return laneFields.size();
    }

    /** Returns the names of the locks. The locks with the longest holds come first. */
    private static List<String> lockNames(List<Piece> pieces) {
        Map<String, Long> held = new HashMap<>();
        for (Piece piece : pieces) {
            held.merge(piece.lock, piece.held == null ? 0 : piece.held.length(), Long::sum);
        }
        return held.entrySet().stream()
                .sorted(Map.Entry.<String, Long>comparingByValue().reversed().thenComparing(Map.Entry.comparingByKey()))
                .map(Map.Entry::getKey)
                .toList();
    }

    private long earliest() {
        long earliest = Long.MAX_VALUE;
        for (Piece piece : lanes.pieces) {
            earliest = Math.min(earliest, piece.begin());
        }
        for (Outage outage : recorded.outages.all()) {
            earliest = Math.min(earliest, outage.at() - outage.lasted());
        }
        for (Renewal renewal : recorded.renewals.all()) {
            earliest = Math.min(earliest, renewal.at());
        }
        return earliest;
    }

    private long since(long at) {
        end = Math.max(end, at - base);
        return at - base;
    }

    private void add(Object jvm, Lane lane) {
        int number = laneFields.size();
        laneFields.add(List.of(jvms.get(jvm), lane.name, lane.layOut()));
        // Sort by rows, so that the page finds the pieces near a point by a binary search.
        lane.pieces.sort(Comparator.comparingInt((Piece piece) -> piece.row).thenComparingLong(Piece::begin));
        for (Piece piece : lane.pieces) {
            if (piece.waited != null) {
                piece.waitBar = bars.size();
                bars.add(bar(number, piece, piece.waited));
            }
            if (piece.held != null) {
                piece.holdBar = bars.size();
                bars.add(bar(number, piece, piece.held));
            } else if (piece.isLostHold()) {
                piece.holdBar = bars.size();
                bars.add(bar(number, piece, piece.lostHold()));
            }
            if (piece.lost != null) {
                losses.add(List.of(
                        number,
                        piece.row,
                        locks.of(piece.lock),
                        since(piece.lost.at()),
                        Long.toString(piece.token),
                        piece.lost.owner(),
                        piece.lost.reason()));
            }
        }
    }

    private List<Object> bar(int lane, Piece piece, Span span) {
        long begin = since(span.begin());
        since(span.end());
        return List.of(
                lane,
                piece.row,
                locks.of(piece.lock),
                kinds.of(span.kind()),
                begin,
                span.length(),
                // Write the token as a text: numbers of JavaScript are exact only up to 53 bits.
                Long.toString(piece.token),
                sites.of(span.site()),
                span.previousLost() ? 1 : 0);
    }

    private void addGrants() {
        Map<String, List<Piece>> ofLocks = lanes.pieces.stream()
                .filter(piece -> piece.token != 0)
                .collect(Collectors.groupingBy(piece -> piece.lock));
        for (List<Piece> ofLock : ofLocks.values()) {
            ofLock.sort(Comparator.comparingLong(piece -> piece.token));
            for (int i = 1; i < ofLock.size(); i++) {
                Piece before = ofLock.get(i - 1);
                Piece piece = ofLock.get(i);
                if (piece.isGrantAfter(before)) {
                    grants.add(List.of(before.holdBar, piece.holdBar == Piece.NONE ? piece.waitBar : piece.holdBar));
                }
            }
        }
    }

    /** Adds each outage once, although an outage that has ended has two events. */
    private void addOutages() {
        Map<Object, Outage> open = new LinkedHashMap<>();
        List<Outage> told = recorded.outages.all();
        told.sort(Comparator.comparingLong(Outage::at));
        for (Outage outage : told) {
            Object where = List.of(outage.source().jvm(), outage.server());
            if (outage.ended()) {
                open.remove(where);
                addOutage(outage, outage.at());
            } else {
                open.putIfAbsent(where, outage);
            }
        }
        long last = base + end;
        open.values().forEach(outage -> addOutage(outage, Math.max(last, outage.at())));
        outages.sort(Comparator.comparing((List<Object> outage) -> (Long) outage.get(1))
                .thenComparing(outage -> (Integer) outage.get(0)));
        losses.sort(Comparator.comparingLong(loss -> (Long) loss.get(3)));
    }

    private void addOutage(Outage outage, long until) {
        long begin = since(outage.at() - outage.lasted());
        outages.add(List.of(
                jvms.get(outage.source().jvm()),
                begin,
                since(until) - begin,
                outage.server(),
                outage.failure(),
                outage.ended() ? 1 : 0));
    }

    Map<String, Object> fields() {
        Map<String, Object> fields = new LinkedHashMap<>();
        fields.put("base", base / 1_000);
        List<List<Object>> renewals = new ArrayList<>();
        for (Renewal renewal : recorded.renewals.all()) {
            renewals.add(List.of(jvms.get(renewal.source().jvm()), since(renewal.at()), renewal.count()));
        }
        fields.put("length", end);
        fields.put("jvms", lanes.jvms.values().stream().map(TimelineData::jvm).toList());
        fields.put("lanes", laneFields);
        fields.put("locks", locks.all());
        fields.put("kinds", kinds.all());
        fields.put("sites", sites.all());
        fields.put("bars", bars);
        fields.put("grants", grants);
        fields.put("losses", losses);
        fields.put("outages", outages);
        fields.put("renewals", renewals);
        fields.put("leftOut", leftOut());
        return fields;
    }

    private static Map<String, Object> jvm(List<Source> sources) {
        Source first = sources.get(0);
        String files = sources.stream()
                .map(source -> String.valueOf(source.file.getFileName()))
                .collect(Collectors.joining(", "));
        String process = first.pid == 0 ? "" : "pid " + first.pid;
        return Map.of("program", first.program, "process", process, "files", files);
    }

    /** The sentences that say what the page leaves out. */
    List<String> leftOut() {
        List<String> sentences = new ArrayList<>();
        Span longest = recorded.spans.greatestLeftOut();
        if (longest != null) {
            sentences.add(String.format(
                    Locale.ROOT,
                    "%,d waits and holds are left out, the longest of which took %.3f ms: the page shows the longest %,d",
                    recorded.spans.leftOut(),
                    longest.length() / 1_000.0,
                    recorded.spans.all().size()));
        }
        add(sentences, recorded.losses, "losses are left out: the page shows the first %,d");
        add(sentences, recorded.outages, "events of outages are left out: the page shows the longest %,d");
        add(sentences, recorded.renewals, "events of renewals are left out: the page shows the %,d of most locks");
        return sentences;
    }

    private static void add(List<String> sentences, Kept<?> kept, String rest) {
        if (kept.leftOut() > 0) {
            sentences.add(String.format(
                    Locale.ROOT, "%,d " + rest, kept.leftOut(), kept.all().size()));
        }
    }

    /** Numbered texts, so that the page contains each text once. */
    private static final class Texts {

        private final Map<String, Integer> numbers = new LinkedHashMap<>();

        int of(String text) {
            return numbers.computeIfAbsent(text, first -> numbers.size());
        }

        List<String> all() {
            return List.copyOf(numbers.keySet());
        }
    }
}
