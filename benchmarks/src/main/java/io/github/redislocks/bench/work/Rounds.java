package io.github.redislocks.bench.work;

import io.github.redislocks.bench.Bench;
import io.github.redislocks.bench.Figure;
import io.github.redislocks.bench.contender.Contender;
import io.github.redislocks.bench.crew.Crew;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import java.util.function.ToDoubleFunction;

/**
 * The results of contenders in several rounds, in the same JVMs and on the same server. Each round begins with another
 * contender. A contender that fails takes no further part.
 *
 * @param <R> the result of one contender's round
 */
final class Rounds<R> {

    private final Map<Contender, List<R>> all = new LinkedHashMap<>();
    private final Contender floor;

    private Rounds(Contender floor) {
        this.floor = floor;
    }

    /**
     * Runs the rounds.
     *
     * @param contenders the contenders, of which the first is the floor
     * @param turn runs one round of a contender; the number of the round is negative if the round does not count
     */
    static <R> Rounds<R> of(
            Bench bench, String work, Crew crew, List<Contender> contenders, BiFunction<Contender, Integer, R> turn) {
        Rounds<R> rounds = new Rounds<>(contenders.get(0));
        contenders.forEach(contender -> rounds.all.put(contender, new ArrayList<>()));
        int warmUps = bench.settings().warmUps();
        for (int round = -warmUps; round < bench.settings().rounds(); round++) {
            List<Contender> order = new ArrayList<>(rounds.all.keySet());
            Collections.rotate(order, round);
            for (Contender contender : order) {
                crew.collectGarbage();
                try {
                    R result = turn.apply(contender, round);
                    if (round >= 0) {
                        rounds.all.get(contender).add(result);
                    }
                } catch (RuntimeException e) {
                    bench.results().fail(work + ", " + contender.label() + ": " + e.getMessage());
                    rounds.all.remove(contender);
                }
            }
        }
        if (!rounds.all.containsKey(rounds.floor)) {
            throw new IllegalStateException("There is no floor for " + work);
        }
        return rounds;
    }

    List<Contender> contenders() {
        return List.copyOf(all.keySet());
    }

    /** The name of the floor, or of the contender in its place. */
    String base() {
        return floor.label().startsWith("floor") ? "floor" : floor.label();
    }

    List<R> of(Contender contender) {
        return all.get(contender);
    }

    Figure figure(Contender contender, ToDoubleFunction<R> value) {
        return Figure.of(of(contender).stream().map(value::applyAsDouble).toList());
    }

    /** A value of a contender divided by that of the floor in the same round. */
    Figure overFloor(Contender contender, ToDoubleFunction<R> value) {
        List<Double> ratios = new ArrayList<>();
        for (int i = 0; i < of(contender).size(); i++) {
            ratios.add(value.applyAsDouble(of(contender).get(i))
                    / value.applyAsDouble(of(floor).get(i)));
        }
        return Figure.of(ratios);
    }
}
