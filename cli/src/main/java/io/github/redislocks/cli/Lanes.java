package io.github.redislocks.cli;

import io.github.redislocks.cli.Recorded.Loss;
import io.github.redislocks.cli.Recorded.Source;
import io.github.redislocks.cli.Recorded.Span;
import io.github.redislocks.cli.Recorded.Who;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The lanes of all JVMs, with the pieces of each lane. */
final class Lanes {

    private static final String HANDLES = "handles";
    /** The prefix of {@link io.github.redislocks.LockLost#owner()} if the owner is a thread. */
    private static final String THREAD = "thread ";

    private static final String NAMELESS = "threads without a name";

    /** The recordings of each JVM, in the order in which the user named them. */
    final Map<Object, List<Source>> jvms = new LinkedHashMap<>();

    final List<Piece> pieces = new ArrayList<>();

    private final Map<Object, Piece> byToken = new HashMap<>();
    private final Map<Object, Map<Object, Lane>> lanes = new HashMap<>();

    Lanes(Recorded recorded) {
        for (Source source : recorded.sources) {
            jvms.computeIfAbsent(source.jvm(), first -> new ArrayList<>()).add(source);
        }
        Set<Object> known = new HashSet<>();
        for (Span span : recorded.spans.all()) {
            if (known.add(
                    List.of(span.source().jvm(), span.who(), span.lock(), span.kind(), span.token(), span.end()))) {
                piece(span.source(), span.lock(), span.token()).add(span);
            }
        }
        for (Loss loss : recorded.losses.all()) {
            piece(loss.source(), loss.lock(), loss.token()).lost = loss;
        }
        // Assign pieces with a known thread first. A piece that is only a loss goes into the lane with the name of its
        // thread.
        pieces.stream().filter(piece -> !isLossOnly(piece)).forEach(this::assign);
        pieces.stream().filter(Lanes::isLossOnly).forEach(this::assign);
    }

    private static boolean isLossOnly(Piece piece) {
        return piece.waited == null && piece.held == null;
    }

    private Piece piece(Source source, String lock, long token) {
        if (token == 0) {
            return made(source, lock, token);
        }
        return byToken.computeIfAbsent(List.of(source.jvm(), lock, token), first -> made(source, lock, token));
    }

    private Piece made(Source source, String lock, long token) {
        Piece piece = new Piece(source, lock, token);
        pieces.add(piece);
        return piece;
    }

    private void assign(Piece piece) {
        Map<Object, Lane> there = lanes.computeIfAbsent(piece.source().jvm(), first -> new HashMap<>());
        lane(there, piece).pieces.add(piece);
    }

    private static Lane lane(Map<Object, Lane> there, Piece piece) {
        Who who = piece.who();
        if (who != null) {
            return who.name().isEmpty()
                    ? there.computeIfAbsent(NAMELESS, first -> new Lane(NAMELESS, true))
                    : there.computeIfAbsent(who, first -> new Lane(who.name(), false));
        }
        if (!isLossOnly(piece) || !piece.lost.owner().startsWith(THREAD)) {
            return there.computeIfAbsent(HANDLES, first -> new Lane(HANDLES, true));
        }
        String name = piece.lost.owner().substring(THREAD.length());
        return there.values().stream()
                .filter(lane -> lane.name.equals(name))
                .findFirst()
                .orElseGet(() -> there.computeIfAbsent(new Who(0, name), first -> new Lane(name, false)));
    }

    /** The lanes of a JVM, in the order in which they are drawn. */
    List<Lane> of(Object jvm) {
        return lanes.getOrDefault(jvm, Map.of()).values().stream()
                .sorted(Lane.order())
                .toList();
    }
}
