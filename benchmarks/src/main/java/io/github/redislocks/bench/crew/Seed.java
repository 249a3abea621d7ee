package io.github.redislocks.bench.crew;

import io.github.redislocks.bench.contender.Contender;
import io.github.redislocks.bench.contender.Setting;

/** Makes what the locks of a contender need in Redis before their first use. */
public record Seed(Contender contender, Setting setting, String key) implements Task<Integer> {

    @Override
    public Integer run(Worker worker) {
        worker.client(contender, setting).seed(key);
        return 0;
    }
}
