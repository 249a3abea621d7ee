package io.github.redislocks.bench.work;

import io.github.redislocks.bench.Bench;
import io.github.redislocks.bench.Figure;
import io.github.redislocks.bench.Results;
import io.github.redislocks.bench.contender.Contender;
import io.github.redislocks.bench.contender.Contender.Trait;
import io.github.redislocks.bench.contender.Setting;
import io.github.redislocks.bench.contender.Use;
import io.github.redislocks.bench.crew.Child;
import io.github.redislocks.bench.crew.Crew;
import io.github.redislocks.bench.crew.Seed;
import io.github.redislocks.bench.crew.Step;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;
import org.HdrHistogram.Histogram;

/**
 * Two JVMs pass a lock to each other. Measures the time from the call of unlock in one JVM to the return of lock in the
 * other. Also measures the time to take a lock that the other JVM used shortly before, which differs for clients that
 * keep locks.
 */
record Handoff() implements Work {

    private static final long PARKED_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    /** The time between an unlock and the lock of the other JVM: less than a residency. */
    private static final long UNUSED_NANOS = TimeUnit.MILLISECONDS.toNanos(5);

    @Override
    public String name() {
        return "w5";
    }

    @Override
    public void run(Bench bench) {
        int handoffs = bench.settings().quick() ? 5 : 20;
        try (Crew crew = bench.crew(2)) {
            List<Contender> contenders =
                    bench.settings().contenders(Contender.FLOOR_HANDOFF, Trait.WAITS, Trait.CROSSES_JVMS);
            contenders.forEach(contender -> Warmth.give(bench, crew, contender, setting(bench), key(contender)));
            Rounds<Pass> rounds = Rounds.of(
                    bench, name(), crew, contenders, (contender, round) -> round(bench, crew, contender, handoffs));
            Map<String, Map<String, Figure>> rows = new LinkedHashMap<>();
            double floorP99 =
                    all(rounds, Contender.FLOOR_HANDOFF, pass -> pass.nanos).getValueAtPercentile(99);
            for (Contender contender : rounds.contenders()) {
                Map<String, Figure> row = new LinkedHashMap<>();
                Histogram all = all(rounds, contender, pass -> pass.nanos);
                row.put("p50 over floor", rounds.overFloor(contender, pass -> pass.nanos.getValueAtPercentile(50)));
                row.put("p99 over floor", Figure.of(all.getValueAtPercentile(99) / floorP99));
                Percentiles.put(row, all);
                row.put("lock after another's use p50 µs", median(all(rounds, contender, pass -> pass.afterUseNanos)));
                row.put("Redis scripts µs", median(all(rounds, contender, pass -> pass.scriptNanos)));
                row.put("unlocking thread CPU µs", median(all(rounds, contender, pass -> pass.unlockCpuNanos)));
                // Add one: there is one lock and unlock more than hand-offs.
                Requests.count(
                        bench,
                        row,
                        () -> 1 + handOn(bench, crew, contender, handoffs).nanos.getTotalCount());
                rows.put(contender.label(), row);
            }
            bench.results()
                    .add(new Results.Section(name(), "hand-off between two JVMs, the waiter parked for 100 ms", rows));
        }
    }

    private static Figure median(Histogram nanos) {
        return Figure.of(nanos.getValueAtPercentile(50) / 1e3);
    }

    private static Setting setting(Bench bench) {
        return new Setting(bench.server().uri(), 1);
    }

    private String key(Contender contender) {
        return name() + ":" + contender.label();
    }

    /** The results of several hand-offs. */
    private static final class Pass {

        /** The times from the call of unlock to the return of lock. */
        final Histogram nanos = new Histogram(3);

        /** The processor times of the calls of unlock. */
        final Histogram unlockCpuNanos = new Histogram(3);

        /** The times that scripts ran meanwhile. */
        final Histogram scriptNanos = new Histogram(3);

        /** The times from the call of lock to its return, for a lock that the other JVM used last. */
        final Histogram afterUseNanos = new Histogram(3);
    }

    private static Histogram all(Rounds<Pass> rounds, Contender contender, Function<Pass, Histogram> kind) {
        Histogram all = new Histogram(3);
        rounds.of(contender).forEach(pass -> all.add(kind.apply(pass)));
        return all;
    }

    private Pass round(Bench bench, Crew crew, Contender contender, int handoffs) {
        Pass pass = handOn(bench, crew, contender, handoffs);
        useInTurn(bench, crew, contender, handoffs, pass);
        return pass;
    }

    private Pass handOn(Bench bench, Crew crew, Contender contender, int handoffs) {
        Setting setting = setting(bench);
        String key = key(contender);
        Step lock = new Step(contender, setting, Use.LOCK, key, Step.Call.LOCK);
        Step unlock = new Step(contender, setting, Use.LOCK, key, Step.Call.UNLOCK);
        Child holder = crew.children().get(0);
        Child waiter = crew.children().get(1);
        begin(holder, lock);
        holder.end(lock);
        Pass pass = new Pass();
        for (int i = 0; i < handoffs; i++) {
            begin(waiter, lock);
            // Wait long enough for each contender to be waiting and asleep.
            LockSupport.parkNanos(PARKED_NANOS);
            double scripts = bench.server().scripts().micros();
            Step.Answer left = holder.call(unlock);
            Step.Answer had = waiter.end(lock);
            if (had.returned() < left.called()) {
                bench.results().fail(name() + ", " + contender.label() + ": two JVMs had the lock");
            }
            pass.nanos.recordValue(Math.max(0, had.returned() - left.called()));
            pass.unlockCpuNanos.recordValue(left.cpuNanos());
            pass.scriptNanos.recordValue((long) (1e3 * (bench.server().scripts().micros() - scripts)));
            Child next = waiter;
            waiter = holder;
            holder = next;
        }
        holder.call(unlock);
        return pass;
    }

    private void useInTurn(Bench bench, Crew crew, Contender contender, int times, Pass pass) {
        // Use another lock: for the lock above, clients know that others wait.
        String key = key(contender) + ":in-turn";
        crew.children().get(0).call(new Seed(contender, setting(bench), key));
        Step lock = new Step(contender, setting(bench), Use.LOCK, key, Step.Call.LOCK);
        Step unlock = new Step(contender, setting(bench), Use.LOCK, key, Step.Call.UNLOCK);
        for (int i = 0; i < times; i++) {
            Child user = crew.children().get(i % 2);
            begin(user, lock);
            Step.Answer had = user.end(lock);
            user.call(unlock);
            // Leave out the first time: the lock may have been used last by the same JVM, or by nobody.
            if (i > 0) {
                pass.afterUseNanos.recordValue(had.returned() - had.called());
            }
            LockSupport.parkNanos(UNUSED_NANOS);
        }
    }

    private static void begin(Child child, Step lock) {
        child.begin(lock);
        if (!Step.CALLING.equals(child.hear())) {
            throw new IllegalStateException("A worker does not say that it calls");
        }
    }
}
