package io.github.redislocks.bench.work;

import io.github.redislocks.bench.Bench;
import io.github.redislocks.bench.contender.Contender;
import io.github.redislocks.bench.contender.Setting;
import io.github.redislocks.bench.contender.Use;
import io.github.redislocks.bench.crew.Crew;
import io.github.redislocks.bench.crew.Loop;
import io.github.redislocks.bench.crew.Seed;
import java.util.Collections;
import java.util.concurrent.TimeUnit;

/** A warm-up, before a work that uses locks too rarely for their code to be compiled. */
final class Warmth {

    private static final int THREADS = 8;

    private Warmth() {}

    /** Seeds the lock, and lets several threads of each JVM lock it for some time. */
    static void give(Bench bench, Crew crew, Contender contender, Setting setting, String key) {
        crew.children().get(0).call(new Seed(contender, setting, key));
        long nanos = TimeUnit.MILLISECONDS.toNanos(2 * bench.settings().roundMillis());
        crew.call(new Loop(
                contender,
                setting,
                Use.LOCK,
                Loop.How.LOCK,
                Loop.Clients.ONE,
                Collections.nCopies(Math.min(THREADS, setting.threads()), key),
                "",
                nanos));
    }
}
