package io.github.redislocks.bench.crew;

import io.github.redislocks.bench.contender.Contender;
import io.github.redislocks.bench.contender.LockClient;
import io.github.redislocks.bench.contender.Setting;
import java.io.Serializable;
import java.util.ArrayList;

/** The worker's main thread takes many locks, and keeps no reference to them. */
public record Hold(Contender contender, Setting setting, String prefix, int locks) implements Task<Long> {

    /** Returns how long the acquisitions took. */
    @Override
    public Long run(Worker worker) {
        LockClient client = worker.client(contender, setting);
        long begin = System.nanoTime();
        for (int i = 0; i < locks; i++) {
            client.mutex(prefix + i).lock();
        }
        return System.nanoTime() - begin;
    }

    /**
     * The state of the locks, as the client sees it.
     *
     * @param losses the number of losses that the client reported
     * @param notHeld how many of the sampled locks are not held
     * @param keys the keys of the locks in Redis
     */
    public record State(long losses, long notHeld, ArrayList<String> keys) implements Serializable {}

    /** Asks the client for the state of the locks of a {@link Hold}, and of a sample of them. */
    public record Ask(Hold hold, int sample) implements Task<State> {

        @Override
        public State run(Worker worker) {
            LockClient client = worker.client(hold.contender, hold.setting);
            long notHeld = 0;
            for (int i = 0; i < hold.locks; i += Math.max(1, hold.locks / sample)) {
                notHeld += client.holds(hold.prefix + i) ? 0 : 1;
            }
            ArrayList<String> keys = new ArrayList<>();
            for (int i = 0; i < hold.locks; i++) {
                keys.add(client.redisKey(hold.prefix + i));
            }
            return new State(client.losses(), notHeld, keys);
        }
    }
}
